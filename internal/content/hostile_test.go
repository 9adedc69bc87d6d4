package content_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color/palette"
	stdgif "image/gif"
	stdjpeg "image/jpeg"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// chunk is a chunk of a PNG.
func chunk(kind string, data []byte) []byte {
	body := append([]byte(kind), data...)
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	return binary.BigEndian.AppendUint32(append(out, body...), crc32.ChecksumIEEE(body))
}

// header is the header chunk of a PNG.
func header(width, height uint32, rest ...byte) []byte {
	data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return chunk("IHDR", append(data, rest...))
}

const signature = "\x89PNG\r\n\x1a\n"

func pngOf(chunks ...[]byte) []byte { return append([]byte(signature), slices.Concat(chunks...)...) }

// riff is a WebP of chunks, each already whole.
func riff(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), slices.Concat(chunks...)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func riffChunk(kind string, data []byte) []byte {
	out := append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data))), data...)
	return append(out, make([]byte, len(data)&1)...)
}

// A file that is two formats at once is the one that its first bytes say, and goes out as that only.
func TestAPolyglotIsWhatItBeginsAs(t *testing.T) {
	t.Parallel()
	zip, page := file(t, "archive.zip"), []byte("<html><script>alert(1)</script></html>")
	script := append([]byte("GIF89a"), file(t, "still.gif")[6:]...)
	png := content.Found{MediaType: "image/png", Width: 24, Height: 16}
	for _, c := range []struct {
		name      string
		announced string
		data      []byte
		want      content.Found
		refusal   string
	}{
		{"a GIF with a script behind it", "", slices.Concat(script, []byte("=1;alert(1)")), content.Found{MediaType: "image/gif", Width: 24, Height: 16}, ""},
		{"a GIF with a script behind it, as a script", "text/javascript", slices.Concat(script, []byte("=1;alert(1)")), content.Found{}, "said to be text/javascript and is image/gif"},
		{"a script that begins as a GIF does", "text/javascript", []byte("GIF89a/*\x01\x00\x00\x00\x00*/=1;alert(1)"), content.Found{}, "damaged"},
		{"a PNG with a ZIP archive behind it", "", slices.Concat(file(t, "rgb.png"), zip), png, ""},
		{"a PNG with a ZIP archive behind it, as an archive", "application/zip", slices.Concat(file(t, "rgb.png"), zip), content.Found{}, "said to be application/zip"},
		{"a PNG with a page in a chunk", "", pngOf(file(t, "rgb.png")[8:33], chunk("tEXt", page), file(t, "rgb.png")[33:]), png, ""},
		{"a PDF with a page in it", "", slices.Concat([]byte("%PDF-1.4\n"), page, file(t, "plain.pdf")[9:]), content.Found{MediaType: "application/pdf"}, ""},
		{"a PDF with a page in it, as a page", "text/html", slices.Concat([]byte("%PDF-1.4\n"), page, file(t, "plain.pdf")[9:]), content.Found{}, "said to be text/html and is application/pdf"},
		{"a PDF behind a page", "", slices.Concat(page, file(t, "plain.pdf")), content.Found{MediaType: "application/pdf"}, ""},
		{"a PDF behind a page, as a page", "text/html", slices.Concat(page, file(t, "plain.pdf")), content.Found{}, "said to be text/html and is application/pdf"},
		{"a PDF too far behind a page", "application/pdf", slices.Concat(bytes.Repeat(page, 1024/len(page)+1), file(t, "plain.pdf")), content.Found{}, "said to be application/pdf and is"},
		{"an archive with a PDF in it", "application/pdf", slices.Concat(zip, file(t, "plain.pdf")), content.Found{}, "ZIP archive"},
		{"a tar archive with a PDF in it", "application/pdf", slices.Concat(make([]byte, 257), []byte("ustar"), make([]byte, 250), file(t, "plain.pdf")), content.Found{}, "tar archive"},
		{"a GIF that is whole, as text", "text/plain", file(t, "still.gif"), content.Found{}, "said to be text/plain and is image/gif"},
		{"a ZIP archive that begins as a PDF does", "", slices.Concat([]byte("%PDF-1.4\n"), bytes.Repeat(zip, 20)), content.Found{}, "damaged"},
		{"an archive with a PNG behind it", "image/png", slices.Concat(zip, file(t, "rgb.png")), content.Found{}, "ZIP archive"},
		{"a JPEG with a second one behind it", "", slices.Concat(file(t, "baseline.jpg"), file(t, "photo.jpg")), content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}, ""},
		{"a PNG that is called and said to be a JPEG", "image/jpeg", file(t, "rgb.png"), content.Found{}, "said to be image/jpeg and is image/png"},
		{"XML that is said to be a PNG", "image/png", []byte("<svg/>"), content.Found{}, "something else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := inspected("a.jpg", c.announced, c.data)
			if c.refusal != "" {
				wantRefusal(t, err, api.CodeUnsupportedMedia, c.refusal)
			} else if err != nil || got != c.want {
				t.Errorf("%v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestADamagedOrMovingFileIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	whole := file(t, "rgb.png")
	data, end := chunk("IDAT", []byte("x")), chunk("IEND", nil)
	head := header(1, 1, 8, 2, 0, 0, 0)
	jpg := file(t, "baseline.jpg")
	sof := bytes.Index(jpg, []byte{0xff, 0xc0})
	gif := file(t, "still87.gif")
	descriptor := bytes.IndexByte(gif[13+3<<(gif[10]&7+1):], 0x2c) + 13 + 3<<(gif[10]&7+1)
	edit := func(data []byte, at int, with ...byte) []byte {
		data = bytes.Clone(data)
		copy(data[at:], with)
		return data
	}
	lossy := file(t, "lossy.webp")
	vp8 := func(data []byte) []byte { return riffChunk("VP8 ", data) }
	extended := func(flags byte, size byte) []byte {
		return riffChunk("VP8X", []byte{flags, 0, 0, 0, size, 0, 0, 15, 0, 0})
	}
	for _, c := range []struct {
		name    string
		data    []byte
		refusal string
	}{
		{"a PNG whose header is not first", pngOf(data, head, end), "its first chunk"},
		{"a PNG with two headers", pngOf(head, head, data, end), "its first chunk, and no other"},
		{"a PNG with a short header", pngOf(chunk("IHDR", make([]byte, 12)), data, end), "header of 13 bytes"},
		{"a PNG without width", pngOf(header(0, 1, 8, 2, 0, 0, 0), data, end), "0 × 1 pixels"},
		{"a PNG without height", pngOf(header(1, 0, 8, 2, 0, 0, 0), data, end), "1 × 0 pixels"},
		{"a PNG wider than the standard has it", pngOf(header(1<<31, 1, 8, 2, 0, 0, 0), data, end), "2147483648 × 1"},
		{"a PNG of a depth that there is not", pngOf(header(1, 1, 4, 2, 0, 0, 0), data, end), "depth 4 and colour type 2"},
		{"a PNG of a colour type that there is not", pngOf(header(1, 1, 8, 5, 0, 0, 0), data, end), "colour type 5"},
		{"a PNG without image data", pngOf(head, end), "no image data"},
		{"a PNG with empty image data", pngOf(head, chunk("IDAT", nil), end), "no image data"},
		{"a PNG that says behind its data that it moves", pngOf(head, data, chunk("acTL", make([]byte, 8)), end), "APNG"},
		{"a PNG with a chunk of 4 GiB", slices.Concat(pngOf(head), []byte("\xff\xff\xff\xffIDAT"), make([]byte, 99)), "4294967295 bytes by its header"},
		{"a PNG with a wrong checksum", edit(whole, len(whole)-1, 0), "checksum"},
		{"a PNG without its end", pngOf(head, data), "ends before its end chunk"},
		{"a JPEG without a frame header", slices.Concat(jpg[:sof], jpg[sof+19:]), "before a frame header"},
		{"a JPEG with two frame headers", slices.Concat(jpg[:sof+19], jpg[sof:]), "second frame header"},
		{"a JPEG without width", edit(jpg, sof+7, 0, 0), "0 × 16 pixels"},
		{"a JPEG without height", edit(jpg, sof+5, 0, 0), "24 × 0 pixels"},
		{"a JPEG with a frame header of a wrong length", edit(jpg, sof+9, 9), "wrong length"},
		{"a JPEG with a segment of no length", edit(jpg, 4, 0, 1), "length below 2"},
		{"a JPEG with nothing but bytes that belong nowhere", slices.Concat(jpg[:sof], []byte("x\xff\x00y")), "ends before its end marker"},
		{"a JPEG with a second beginning", slices.Concat(jpg[:sof], []byte{0xff, 0xd8}, jpg[sof:]), "no marker 0xd8"},
		{"a JPEG of a reserved marker", slices.Concat(jpg[:sof], []byte{0xff, 0x05, 0, 2}, jpg[sof:]), "no marker 0x5"},
		{"a JPEG that ends before its data", slices.Concat(jpg[:sof], []byte{0xff, 0xd9}), "no image data"},
		{"a GIF without width", edit(gif, 6, 0, 0), "0 × 16"},
		{"a GIF without height", edit(gif, 8, 0, 0), "24 × 0"},
		{"a GIF without an image", slices.Concat(gif[:descriptor], []byte{0x3b}), "has no image"},
		{"a GIF whose image has no width", edit(gif, descriptor+5, 0, 0), "no width or no height"},
		{"a GIF whose image has no height", edit(gif, descriptor+7, 0, 0), "no width or no height"},
		{"a GIF whose image has no data", slices.Concat(gif[:descriptor+11], []byte{0, 0x3b}), "image has no data"},
		{"a GIF with an unknown block", slices.Concat(gif[:len(gif)-1], []byte{0x11, 0x3b}), "no block of kind 0x11"},
		{"a GIF whose second image is hidden behind a comment", slices.Concat(gif[:len(gif)-1], []byte("\x21\xfe\x01x\x00"), gif[descriptor:]), "animated GIF"},
		{"a WebP that says more than it has", edit(lossy, 4, 0xff, 0xff, 0xff, 0xff), "bytes by its header"},
		{"a WebP with a chunk of 4 GiB", riff(slices.Concat([]byte("VP8 \xff\xff\xff\xff"), lossy[20:])), "4294967295 bytes by its header"},
		{"a WebP without chunks", riff(), "no image data"},
		{"a WebP that begins with another chunk", riff(riffChunk("EXIF", []byte("x")), vp8(lossy[20:])), "first chunk"},
		{"a WebP with a frame that is no key frame", riff(vp8(append([]byte{lossy[20] | 1}, lossy[21:]...))), "does not begin as image data"},
		{"a WebP with a first part longer than the whole", riff(vp8(append([]byte{lossy[20] &^ 0xe0, 0xff, 0xff}, lossy[23:]...))), "does not begin as image data"},
		{"a WebP of another lossless version", riff(riffChunk("VP8L", []byte{0x2f, 0, 0, 0, 0x20, 0})), "does not begin as image data"},
		{"a WebP with short lossless data", riff(riffChunk("VP8L", []byte{0x2f, 0, 0})), "does not begin as image data"},
		{"a WebP without width", riff(vp8(edit(lossy[20:], 6, 0, 0))), "does not begin as image data"},
		{"a WebP without height", riff(vp8(edit(lossy[20:], 8, 0, 0))), "does not begin as image data"},
		{"a WebP of two images", riff(vp8(lossy[20:]), vp8(lossy[20:])), "image data twice"},
		{"a WebP with two sizes", riff(extended(0, 24), vp8(lossy[20:])), "25 × 16 pixels by its header and 24 × 16"},
		{"a WebP with a late header", riff(vp8(lossy[20:]), extended(0, 23)), "not the first"},
		{"a WebP with a short header", riff(riffChunk("VP8X", make([]byte, 9)), vp8(lossy[20:])), "too short"},
		{"a WebP whose flags alone say that it moves", riff(extended(2, 23), vp8(lossy[20:])), "animated WebP"},
		{"a WebP whose frames alone say that it moves", riff(extended(0, 23), riffChunk("ANMF", make([]byte, 16))), "animated WebP"},
		{"a WebP that hides its frames behind an image", riff(vp8(lossy[20:]), riffChunk("ANMF", make([]byte, 16))), "animated WebP"},
		{"a WebP with half a chunk's header", riff(extended(0, 23), []byte("EXI")), "within a chunk's header"},
		{"a WebP without the last byte of its data", lossy[:len(lossy)-1], "within chunk"},
		{"a PDF without its end", []byte("%PDF-1.4\nstartxref\n9\n"), "no startxref"},
		{"a PDF without a place", []byte("%PDF-1.4\nstartxref\n%%EOF\n"), "no startxref"},
		{"a PDF with a place behind its end", []byte("%PDF-1.4\nstartxref\n99\n%%EOF\n"), "no startxref"},
		{"a PDF made for the web that was cut off", file(t, "linear.pdf")[:700], "no startxref"},
		{"a PDF with its end too far from the end", slices.Concat(file(t, "plain.pdf"), make([]byte, 8192)), "no startxref"},
		{"a PDF with something else between its place and its end", []byte("%PDF-1.4\n1 0 obj\nstartxref\n9\nendobj\n%%EOF\n"), "no startxref"},
		{"a PDF with two places", []byte("%PDF-1.4\n1 0 obj\nstartxref\n9\n9\n%%EOF\n"), "no startxref"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := inspected("a", "", c.data)
			if err == nil {
				t.Fatalf("it is %v", got)
			}
			wantRefusal(t, err, api.CodeUnsupportedMedia, c.refusal)
		})
	}
}

func TestWhatDecodersTakeIsTaken(t *testing.T) {
	t.Parallel()
	var gif, jpg bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, 9, 7), palette.Plan9)
	if err := stdgif.EncodeAll(&gif, &stdgif.GIF{Image: []*image.Paletted{picture}, Delay: []int{5}, LoopCount: 3}); err != nil {
		t.Fatal(err)
	}
	if err := stdjpeg.Encode(&jpg, picture, nil); err != nil {
		t.Fatal(err)
	}
	base := file(t, "baseline.jpg")
	preview := slices.Concat(base[:2], []byte{0xff, 0xe1, byte((2 + jpg.Len()) >> 8), byte(2 + jpg.Len())}, jpg.Bytes(), base[2:])
	for name, c := range map[string]struct {
		data []byte
		want content.Found
	}{
		"a GIF of one frame that says it loops":  {gif.Bytes(), content.Found{MediaType: "image/gif", Width: 9, Height: 7}},
		"a JPEG of Go's encoder":                 {jpg.Bytes(), content.Found{MediaType: "image/jpeg", Width: 9, Height: 7}},
		"a JPEG with a preview in it":            {preview, content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
		"a JPEG with fill bytes":                 {slices.Concat(base[:2], []byte{0xff, 0xff}, base[2:]), content.Found{MediaType: "image/jpeg", Width: 24, Height: 16}},
		"a PDF that was changed and saved again": {slices.Concat(file(t, "plain.pdf"), []byte("1 0 obj\nendobj\nstartxref\n9\n%%EOF")), content.Found{MediaType: "application/pdf"}},
	} {
		if got, err := inspected("a", "", c.data); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// counted counts what is read of it, and gives bytes without end.
type counted struct {
	begin io.Reader
	next  func([]byte)
	n     int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, _ := c.begin.Read(p)
	if n == 0 {
		c.next(p)
		n = len(p)
	}
	c.n += int64(n)
	return n, nil
}

// What is made to cost much costs one reading of at most the bytes that were announced, and no memory to speak of. It is not
// parallel, since it measures memory.
func TestABombCostsNoMoreThanReadingIt(t *testing.T) {
	gif := file(t, "still87.gif")
	for _, c := range []struct {
		name, file string
		begin      []byte
		then       string // again and again
		wantWidth  int
	}{
		{"a PNG of 2³¹ pixels a side in a few bytes", "a.png", pngOf(header(math.MaxInt32, math.MaxInt32, 16, 6, 0, 0, 0), chunk("IDAT", []byte("x")), chunk("IEND", nil)), "\x00", math.MaxInt32},
		{"a JPEG of 65,535 pixels a side", "a.jpg", []byte("\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x00\xff\xd9"), "\x00", 65535},
		{"a WebP of 16,384 pixels a side", "a.webp", riff(riffChunk("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0})), "\x00", 16384},
		{"a PNG with one chunk of 8 MiB", "a.png", slices.Concat(pngOf(header(1, 1, 8, 2, 0, 0, 0)), []byte{0, 0x7f, 0, 0}, []byte("IDAT")), "\x00", 0},
		{"a PNG of empty chunks", "a.png", pngOf(header(1, 1, 8, 2, 0, 0, 0)), string(chunk("teXt", nil)), 0},
		{"a GIF of blocks of one byte", "a.gif", gif[:len(gif)-2], "\x01\x01", 0},
		{"a GIF of empty extensions", "a.gif", gif[:len(gif)-1], "\x21\xfe\x00", 0},
		{"a JPEG of fill bytes", "a.jpg", file(t, "baseline.jpg")[:2], "\xff", 0},
		{"a JPEG of empty segments", "a.jpg", file(t, "baseline.jpg")[:2], "\xff\xe0\x00\x02", 0},
		{"a JPEG of restart markers", "a.jpg", file(t, "baseline.jpg")[:2], "\xff\xd0", 0},
		{"a PDF of end marks", "a.pdf", []byte("%PDF-1.4\n"), "startxref 0 %%EOF ", 0},
		{"a text of torn characters", "a.txt", []byte("é"), "\xf0\x9f\x98", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := 0
			r := &counted{begin: bytes.NewReader(c.begin), next: func(p []byte) {
				for i := range p {
					p[i] = c.then[at%len(c.then)]
					at++
				}
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			got, err := content.Inspect(c.file, "", api.MaxFileBytes, r)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if (err == nil) != (c.wantWidth > 0) || got.Width != c.wantWidth {
				t.Errorf("%v, %v, want width %d", got, err, c.wantWidth)
			}
			if r.n > api.MaxFileBytes || took > 5*time.Second || after.TotalAlloc-before.TotalAlloc > 1<<20 {
				t.Errorf("%d bytes read in %v, %d bytes of memory", r.n, took, after.TotalAlloc-before.TotalAlloc)
			}
		})
	}
}

// What is too large is refused before it is decoded, and a data: address says so.
func TestAMessageThatIsABombCostsNothing(t *testing.T) {
	large := strings.Repeat("AAAA", 64<<20/4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := content.Blocks([]api.ContentBlock{base64Block("a.png", "", large)})
	deep := []api.HistoryImport{{Type: "user", Text: "a"}, {Type: "tool_call", CallID: "c", Name: "n", Arguments: []byte(strings.Repeat(`{"a":`, 100_000))}}
	_, deepErr := content.Import(deep, false)
	runtime.ReadMemStats(&after)
	wantRefusal(t, err, api.CodeAttachmentTooLarge, "50331648 bytes")
	wantRefusal(t, deepErr, api.CodeInvalidHistory, "100000 levels")
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes of memory", n)
	}
}

// base64Block is a file in base64, an image if its name says so.
func base64Block(name, mediaType, data string) api.ContentBlock {
	kind := api.BlockDocument
	if slices.ContainsFunc([]string{".png", ".jpg", ".gif", ".webp"}, func(ext string) bool { return strings.HasSuffix(name, ext) }) {
		kind = api.BlockImage
	}
	return api.ContentBlock{Type: kind, Name: name, Source: &api.Source{Type: api.SourceBase64, MediaType: mediaType, Data: data}}
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
