package content_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// corpus is what each file of testdata is, or what its refusal says.
var corpus = []struct {
	file, announced string
	want            content.Found
	refusal         string
}{
	{file: "rgb.png", want: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
	{file: "interlaced.png", announced: "image/png", want: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
	{file: "alpha.png", want: content.Found{MediaType: "image/png", Width: 8, Height: 8}},
	{file: "palette.png", want: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
	{file: "deep.png", want: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
	{file: "grey.png", want: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
	{file: "photo.png", announced: "IMAGE/PNG; x=y", want: content.Found{MediaType: "image/png", Width: 64, Height: 48}},
	{file: "moving.png", refusal: "animated PNG (APNG)"},
	{file: "baseline.jpg", announced: "image/jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "progressive.jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "grey.jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "cmyk.jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "restart.jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "arithmetic.jpg", want: content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
	{file: "photo.jpg", announced: "application/octet-stream", want: content.Found{MediaType: "image/jpeg", Width: 160, Height: 120}},
	{file: "still.gif", want: content.Found{MediaType: "image/gif", Width: 24, Height: 16}},
	{file: "still87.gif", want: content.Found{MediaType: "image/gif", Width: 24, Height: 16}},
	{file: "interlaced.gif", want: content.Found{MediaType: "image/gif", Width: 24, Height: 16}},
	{file: "transparent.gif", want: content.Found{MediaType: "image/gif", Width: 24, Height: 16}},
	{file: "photo.gif", want: content.Found{MediaType: "image/gif", Width: 64, Height: 48}},
	{file: "moving.gif", refusal: "animated GIF"},
	{file: "moving_once.gif", announced: "image/gif", refusal: "animated GIF"},
	{file: "lossy.webp", want: content.Found{MediaType: "image/webp", Width: 24, Height: 16}},
	{file: "lossless.webp", want: content.Found{MediaType: "image/webp", Width: 24, Height: 16}},
	{file: "alpha.webp", want: content.Found{MediaType: "image/webp", Width: 8, Height: 8}},
	{file: "extended.webp", want: content.Found{MediaType: "image/webp", Width: 24, Height: 16}},
	{file: "one_frame.webp", want: content.Found{MediaType: "image/webp", Width: 24, Height: 16}},
	{file: "photo.webp", want: content.Found{MediaType: "image/webp", Width: 64, Height: 48}},
	{file: "moving.webp", refusal: "animated WebP"},
	{file: "plain.pdf", announced: "application/pdf", want: content.Found{MediaType: "application/pdf"}},
	{file: "linear.pdf", want: content.Found{MediaType: "application/pdf"}},
	{file: "notes.md", want: content.Found{MediaType: "text/markdown"}},
	{file: "bom.csv", want: content.Found{MediaType: "text/csv"}},
	{file: "colours.log", want: content.Found{MediaType: "text/plain"}},
	{file: "logo.svg", want: content.Found{MediaType: "text/xml"}},
	{file: "logo.svg", announced: "image/svg+xml", refusal: "no model sees an SVG"},
	{file: "utf16.txt", refusal: "UTF-16; convert it"},
	{file: "latin1.txt", refusal: "not UTF-8 at byte 2"},
	{file: "archive.zip", refusal: "ZIP archive"},
	{file: "letter.docx", refusal: "ZIP archive, which Office documents are too"},
	{file: "letter.docx", announced: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", refusal: "Office documents"},
	{file: "bmp.bmp", refusal: "BMP image"},
	{file: "tiff.tiff", announced: "image/tiff", refusal: "TIFF image"},
	{file: "icon.ico", refusal: "icon"},
	{file: "photo.heic", refusal: "HEIC image"},
	{file: "photo.avif", refusal: "AVIF image"},
	{file: "tone.wav", announced: "audio/wav", refusal: "audio file (WAV)"},
	{file: "base.sqlite", refusal: "SQLite database"},
}

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// inspected looks at bytes that are at hand.
func inspected(name, announced string, data []byte) (content.Found, error) {
	return content.Inspect(name, announced, int64(len(data)), bytes.NewReader(data))
}

// wantRefusal checks that err has the code, says text, and names what its details name.
func wantRefusal(t testing.TB, err error, code api.Code, text string) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, text) || e.Details["rule"] == "" {
		t.Fatalf("error %v (details %v), want %s that says %q and a rule", err, api.AsError(err), code, text)
	}
	return e
}

func TestEachFileOfTheCorpusIsWhatItsBytesSay(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"README.md": true}
	for _, c := range corpus {
		seen[c.file] = true
		t.Run(c.file+" "+c.announced, func(t *testing.T) {
			t.Parallel()
			data := file(t, c.file)
			for how, r := range map[string]io.Reader{
				"whole": bytes.NewReader(data), "byte by byte": iotest.OneByteReader(bytes.NewReader(data)), "with its end": iotest.DataErrReader(bytes.NewReader(data)),
			} {
				got, err := content.Inspect(c.file, c.announced, int64(len(data)), r)
				if c.refusal != "" {
					wantRefusal(t, err, api.CodeUnsupportedMedia, c.refusal)
				} else if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
					t.Errorf("%s: %v\n%s", how, err, diff)
				}
			}
		})
	}
	there, err := filepath.Glob("testdata/*.*")
	if err != nil || len(there) < 40 {
		t.Fatalf("the corpus has %d files, %v", len(there), err)
	}
	for _, path := range there {
		if !seen[filepath.Base(path)] {
			t.Errorf("%s is in no row", path)
		}
	}
}

// What a file is called changes nothing: only its bytes count.
func TestAWrongExtensionDoesNotChangeWhatAFileIs(t *testing.T) {
	t.Parallel()
	for _, c := range corpus {
		if c.want.Width == 0 && c.want.MediaType != "application/pdf" {
			continue
		}
		for _, name := range []string{"a.txt", "a.exe", "a", "a.gif", "a.PDF", "a.jpeg.md"} {
			if got, err := inspected(name, "", file(t, c.file)); err != nil || got != c.want {
				t.Errorf("%s as %s: %v, %v", c.file, name, got, err)
			}
		}
		for _, announced := range []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"} {
			got, err := inspected(c.file, announced, file(t, c.file))
			if announced == c.want.MediaType {
				if err != nil || got != c.want {
					t.Errorf("%s as %s: %v, %v", c.file, announced, got, err)
				}
				continue
			}
			wantRefusal(t, err, api.CodeUnsupportedMedia, "it is said to be "+announced+" and is "+c.want.MediaType)
		}
	}
}

// An image or a PDF that ends anywhere before what it needs to be whole is refused.
func TestATruncatedFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range corpus {
		if c.refusal != "" || strings.HasPrefix(c.want.MediaType, "text/") {
			continue
		}
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			data := bytes.TrimRight(file(t, c.file), "\r\n")
			switch c.want.MediaType {
			case "image/webp":
				data = bytes.TrimSuffix(file(t, c.file), []byte{0}) // padding is not missed
			case "image/gif":
				data = bytes.TrimSuffix(data, []byte{0x3b}) // nor is a trailer
			}
			for n := 1; n < len(data); n += 1 + n/500 {
				if got, err := inspected(c.file, "", data[:n]); err == nil && !strings.HasPrefix(got.MediaType, "text/") {
					t.Fatalf("with %d of %d bytes it is %v", n, len(data), got)
				}
				if _, err := inspected(c.file, c.want.MediaType, data[:n]); err == nil {
					t.Fatalf("with %d of %d bytes it is %s", n, len(data), c.want.MediaType)
				}
			}
		})
	}
}

// Each byte of a PNG is under a checksum, so that one changed bit is found.
func TestAChangedBitInAPNGIsFound(t *testing.T) {
	t.Parallel()
	data := file(t, "rgb.png")
	for i := range data {
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << bit
			if got, err := inspected("a.png", "image/png", changed); err == nil {
				t.Fatalf("bit %d of byte %d changed, and it is %v", bit, i, got)
			}
		}
	}
}

func TestAnErrorOfTheReaderComesAsItIs(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for _, c := range corpus {
		data := file(t, c.file)
		for _, n := range []int{0, 5, len(data) / 2, len(data) - 1} {
			r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken))
			if _, err := content.Inspect(c.file, "", int64(len(data)), r); !errors.Is(err, broken) && c.refusal == "" {
				t.Errorf("%s after %d bytes: %v", c.file, n, err)
			}
			if _, err := content.Inspect(c.file, "", int64(len(data)), bytes.NewReader(data[:n])); !errors.Is(err, io.ErrUnexpectedEOF) && c.refusal == "" {
				t.Errorf("%s with %d of %d bytes: %v", c.file, n, len(data), err)
			}
		}
	}
}
