package content

import (
	"bufio"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// The media types of files that are not text.
const (
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"
	typeGIF  = "image/gif"
	typeWebP = "image/webp"
	typePDF  = "application/pdf"
)

// maxTypeBytes bounds a media type: 127 bytes on each side of the slash, as registries have it.
const maxTypeBytes = 255

// taken ends the message of each refusal of a kind.
const taken = "taken are PNG, JPEG, GIF and WebP that do not move, PDF, and text in UTF-8 (text/*, JSON and source code)"

// Found is what a file is by its bytes.
type Found struct {
	// MediaType in lower case, without parameters.
	MediaType     string
	Width, Height int // of an image, in pixels; 0 of what is none
}

// Inspect finds out what a file is by its bytes (AT2, AT4): its first ones say which format it is, and the rest is walked up to
// the format's end mark, so that what was cut off or moves is refused. Bytes behind an image's end mark are let be, as every
// decoder does: cameras and editors append there, and the file's type is what its beginning says. What decoders forgive is
// forgiven, as long as the image is whole. Pixels are not decoded,
// so what it costs is reading the file once, with memory that does not grow with it.
//
// name only tells kinds of text apart, by its extension. announced is what the file is said to be; "" and
// application/octet-stream say nothing, image/jpg is image/jpeg. It reads r in order, at most size bytes of it, and keeps none.
//
// Errors: invalid_request for an empty file; unsupported_media for what is not taken, is damaged, moves, or is not what was
// announced, with the detail rule; errors of r as they are, and io.ErrUnexpectedEOF if it has less than size bytes.
func Inspect(name, announced string, size int64, r io.Reader) (Found, error) {
	if size <= 0 {
		return Found{}, CheckSize(size)
	}
	announced, err := announcedAs(announced)
	if err != nil {
		return Found{}, err
	}
	src, seen := &source{r: r, left: size}, &letters{}
	in := bufio.NewReaderSize(io.TeeReader(src, seen), 32<<10)
	found, err := look(name, announced, size, in, seen)
	switch {
	case src.err != nil:
		return Found{}, src.err
	case err != nil:
		return Found{}, err
	case !SameKind(announced, found.MediaType):
		return Found{}, unsupported("announced", "it is said to be %s and is %s by its bytes; announce what it is, or nothing", announced, found.MediaType)
	}
	return found, nil
}

// look walks a file. Where reading fails, its error does not matter: the source has the true one.
//
// Text may begin as a format does, or mention a PDF. So what is said to be text and is no whole file of the format is tried
// as text. The same bytes are never two formats by that: a whole file is what it is, whatever is said of it.
func look(name, announced string, size int64, in *bufio.Reader, seen *letters) (Found, error) {
	begin, _ := in.Peek(pdfHead)
	head := string(begin)
	found, err := walk(head, size, in)
	if found.MediaType == "" && err == nil {
		return text(name, announced, head, in, seen)
	}
	if e := api.AsError(err); err != nil && e.Details["rule"] == "damaged" && mayBeText(name, announced, head) {
		if plain, textErr := text(name, announced, head, in, seen); textErr == nil {
			return plain, nil
		}
	}
	return found, err
}

// walk finds out the format by a file's first bytes, and walks it. It gives nothing for what begins as none.
func walk(head string, size int64, in *bufio.Reader) (Found, error) {
	switch {
	case strings.HasPrefix(head, pngSignature):
		return png(size, in)
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return jpeg(in)
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return gif(in)
	case len(head) >= 12 && head[:4] == "RIFF" && head[8:12] == "WEBP":
		return webp(size, in)
	case nameOf(head) == "" && strings.Contains(head, pdfMark):
		return pdf(size, in)
	}
	return Found{}, nil
}

// mayBeText reports whether what is no whole file of a format may be text: it is said to be, or a PDF is only mentioned and
// nobody says that it is one.
func mayBeText(name, announced, head string) bool {
	ext := strings.ToLower(path.Ext(name))
	if announced != "" {
		return IsText(announced)
	}
	mentions := strings.Index(head, pdfMark) > 0 && ext != ".pdf"
	return extensions[ext] != "" || mentions
}

// SameKind reports whether what was announced fits what was found, or what was announced before: text is text, whatever
// its kind, and what says nothing fits all.
func SameKind(announced, found string) bool {
	a, errA := announcedAs(announced)
	f, errF := announcedAs(found)
	return errA == nil && errF == nil && (a == f || a == "" || f == "" || IsText(a) && IsText(f))
}

// CheckType checks what a file is announced as, before anything of it is there: nothing, or a kind that is taken. Errors are
// unsupported_media.
func CheckType(announced string) error {
	kind, err := announcedAs(announced)
	if err == nil && kind != "" && !isBinary(kind) && !IsText(kind) {
		err = unlike(kind, "")
	}
	return err
}

// isBinary reports whether a media type is one of those that are taken and no text.
func isBinary(mediaType string) bool {
	switch mediaType {
	case typePNG, typeJPEG, typeGIF, typeWebP, typePDF:
		return true
	}
	return false
}

// announcedAs brings a media type into its one form: lower case, without parameters, "" where it says nothing.
func announcedAs(mediaType string) (string, error) {
	if strings.TrimSpace(mediaType) == "" {
		return "", nil
	}
	plain, params, err := mime.ParseMediaType(mediaType)
	if err != nil || strings.Count(plain, "/") != 1 || strings.HasPrefix(plain, "/") || strings.HasSuffix(plain, "/") {
		return "", unsupported("media_type", "%s is not a media type such as image/png; announce what the file is, or nothing", quoted(mediaType))
	}
	if len(plain) > maxTypeBytes {
		return "", over(api.CodeUnsupportedMedia, "media_type_bytes", len(plain), maxTypeBytes, "the media type %s has %d bytes; one has at most %d", quoted(plain), len(plain), maxTypeBytes)
	}
	switch plain {
	case "application/octet-stream":
		return "", nil
	case "image/jpg":
		return typeJPEG, nil
	}
	if charset := params["charset"]; IsText(plain) && !isUTF8(charset) {
		return "", unsupported("charset", "the charset %s is not taken; convert the text to UTF-8", quoted(charset))
	}
	return plain, nil
}

func unsupported(rule, format string, args ...any) *api.Error {
	return refused(api.CodeUnsupportedMedia, rule, nil, format, args...)
}

// damaged is for a file that breaks its format's rules, or ends too early.
func damaged(mediaType, format string, args ...any) *api.Error {
	return unsupported("damaged", "it begins as "+mediaType+" and is damaged: "+format, args...)
}

// moving is for an image of a kind that is made to move. How many frames it has matters to a GIF alone.
func moving(kind string) *api.Error {
	return unsupported("animated", "it is %s; send it as an image that does not move: %s", kind, taken)
}

// isUTF8 reports whether a charset is UTF-8, or a part of it, in one of the ways in which they are spelled.
func isUTF8(charset string) bool {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(charset)) {
	case "", "utf8", "ascii", "usascii", "ansix3.41968", "iso646us":
		return true
	}
	return false
}

// source bounds a reader and remembers what went wrong in it, so that walking a file need not tell that from the
// file's own end.
type source struct {
	r    io.Reader
	left int64
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
