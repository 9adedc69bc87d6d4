package content

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

// The rules that others check with what they know of stored files.
const (
	RuleFile         = "file_bytes"
	RuleMessageFiles = "message_files_bytes"
)

// maxIDBytes bounds the ID of a stored file in a message. Ours are shorter; it keeps a wrong one out of messages.
const maxIDBytes = 256

// Block is a block of a message that was found to be right: a text, or a file that is here or stored.
type Block struct {
	Text string
	// Name of a file; Image says that it stands in an image block.
	Name  string
	Image bool
	// MediaType is, of a file that is here, what it was found to be; of a stored one what it is said to be, in lower case and
	// without parameters, "" where nothing is said.
	MediaType string
	// ID of a stored file, with Size and SHA256 if they were given. Otherwise Data are its bytes, decoded.
	ID     string
	Size   int64
	SHA256 string
	Data   []byte
	Found  Found // what Data is
}

// IsFile reports whether the block is a file.
func (b Block) IsFile() bool { return b.Name != "" }

// Blocks checks the blocks of a message (AT1, AT3), each file that is here with [Inspect] too. How large a file is, is
// judged before it is decoded. Whether a stored file is there, and fits its block, is for who stores them to say.
//
// Errors: invalid_request, attachment_too_large, unsupported_media. They have the details block (by its number from 1, its
// texts being counted), file where it has a name, rule, and value and limit where one was measured.
func Blocks(given []api.ContentBlock) ([]Block, error) {
	if err := CheckCount(len(given)); err != nil {
		return nil, err
	}
	out, texts, files := make([]Block, 0, len(given)), 0, int64(0)
	for i, g := range given {
		b, err := block(g)
		if err != nil {
			return nil, inBlock(i, g, err)
		}
		if texts += len(b.Text); texts > api.MaxBlockTextBytes {
			return nil, inBlock(i, g, over(api.CodeInvalidRequest, "text_blocks_bytes", texts, api.MaxBlockTextBytes,
				"the text blocks up to here have %d bytes together; a message with content has at most %d. Send a longer text as a text file",
				texts, api.MaxBlockTextBytes))
		}
		if b.IsFile() && b.ID == "" {
			n, err := measured(g.Source)
			if err != nil {
				return nil, inBlock(i, g, err)
			}
			if files += n; files > api.MaxMessageFileBytes {
				return nil, inBlock(i, g, over(api.CodeAttachmentTooLarge, RuleMessageFiles, files, api.MaxMessageFileBytes,
					"the files up to here have %d bytes together; those of a message have at most %d. Send some in a message before",
					files, api.MaxMessageFileBytes))
			}
			if err := here(&b, g.Source); err != nil {
				return nil, inBlock(i, g, err)
			}
		}
		out = append(out, b)
	}
	return out, nil
}

// block checks the form of a block. The bytes of a file are not looked at yet.
func block(g api.ContentBlock) (Block, error) {
	switch g.Type {
	case api.BlockText:
		return textBlock(g)
	case api.BlockImage, api.BlockDocument:
	default:
		return Block{}, refused(api.CodeInvalidRequest, "block_type", nil,
			"there is no block of type %s; there are text, image and document. A file comes as its bytes or as an attachment, never as an address or a provider's file ID",
			quoted(string(g.Type)))
	}
	if g.Text != "" {
		return Block{}, refused(api.CodeInvalidRequest, "field", nil, "a block of type %s has no text; put it into a text block before or behind", g.Type)
	}
	if err := CheckName(g.Name); err != nil {
		return Block{}, err
	}
	s := g.Source
	if s == nil {
		return Block{}, refused(api.CodeInvalidRequest, "source", nil, "it has no source; give one of type base64, text (of a document) or attachment")
	}
	b := Block{Name: g.Name, Image: g.Type == api.BlockImage}
	switch s.Type {
	case api.SourceAttachment:
		return stored(b, s)
	case api.SourceText:
		if b.Image {
			return Block{}, refused(api.CodeInvalidRequest, "source_type", nil, "an image has no text source; give base64 or attachment")
		}
	case api.SourceBase64:
	default:
		return Block{}, refused(api.CodeInvalidRequest, "source_type", nil,
			"there is no source of type %s; there are base64, text (of a document) and attachment. Addresses and providers' file IDs are not taken: send the bytes",
			quoted(string(s.Type)))
	}
	if s.ID != "" || s.Size != 0 || s.SHA256 != "" {
		return Block{}, refused(api.CodeInvalidRequest, "field", nil, "a source of type %s has no id, size or sha256; only one of type attachment has", s.Type)
	}
	return b, nil
}

func textBlock(g api.ContentBlock) (Block, error) {
	switch {
	case g.Name != "" || g.Source != nil:
		return Block{}, refused(api.CodeInvalidRequest, "field", nil, "a text block has no name and no source; a text file is a document")
	case strings.TrimSpace(g.Text) == "":
		return Block{}, refused(api.CodeInvalidRequest, "blank", nil, "the text is white space only; leave it out")
	}
	if flaw := flawOf(g.Text); flaw != "" {
		return Block{}, refused(api.CodeInvalidRequest, "text", nil, "the text %s", flaw)
	}
	return Block{Text: g.Text}, nil
}

// stored is the block of a file that the session has.
func stored(b Block, s *api.Source) (Block, error) {
	switch n := len(s.ID); {
	case s.Data != "":
		return Block{}, refused(api.CodeInvalidRequest, "field", nil, "a source of type attachment has no data; it has the id of a stored file")
	case n == 0 || n > maxIDBytes || flawOf(s.ID) != "":
		return Block{}, over(api.CodeInvalidRequest, "attachment_id_bytes", n, maxIDBytes, "the attachment's id %s has %d bytes; one has 1 to %d of UTF-8, as the upload gave it", quoted(s.ID), n, maxIDBytes)
	case s.Size < 0:
		return Block{}, refused(api.CodeInvalidRequest, "size", s.Size, "the size %d is negative; leave it out, or give the file's bytes", s.Size)
	}
	if sum, err := hex.DecodeString(s.SHA256); err != nil || len(sum) != 32 && len(sum) != 0 {
		return Block{}, refused(api.CodeInvalidRequest, "sha256", nil, "the sha256 %s is not one of 64 hex digits; leave it out, or give it whole", quoted(s.SHA256))
	}
	announced, err := announcedAs(s.MediaType)
	if err != nil {
		return Block{}, err
	}
	b.MediaType, b.ID, b.Size, b.SHA256 = announced, s.ID, s.Size, strings.ToLower(s.SHA256)
	return b, nil
}

// measured is how many bytes the file of an inline source has, found without decoding it, and checked.
func measured(s *api.Source) (int64, error) {
	n := int64(len(s.Data))
	if s.Type == api.SourceBase64 {
		n = n/4*3 + n%4*3/4
		if len(s.Data)%4 == 0 {
			n -= int64(len(s.Data) - len(strings.TrimSuffix(strings.TrimSuffix(s.Data, "="), "=")))
		}
	}
	return n, CheckSize(n)
}

// CheckSize checks how many bytes a file has (AT3). Errors: invalid_request for none, attachment_too_large.
func CheckSize(n int64) error {
	switch {
	case n <= 0:
		return refused(api.CodeInvalidRequest, "empty", n, "the file is empty; leave it out")
	case n > api.MaxFileBytes:
		return over(api.CodeAttachmentTooLarge, RuleFile, n, api.MaxFileBytes, "the file has %d bytes; one has at most %d", n, api.MaxFileBytes)
	}
	return nil
}

// CheckCount checks how many blocks a message has (AT3). Errors are invalid_request.
func CheckCount(n int) error {
	if n == 0 || n > api.MaxBlocks {
		return over(api.CodeInvalidRequest, "blocks", n, api.MaxBlocks, "the content has %d blocks; a message has 1 to %d, its texts among them", n, api.MaxBlocks)
	}
	return nil
}

// here decodes a file that is in the message and finds out what it is.
func here(b *Block, s *api.Source) error {
	b.Data = []byte(s.Data)
	if s.Type == api.SourceBase64 {
		var err error
		if b.Data, err = decoded(s.Data); err != nil {
			return err
		}
	}
	found, err := Inspect(b.Name, s.MediaType, int64(len(b.Data)), bytes.NewReader(b.Data))
	if err != nil {
		return err
	}
	switch isImage := api.Block(found.MediaType) == api.BlockImage; {
	case s.Type == api.SourceText && !IsText(found.MediaType):
		return refused(api.CodeUnsupportedMedia, "kind", nil, "the text is %s by its first bytes; send its bytes with a source of type base64", found.MediaType)
	case b.Image && !isImage:
		return refused(api.CodeUnsupportedMedia, "kind", nil, "it is %s and no image; put it into a block of type document", found.MediaType)
	case !b.Image && isImage:
		return refused(api.CodeUnsupportedMedia, "kind", nil, "it is %s and no document; put it into a block of type image", found.MediaType)
	}
	b.MediaType, b.Found = found.MediaType, found
	return nil
}

// decoded reads standard base64 with its padding. Line breaks are refused too, which the decoder would pass over: what is
// measured is then what is there.
func decoded(data string) ([]byte, error) {
	hint := ""
	switch {
	case strings.HasPrefix(data, "data:"):
		hint = "; it is a data: address, give only what is behind its comma"
	case strings.ContainsAny(data, "-_"):
		hint = "; it has characters of the alphabet for addresses (- and _), use + and /"
	case strings.ContainsAny(data, "\r\n"):
		hint = "; take the line breaks out"
	case len(data)%4 != 0:
		hint = "; its length is no multiple of 4, is the padding (=) there?"
	}
	out, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || hint != "" {
		at := ""
		if flaw := base64.CorruptInputError(0); errors.As(err, &flaw) {
			at = fmt.Sprintf(", from byte %d on", int64(flaw))
		}
		return nil, refused(api.CodeInvalidRequest, "base64", nil, "the data is not standard base64%s%s", at, hint)
	}
	return out, nil
}

// CheckName checks a file's name, which is a label: 1 to 255 bytes of UTF-8 without control characters. Errors are
// invalid_request.
func CheckName(name string) error {
	switch n := len(name); {
	case n == 0 || n > api.MaxFileNameBytes:
		return over(api.CodeInvalidRequest, "name_bytes", n, api.MaxFileNameBytes, "the file's name %s has %d bytes; one has 1 to %d", quoted(name), n, api.MaxFileNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return refused(api.CodeInvalidRequest, "name", nil, "the file's name %s has a control character or is not UTF-8; give it another, it is only a label", quoted(name))
	}
	return nil
}

// flawOf says what keeps a text from being taken, "" if nothing does.
func flawOf(text string) string {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return fmt.Sprintf("has a NUL at byte %d; take it out", at)
	}
	if !utf8.ValidString(text) {
		return "is not UTF-8; convert it"
	}
	return ""
}

// quoted shows the beginning of what somebody sent.
func quoted(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "…"
	}
	return strconv.Quote(text)
}

// refused is an error that names its rule and what was measured, nil for nothing.
func refused(code api.Code, rule string, value any, format string, args ...any) *api.Error {
	err := api.Errorf(code, format, args...).With("rule", rule)
	if value != nil {
		err.With("value", fmt.Sprint(value))
	}
	return err
}

// over is refused for what has a bound, which is its detail limit.
func over(code api.Code, rule string, value, limit any, format string, args ...any) *api.Error {
	return refused(code, rule, value, format, args...).With("limit", fmt.Sprint(limit))
}

// inBlock says in which block the error is, and in which file if it has a name that can be one.
func inBlock(i int, g api.ContentBlock, err error) error {
	e := api.AsError(err)
	where := fmt.Sprintf("block %d", i+1)
	if g.Name != "" {
		where += " (" + quoted(g.Name) + ")"
	}
	if CheckName(g.Name) == nil {
		e.With("file", g.Name)
	}
	e.Message = where + ": " + e.Message
	return e.With("block", strconv.Itoa(i+1))
}
