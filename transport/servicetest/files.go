package servicetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// file is a file of a test: its name, its media type, and its bytes.
type file struct {
	name, mediaType string
	data            []byte
}

func (f file) size() int64 { return int64(len(f.data)) }

func (f file) sum() string {
	sum := sha256.Sum256(f.data)
	return hex.EncodeToString(sum[:])
}

// named is the same bytes under another name.
func (f file) named(name string) file {
	f.name = name
	return f
}

func (f file) request() api.UploadRequest {
	return api.UploadRequest{Name: f.name, MediaType: f.mediaType, Size: f.size(), SHA256: f.sum()}
}

func (f file) chunk(i int) api.UploadChunk {
	data := f.data[i*api.UploadChunkBytes : min((i+1)*api.UploadChunkBytes, len(f.data))]
	return api.UploadChunk{Index: i, SHA256: file{data: data}.sum(), Data: data}
}

// inline is a block with the file's bytes in it.
func (f file) inline() api.ContentBlock {
	return api.ContentBlock{Type: api.Block(f.mediaType), Name: f.name,
		Source: &api.Source{Type: api.SourceBase64, MediaType: f.mediaType, Data: base64.StdEncoding.EncodeToString(f.data)}}
}

// stored is a block that refers to the file by the ID that its session has it under.
func (f file) stored(id string) api.ContentBlock {
	return api.Upload{ID: id, MediaType: f.mediaType}.Block(f.name)
}

// accepted is the file as turn_accepted tells of it.
func (f file) accepted(id string) api.AcceptedBlock {
	return api.AcceptedBlock{Type: api.Block(f.mediaType), Name: f.name, ID: id, MediaType: f.mediaType, Size: f.size(), SHA256: f.sum()}
}

// textFile is a text file with a text.
func textFile(name, text string) file { return file{name, "text/plain", []byte(text)} }

// longText is a text file of n bytes, which begins with a mark.
func longText(name, mark string, n int) file {
	return textFile(name, mark+strings.Repeat("x", n-len(mark)))
}

// pdfFile is a PDF of n bytes, of which there is one for each mark.
func pdfFile(name, mark string, n int) file {
	begin, end := "%PDF-1.4\n%"+mark, "\nstartxref\n9\n%%EOF\n"
	return file{name, "application/pdf", []byte(begin + strings.Repeat("\x01", n-len(begin)-len(end)) + end)}
}

// picture is an image of some pixels; shade tells one from another.
func picture(width, height int, shade uint8) image.Image {
	p := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Gray{Y: shade}, color.White})
	return p
}

func pngFile(name string, width, height int, shade uint8) file {
	var b bytes.Buffer
	_ = png.Encode(&b, picture(width, height, shade)) // into memory
	return file{name, "image/png", b.Bytes()}
}

// padded is the file with bytes behind its end, so that it has n.
func (f file) padded(n int) file {
	f.data = append(bytes.Clone(f.data), make([]byte, n-len(f.data))...)
	return f
}

func gifFile(name string, shade uint8) file {
	var b bytes.Buffer
	_ = gif.Encode(&b, picture(2, 2, shade), nil)
	return file{name, "image/gif", b.Bytes()}
}

func jpegFile(name string, shade uint8) file {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, picture(8, 8, shade), nil)
	return file{name, "image/jpeg", b.Bytes()}
}

// webpFile is a lossless WebP of one pixel.
func webpFile(name string) file {
	return file{name, "image/webp", []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")}
}

// begin announces a file.
func (s *stage) begin(session string, f file) api.Upload {
	s.Helper()
	up, err := s.BeginUpload(s.Context(), session, f.request())
	s.no(err)
	return up
}

// upload stores a whole file.
func (s *stage) upload(session string, f file) api.Upload {
	s.Helper()
	up := s.begin(session, f)
	for _, i := range up.Missing {
		s.no(s.UploadChunk(s.Context(), session, up.ID, f.chunk(i)))
	}
	up, err := s.CommitUpload(s.Context(), session, up.ID)
	s.no(err)
	return up
}

// deliver sends a message with content.
func (s *stage) deliver(session string, blocks ...api.ContentBlock) api.RunReference {
	s.Helper()
	return s.deliverWith(session, api.TurnOptions{}, blocks...)
}

func (s *stage) deliverWith(session string, o api.TurnOptions, blocks ...api.ContentBlock) api.RunReference {
	s.Helper()
	run, err := s.Submit(s.Context(), api.Submission{Session: session, Content: blocks, Options: o})
	s.no(err)
	return run
}

// refused holds that a message with content is refused with a code and words, and changes nothing of the session.
func (s *stage) refused(session string, code api.Code, words string, o api.TurnOptions, blocks ...api.ContentBlock) *api.Error {
	s.Helper()
	before := s.state(session)
	run, err := s.Submit(s.Context(), api.Submission{Session: session, Content: blocks, Options: o})
	s.code(err, code)
	e := api.AsError(err)
	if !strings.Contains(e.Message, words) {
		s.Errorf("the error reads %q, want %q in it", e.Message, words)
	}
	after := s.state(session)
	if after.LastEvent != before.LastEvent || after.Run != before.Run || len(after.Queue) != len(before.Queue) || run != (api.RunReference{}) {
		s.Errorf("a message that was refused gave %+v and left %+v", run, after)
	}
	return e
}

// detail holds a detail of an error against what it must say.
func (s *stage) detail(err error, name string, want any) {
	s.Helper()
	if got := api.AsError(err).Details[name]; got != fmt.Sprint(want) {
		s.Errorf("the error's detail %s is %q, want %q: %v", name, got, fmt.Sprint(want), err)
	}
}

// room holds that a session has room for exactly so many bytes more, and for files. What is announced for that stays.
func (s *stage) room(session string, want int64) {
	s.Helper()
	announce := func(size int64) error {
		_, err := s.BeginUpload(s.Context(), session, api.UploadRequest{Name: "probe", Size: size, SHA256: file{data: fmt.Append(nil, session, want, size)}.sum()})
		return err
	}
	for want > api.MaxFileBytes-1 {
		s.no(announce(api.MaxFileBytes - 1))
		want -= api.MaxFileBytes - 1
	}
	s.code(announce(want+1), api.CodeAttachmentQuota)
	if want > 0 {
		if err := announce(want); err != nil {
			s.Errorf("there is no room for %d bytes: %v", want, err)
		}
	}
}

// accepted are the blocks of a run's message, as its event tells of them.
func (s *stage) accepted(run api.RunReference) api.TurnAccepted {
	s.Helper()
	return decode[api.TurnAccepted](s, s.until(run.Session, api.EventTurnAccepted, func(e api.Event) bool { return e.Run == run.Run }))
}

// parts are those of the newest message of a request that has any.
func (p Prompt) parts() []Part {
	for i := len(p.Items) - 1; i >= 0; i-- {
		if len(p.Items[i].Parts) > 0 {
			return p.Items[i].Parts
		}
	}
	return nil
}

// shown tells what a model was shown of a message, in order: a text as it is, a file by its name, its type and its hash.
func shown(parts []Part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		if out[i] = p.Text; p.MediaType != "" {
			out[i] = fmt.Sprintf("%s %s %d %s", p.Name, p.MediaType, p.Size, file{data: p.Data}.sum())
		}
	}
	return out
}

// shows is what a model is to be shown of texts and files.
func shows(blocks ...any) []string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		switch b := b.(type) {
		case string:
			out[i] = b
		case file:
			out[i] = fmt.Sprintf("%s %s %d %s", b.name, b.mediaType, b.size(), b.sum())
		}
	}
	return out
}

func text(t string) api.ContentBlock { return api.TextBlock(t) }

// entries are the names in a directory, one a line.
func (s *stage) entries(dir string) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		s.Error(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, "\n")
}
