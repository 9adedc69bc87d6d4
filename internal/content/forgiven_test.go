package content_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// Files that break a rule of their format, and that programs write and read all the same. With much of them missing they are
// refused as others are.
func TestWhatProgramsForgiveIsForgivenAndAFileThatIsCutOffIsNot(t *testing.T) {
	t.Parallel()
	jpg, gif, lossy, pdf := file(t, "baseline.jpg"), file(t, "still.gif"), file(t, "lossy.webp"), bytes.TrimSpace(file(t, "plain.pdf"))
	sof, sos := bytes.Index(jpg, []byte{0xff, 0xc0}), bytes.Index(jpg, []byte{0xff, 0xda})
	odd := riffChunk("VP8 ", append(slices.Clone(lossy[20:20+binary.LittleEndian.Uint32(lossy[16:])]), 0))
	if len(odd)%2 != 0 {
		t.Fatal("the chunk is not padded")
	}
	oddEnd := riff(odd)[:len(odd)+12-1]
	unpadded := slices.Clone(oddEnd)
	binary.LittleEndian.PutUint32(unpadded[4:], uint32(len(unpadded)-8))
	from := bytes.LastIndex(pdf, []byte("startxref"))
	place := strings.Fields(string(pdf[from:]))[1]
	picture := func(kind string) content.Found { return content.Found{MediaType: kind, Width: 24, Height: 16} }
	document := content.Found{MediaType: "application/pdf"}
	for _, c := range []struct {
		name   string
		data   []byte
		behind int // bytes at the end without which it is still whole
		want   content.Found
	}{
		{"a JPEG with bytes between its segments", slices.Concat(jpg[:sof], []byte{0, 0}, jpg[sof:]), 0, picture("image/jpeg")},
		{"a JPEG with a byte before its scan", slices.Concat(jpg[:sos], []byte{7}, jpg[sos:]), 0, picture("image/jpeg")},
		{"a JPEG with an empty marker", slices.Concat(jpg[:2], []byte{0xff, 0}, jpg[2:]), 0, picture("image/jpeg")},
		{"a GIF with empty blocks before its trailer", slices.Concat(gif[:len(gif)-1], []byte{0, 0, 0x3b}), 3, picture("image/gif")},
		{"a GIF without a trailer", gif[:len(gif)-1], 0, picture("image/gif")},
		{"a WebP whose last byte of padding is missing", oddEnd, 0, picture("image/webp")},
		{"a WebP whose padding is missing and is not counted", unpadded, 0, picture("image/webp")},
		{"a WebP with a few bytes too many", riff(lossy[12:], []byte{0, 0, 0, 0}), 1, picture("image/webp")},
		{"a PDF behind a line break", slices.Concat([]byte("\r\n"), pdf), 0, document},
		{"a PDF behind a byte order mark", slices.Concat([]byte("\ufeff"), pdf), 0, document},
		{"a PDF behind an answer's head", slices.Concat([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"), pdf), 0, document},
		{"a PDF at the last place for its beginning", slices.Concat(bytes.Repeat([]byte{'x'}, 1024-5), pdf), 0, document},
		{"a PDF with NULs behind its end", slices.Concat(pdf, make([]byte, 2048)), 2048, document},
		{"a PDF with blanks behind its end", slices.Concat(pdf, bytes.Repeat([]byte(" "), 4096)), 4096, document},
		{"a PDF with a page behind its end", slices.Concat(pdf, bytes.Repeat([]byte("<!-- served by x -->"), 100)), 2000, document},
		{"a PDF with a comment before its end", slices.Concat(pdf[:from], []byte("startxref\n"+place+" % here\n% made by X\n%%EOF")), 0, document},
		{"a PDF with the line breaks of old", slices.Concat(pdf[:from], bytes.ReplaceAll(pdf[from:], []byte("\n"), []byte("\r"))), 0, document},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, announced := range []string{"", c.want.MediaType} {
				got, err := content.Inspect("a", announced, int64(len(c.data)), iotest.HalfReader(bytes.NewReader(c.data)))
				if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
					t.Errorf("announced %q: %v\n%s", announced, err, diff)
				}
			}
			_, err := inspected("a.txt", "text/plain", c.data)
			wantRefusal(t, err, api.CodeUnsupportedMedia, "said to be text/plain and is "+c.want.MediaType)
			whole := len(c.data) - c.behind
			for n := 1; n < whole; n += 1 + n/500 {
				if got, err := inspected("a", c.want.MediaType, c.data[:n]); err == nil {
					t.Fatalf("with %d of %d bytes it is %v", n, whole, got)
				}
			}
		})
	}
}

func TestAPNGThatIsMadeToMoveIsRefusedAlsoWithOneFrame(t *testing.T) {
	t.Parallel()
	whole := file(t, "rgb.png")
	one := pngOf(whole[8:33], chunk("acTL", []byte{0, 0, 0, 1, 0, 0, 0, 0}), whole[33:])
	_, err := inspected("a.png", "image/png", one)
	if e := wantRefusal(t, err, api.CodeUnsupportedMedia, "an animated PNG (APNG)"); strings.Contains(e.Message, "more than one") || e.Details["rule"] != "animated" {
		t.Errorf("%v, %v", e, e.Details)
	}
}
