package wire

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/model"
)

// Room is how many bytes a conversation with files takes in a request's body, a little more than it will be; 0 where
// it has none. A body whose buffer has that room from the beginning holds each file once and is never moved.
func Room(items []model.Item) int {
	files, rest := 0, 0
	for i := range items {
		item := &items[i]
		rest += len(item.Text) + len(item.Arguments) + len(item.Output) + frameBytes
		if item.Private != nil {
			rest += len(item.Private.Data)
		}
		for j := range item.Parts {
			switch part := &item.Parts[j]; {
			case part.IsImage() || part.IsPDF():
				files += base64.StdEncoding.EncodedLen(len(part.Data))
			case part.MediaType != "":
				files += escapedLen(part.Data)
			default:
				rest += len(part.Text)
			}
			rest += frameBytes
		}
	}
	if files == 0 {
		return 0
	}
	return files + rest + rest/4 // what is escaped in texts
}

// frameBytes is what stands around an item or a part, its names included.
const frameBytes = 512

// escapedLen is the size of a text in UTF-8 inside a JSON string.
func escapedLen(s []byte) int {
	n := len(s)
	for _, c := range s {
		switch {
		case c >= ' ' && c != '"' && c != '\\':
		case c >= ' ' || c == '\n' || c == '\r' || c == '\t':
			n++
		default:
			n += 5
		}
	}
	return n
}

// AppendBase64 appends a file's bytes as a JSON string in base64.
func AppendBase64(b []byte, part *model.Part) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), part.Data), '"')
}

// AppendDataURL appends a file as a JSON string that is a data URL.
func AppendDataURL(b []byte, part *model.Part) []byte {
	b = append(b, `"data:`...)
	b = AppendEscaped(b, part.MediaType)
	b = append(b, `;base64,`...)
	return append(base64.StdEncoding.AppendEncode(b, part.Data), '"')
}

// AppendPDFName appends the file name of a PDF as a JSON string. Servers that go by the name know it by its extension, which a
// label need not have.
func AppendPDFName(b []byte, part *model.Part) []byte {
	name := part.Name
	if !strings.HasSuffix(strings.ToLower(name), ".pdf") {
		name += ".pdf"
	}
	return AppendString(b, name)
}

// AppendText appends a part as a JSON string that reads as [model.Part.NamedText], which it does not make.
func AppendText(b []byte, part *model.Part) []byte {
	if part.MediaType == "" {
		return AppendString(b, part.Text)
	}
	before, after := part.Frame()
	b = append(b, '"')
	b = AppendEscaped(b, before)
	b = AppendEscaped(b, part.Data)
	b = AppendEscaped(b, after)
	return append(b, '"')
}

// AppendString appends s as a JSON string.
func AppendString[T ~string | ~[]byte](b []byte, s T) []byte {
	b = append(b, '"')
	b = AppendEscaped(b, s)
	return append(b, '"')
}

const hex = "0123456789abcdef"

// AppendEscaped appends s as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendEscaped[T ~string | ~[]byte](b []byte, s T) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			if n := runeLen(s, i); n > 0 {
				i += n
				continue
			}
			b = append(append(b, s[from:i]...), "\ufffd"...)
			i++
			from = i
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(b, s[from:]...)
}

// runeLen is the length of the rune at i, 0 when there is none.
func runeLen[T ~string | ~[]byte](s T, i int) int {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], s[i:min(i+utf8.UTFMax, len(s))])
	if r, size := utf8.DecodeRune(buf[:n]); r != utf8.RuneError || size > 1 {
		return size
	}
	return 0
}
