package content

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// sources are the media types of text that do not begin with text/. image/svg+xml is none of them: a file that is announced
// as an image is to be seen, and no model sees that one.
var sources = map[string]bool{
	"application/json": true, "application/json5": true, "application/jsonl": true, "application/jsonlines": true, "application/x-jsonlines": true, "application/x-ndjson": true,
	"application/xml": true, "application/yaml": true, "application/x-yaml": true, "application/toml": true, "application/x-toml": true, "application/csv": true,
	"application/javascript": true, "application/x-javascript": true, "application/ecmascript": true, "application/typescript": true, "application/x-typescript": true,
	"application/graphql": true, "application/sql": true, "application/x-sql": true, "application/x-sh": true, "application/x-shellscript": true,
	"application/x-python": true, "application/x-ruby": true, "application/x-perl": true, "application/x-php": true, "application/x-httpd-php": true,
	"application/x-tex": true, "application/x-latex": true, "application/x-subrip": true,
}

// extensions are the media types of text by the file's extension. An SVG of which nothing is announced is the XML that
// it is written in.
var extensions = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".text": "text/plain", ".conf": "text/plain", ".cfg": "text/plain", ".ini": "text/plain",
	".env": "text/plain", ".properties": "text/plain", ".diff": "text/x-diff", ".patch": "text/x-diff",
	".md": "text/markdown", ".markdown": "text/markdown", ".rst": "text/x-rst", ".adoc": "text/asciidoc", ".tex": "text/x-tex", ".org": "text/org",
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".html": "text/html", ".htm": "text/html", ".css": "text/css", ".xml": "text/xml",
	".svg": "text/xml", ".ics": "text/calendar", ".vcf": "text/vcard", ".srt": "application/x-subrip", ".vtt": "text/vtt",
	".json": "application/json", ".json5": "application/json5", ".jsonl": "application/jsonl", ".ndjson": "application/x-ndjson", ".geojson": "application/geo+json", ".ipynb": "application/x-ipynb+json",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".sql": "application/sql", ".graphql": "application/graphql",
	".js": "text/javascript", ".mjs": "text/javascript", ".cjs": "text/javascript", ".jsx": "text/javascript", ".ts": "text/x-typescript", ".tsx": "text/x-typescript",
	".go": "text/x-go", ".mod": "text/x-go", ".py": "text/x-python", ".rb": "text/x-ruby", ".rs": "text/x-rust", ".java": "text/x-java", ".kt": "text/x-kotlin",
	".swift": "text/x-swift", ".c": "text/x-c", ".h": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".hpp": "text/x-c++", ".cs": "text/x-csharp",
	".m": "text/x-objective-c", ".scala": "text/x-scala", ".php": "text/x-php", ".pl": "text/x-perl", ".lua": "text/x-lua", ".r": "text/x-r", ".jl": "text/x-julia",
	".ex": "text/x-elixir", ".exs": "text/x-elixir", ".erl": "text/x-erlang", ".hs": "text/x-haskell", ".clj": "text/x-clojure", ".ml": "text/x-ocaml", ".zig": "text/x-zig",
	".sh": "text/x-sh", ".bash": "text/x-sh", ".zsh": "text/x-sh", ".ps1": "text/x-powershell", ".bat": "text/x-bat", ".dockerfile": "text/x-dockerfile",
	".proto": "text/x-protobuf", ".tf": "text/x-terraform", ".vue": "text/x-vue", ".svelte": "text/x-svelte", ".mk": "text/x-makefile",
}

// others names what is no text by its first bytes, so that a refusal says what it met.
var others = []struct {
	at    int
	magic string
	name  string
}{
	{0, "PK\x03\x04", "a ZIP archive, which Office documents are too"}, {0, "PK\x05\x06", "a ZIP archive"},
	{0, "\xd0\xcf\x11\xe0", "an old Office document"}, {0, "\x7fELF", "a program (ELF)"}, {0, "MZ", "a program (Windows)"},
	{0, "\xcf\xfa\xed\xfe", "a program (Mach-O)"}, {0, "\x00asm", "a program (WebAssembly)"},
	{0, "\x1f\x8b", "a gzip archive"}, {0, "BZh", "a bzip2 archive"}, {0, "\xfd7zXZ", "an xz archive"}, {0, "7z\xbc\xaf", "a 7z archive"},
	{0, "\x28\xb5\x2f\xfd", "a zstd archive"}, {0, "Rar!", "a RAR archive"},
	{0, "BM", "a BMP image"}, {0, "II*\x00", "a TIFF image"}, {0, "MM\x00*", "a TIFF image"}, {0, "\x00\x00\x01\x00", "an icon (ICO)"},
	{0, "8BPS", "a Photoshop image"}, {0, "\x00\x00\x00\x0cjP", "a JPEG 2000 image"}, {0, "\xff\x0a", "a JPEG XL image"}, {0, "\x00\x00\x00\x0cJXL ", "a JPEG XL image"},
	{8, "heic", "a HEIC image"}, {8, "heix", "a HEIC image"}, {8, "mif1", "a HEIF image"}, {8, "avif", "an AVIF image"},
	{4, "ftyp", "a video or audio file (MP4)"}, {0, "\x1a\x45\xdf\xa3", "a video (Matroska or WebM)"}, {8, "AVI ", "a video (AVI)"},
	{8, "WAVE", "an audio file (WAV)"}, {0, "ID3", "an audio file (MP3)"}, {0, "\xff\xfb", "an audio file (MP3)"}, {0, "OggS", "an audio or video file (Ogg)"}, {0, "fLaC", "an audio file (FLAC)"},
	{0, "SQLite format 3\x00", "an SQLite database"},
	{257, "ustar", "a tar archive"},
	{0, "\xff\xfe\x00\x00", "text in UTF-32; convert it to UTF-8"}, {0, "\x00\x00\xfe\xff", "text in UTF-32; convert it to UTF-8"},
	{0, "\xff\xfe", "text in UTF-16; convert it to UTF-8"}, {0, "\xfe\xff", "text in UTF-16; convert it to UTF-8"},
}

// IsText reports whether files of a media type are text: text/*, application/*+json and *+xml, and the listed source types.
func IsText(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	return strings.HasPrefix(mediaType, "text/") || sources[mediaType] ||
		strings.HasPrefix(mediaType, "application/") && (strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml"))
}

// text is for what begins as no other format. Which kind of text it is says what was announced, or the extension. What neither says
// to be text must not have other control characters than tabs, line breaks and form feeds, since with them it is some format
// of its own.
func text(name, announced, head string, in *bufio.Reader, seen *letters) (Found, error) {
	kind, listed := announced, IsText(announced)
	switch {
	case announced != "" && !listed:
		return Found{}, unlike(announced, head)
	case announced == "":
		if kind, listed = extensions[strings.ToLower(path.Ext(name))]; !listed {
			kind = "text/plain"
		}
	}
	if _, err := in.WriteTo(io.Discard); err != nil {
		return Found{}, err
	}
	switch {
	case seen.fault != "":
		return Found{}, notText(head, seen.fault, seen.at)
	case len(seen.torn) > 0:
		return Found{}, notText(head, notUTF8, seen.n)
	case seen.controlled && !listed:
		return Found{}, notText(head, "it has a control character at byte %d, and neither its name nor what is announced says that it is text", seen.control)
	}
	return Found{MediaType: kind}, nil
}

const notUTF8 = "it is not UTF-8 at byte %d"

// letters looks at bytes as text while something else reads them: UTF-8 without NUL. A mark of UTF-8 at the beginning is let be.
type letters struct {
	n          int64  // bytes that were looked at
	torn       []byte // behind them, the beginning of a character
	fault      string // what makes it no text, a format for the place
	at         int64
	controlled bool // it has a control character, the first at control
	control    int64
}

func (l *letters) Write(p []byte) (int, error) {
	length := len(p)
	if l.fault != "" {
		return length, nil
	}
	if kept := len(l.torn); kept > 0 {
		l.torn = append(l.torn, p[:min(utf8.UTFMax-kept, len(p))]...)
		if !utf8.FullRune(l.torn) {
			return length, nil
		}
		_, size := utf8.DecodeRune(l.torn)
		l.look(l.torn[:size])
		l.torn, p = l.torn[:0], p[max(0, size-kept):]
	}
	whole := p[:len(p)-torn(p)]
	l.look(whole)
	l.torn = append(l.torn, p[len(whole):]...)
	return length, nil
}

// look looks at whole characters.
func (l *letters) look(data []byte) {
	if l.fault != "" {
		return
	}
	if nul, valid := bytes.IndexByte(data, 0), validBytes(data); nul >= 0 && nul < valid {
		l.fault, l.at = "it has a NUL at byte %d, so it is no text", l.n+int64(nul)
	} else if valid < len(data) {
		l.fault, l.at = notUTF8, l.n+int64(valid)
	} else if at := bytes.IndexFunc(data, isControl); at >= 0 && !l.controlled {
		l.controlled, l.control = true, l.n+int64(at)
	}
	l.n += int64(len(data))
}

// unlike is for bytes that begin as no format that is announced.
func unlike(announced, head string) error {
	what := nameOf(head)
	switch {
	case announced == "image/svg+xml":
		return unsupported("kind", "no model sees an SVG: send it as PNG, or its source as text/xml")
	case announced == "video/mp2t":
		return unsupported("kind", "%s is a video, which is not taken; TypeScript is announced as text/x-typescript, or as nothing", announced)
	case isBinary(announced):
		if what == "" {
			what = "something else"
		}
		return unsupported("announced", "it is said to be %s and is %s by its bytes; %s", announced, what, taken)
	case what != "":
		return unsupported("kind", "%s, by its bytes %s, is not taken; %s", announced, what, taken)
	}
	return unsupported("kind", "%s is not taken; %s", announced, taken)
}

func notText(head, format string, args ...any) error {
	if what := nameOf(head); what != "" {
		return unsupported("kind", "it is %s; %s", what, taken)
	}
	return unsupported("kind", format+"; "+taken, args...)
}

// nameOf is what a file that is not text seems to be, "" if that is not known.
func nameOf(head string) string {
	for _, o := range others {
		if len(head) >= o.at && strings.HasPrefix(head[o.at:], o.magic) {
			return o.name
		}
	}
	return ""
}

// torn is the number of bytes at the end that may be the beginning of a character.
func torn(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// validBytes is how many bytes there are before the first that is not UTF-8.
func validBytes(data []byte) (n int) {
	if utf8.Valid(data) {
		return len(data)
	}
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
	return n
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' || r == 0x7f
}
