package content_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

func TestTextIsOfTheKindThatIsAnnouncedOrThatItsNameSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, announced, text, want string }{
		{"a.md", "", "# A", "text/markdown"},
		{"A.MD", "", "# A", "text/markdown"},
		{"a.csv", "", "a,b", "text/csv"},
		{"a.json", "", "{", "application/json"}, // it need not parse
		{"a.go", "", "package a", "text/x-go"},
		{"a.md", "text/plain", "# A", "text/plain"},
		{"a.go", "TEXT/Plain; charset=UTF-8", "package a", "text/plain"},
		{"a", "text/x-anything", "a", "text/x-anything"},
		{"a.bin", "application/json; charset=us-ascii", "{}", "application/json"},
		{"a.yaml", "application/octet-stream", "a: b", "application/yaml"},
		{"Makefile", "", "all:\n\tgo build\r\n\f", "text/plain"},
		{"a.png", "", "no picture", "text/plain"},
		{"a.exe", " ", "no program", "text/plain"},
		{"a.csv", "", "\ufeffa,b", "text/csv"},
		{"a.log", "", "\x1b[1mbold", "text/plain"},
		{"a", "text/plain", "\x1b[1mbold", "text/plain"},
		{"a.svg", "", "<svg/>", "text/xml"},
		{"a.json5", "", "{a:1}", "application/json5"},
		{"a", "application/problem+json", "{}", "application/problem+json"},
		{"a", "application/vnd.api+json; charset=ASCII", "{}", "application/vnd.api+json"},
		{"a", "application/soap+xml", "<a/>", "application/soap+xml"},
		{"a.txt", "text/plain; charset=UTF8", "a", "text/plain"},
		{"a.txt", "text/plain; charset=utf_8", "a", "text/plain"},
		{"a.txt", "text/plain; charset=US_ASCII", "a", "text/plain"},
		{"a.txt", "text/plain; charset=ANSI_X3.4-1968", "a", "text/plain"},
		// Text that begins as another format does, and is no whole file of it.
		{"a.txt", "", "GIF89a is a format\n", "text/plain"},
		{"a", "text/markdown", "GIF87a", "text/markdown"},
		{"a.md", "", "%PDF-1.4 is how PDFs begin\n", "text/markdown"},
		{"a.md", "", "RIFF....WEBP", "text/markdown"},
		{"a.md", "", "GIF89a " + strings.Repeat("é", 40_000), "text/markdown"},
		{"README", "", "A PDF begins with %PDF-1.7.\n", "text/plain"},
		{"a.go", "text/plain", "const mark = \"%PDF-\"", "text/plain"},
		{"a.md", "", "BM, MZ and ID3 are marks", "text/markdown"},
	} {
		if got, err := inspected(c.name, c.announced, []byte(c.text)); err != nil || got != (content.Found{MediaType: c.want}) {
			t.Errorf("%s, announced %q: %v, %v, want %s", c.name, c.announced, got, err, c.want)
		}
	}
}

func TestWhatIsNoTextIsRefusedWithWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, announced, data, refusal string }{
		{"a.txt", "", "a\x00b", "NUL at byte 1"},
		{"a.txt", "text/plain", strings.Repeat("é", 10_000) + "\x00", "NUL at byte 20000"},
		{"a.txt", "", strings.Repeat("é", 10_000) + "\xff", "not UTF-8 at byte 20000"},
		{"a.txt", "", "ab\xe2\x82", "not UTF-8 at byte 2"},
		{"a.txt", "", "\xed\xa0\x80", "not UTF-8 at byte 0"}, // half a surrogate pair
		{"a.txt", "", "\xff\xfea\x00", "UTF-16; convert it to UTF-8"},
		{"a.txt", "text/plain; charset=iso-8859-1", "a", `charset "iso-8859-1"`},
		{"a.txt", "text/plain; charset", "a", "not a media type"},
		{"a.txt", "text", "a", "not a media type"},
		{"a.txt", "text/", "a", "not a media type"},
		{"a.txt", "/plain", "a", "not a media type"},
		{"a.bin", "", "bold\x1b[1m", "control character at byte 4, and neither its name"},
		{"a.bin", "", "a\x7f", "control character at byte 1"},
		{"a.exe", "", "MZ\x90\x00\x03", "a program (Windows)"},
		{"a", "", "\x7fELF\x02\x01\x01\x00", "a program (ELF)"},
		{"a.mp4", "", "\x00\x00\x00\x20ftypisom", "a video or audio file (MP4)"},
		{"a.mp3", "audio/mpeg", "ID3\x03", "audio/mpeg, by its bytes an audio file (MP3), is not taken"},
		{"a.mp4", "video/mp4", "text", "video/mp4 is not taken; taken are PNG, JPEG"},
		{"a.ts", "video/mp2t", "export const a = 1", "TypeScript is announced as text/x-typescript, or as nothing"},
		{"a.txt", "", "\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32; convert it to UTF-8"},
		{"a.txt", "", "\x00\x00\xfe\xff\x00\x00\x00a", "UTF-32; convert it to UTF-8"},
		{"a", "", "GIF89a is a format", "it begins as image/gif and is damaged"},
		{"a.txt", "", "GIF89a is a format\x00", "it begins as image/gif and is damaged"},
		{"a.gif", "image/gif", "GIF89a is a format", "it begins as image/gif and is damaged"},
		{"a.pdf", "", "\n%PDF-1.4 and no more", "it begins as application/pdf and is damaged"},
		{"a", "application/pdf", "\n%PDF-1.4 and no more", "it begins as application/pdf and is damaged"},
		{"a.xls", "application/vnd.ms-excel", "a,b", "application/vnd.ms-excel is not taken"},
		{"a.png", "image/png", "text", "said to be image/png and is something else"},
		{"a.bmp", "image/bmp", "BM\x01", "a BMP image"},
	} {
		_, err := inspected(c.name, c.announced, []byte(c.data))
		wantRefusal(t, err, api.CodeUnsupportedMedia, c.refusal)
	}
	_, err := inspected("a.txt", "", nil)
	wantRefusal(t, err, api.CodeInvalidRequest, "empty")
}

// Where reads happen to end makes no difference to characters of several bytes.
func TestACharacterMayBeTornBetweenTwoReads(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"é€😀", strings.Repeat("é€😀a", 9_000), "a" + strings.Repeat("😀", 20_000)} {
		for _, r := range []interface{ Read([]byte) (int, error) }{
			strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.HalfReader(strings.NewReader(text)),
		} {
			if got, err := content.Inspect("a", "", int64(len(text)), r); err != nil || got.MediaType != "text/plain" {
				t.Errorf("%d bytes: %v, %v", len(text), got, err)
			}
		}
	}
}

func TestKindsOfMediaTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		announced, found string
		want             bool
	}{
		{"", "image/png", true}, {"image/png", "", true}, {"application/octet-stream", "application/pdf", true},
		{"image/png", "image/png", true}, {"IMAGE/PNG; a=b", "image/png", true}, {"image/jpg", "image/jpeg", true},
		{"text/csv", "text/plain", true}, {"application/json", "text/x-go", true},
		{"image/png", "image/jpeg", false}, {"text/plain", "application/pdf", false}, {"image/svg+xml", "text/xml", false},
		{"nonsense", "text/plain", false}, {"application/zip", "text/plain", false},
	} {
		if got := content.SameKind(c.announced, c.found); got != c.want {
			t.Errorf("SameKind(%q, %q) = %v", c.announced, c.found, got)
		}
	}
	for mediaType, want := range map[string]bool{
		"text/plain": true, "TEXT/CSV; charset=utf-8": true, "application/json": true, " application/toml ": true,
		"application/csv": true, "application/x-sql": true, "application/x-typescript": true, "application/x-toml": true, "application/x-jsonlines": true, "application/json5": true,
		"application/manifest+json": true, "application/LD+JSON": true, "application/atom+xml": true, "image/x+json": false, "application/xhtml+zip": false,
		"": false, "image/svg+xml": false, "application/pdf": false, "application/msword": false, "image/png": false,
	} {
		if got := content.IsText(mediaType); got != want {
			t.Errorf("IsText(%q) = %v", mediaType, got)
		}
	}
}

// What is announced is checked by itself before anything of the file is there, as it is later with the file.
func TestAMediaTypeIsCheckedBeforeTheFileComes(t *testing.T) {
	t.Parallel()
	for _, announced := range []string{"", "application/octet-stream", "image/jpg", "text/plain; charset=utf-8", "APPLICATION/PDF"} {
		if err := content.CheckType(announced); err != nil {
			t.Errorf("%q: %v", announced, err)
		}
	}
	for _, announced := range []string{"png", "text/plain; charset=latin1", "text/", "a/b/c", "text/plain; charset", "video/mp4", "image/bmp", "image/svg+xml", "application/zip"} {
		wantRefusal(t, content.CheckType(announced), api.CodeUnsupportedMedia, "")
	}
}

func TestInspectReadsNoMoreThanIsAnnounced(t *testing.T) {
	t.Parallel()
	r := bytes.NewReader([]byte("only this\xff\xff"))
	if got, err := content.Inspect("a.txt", "", 9, r); err != nil || got.MediaType != "text/plain" || r.Len() != 2 {
		t.Errorf("%v, %v, %d bytes left", got, err, r.Len())
	}
}
