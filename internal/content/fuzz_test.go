package content_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image"
	stdgif "image/gif"
	stdjpeg "image/jpeg"
	stdpng "image/png"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// meter counts what is read of a reader.
type meter struct {
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// fuzzInspect fuzzes the files whose names have an extension and begin with magic, and lets judge look at what was found.
func fuzzInspect(f *testing.F, ext, magic string, judge func(t *testing.T, data []byte, got content.Found, err error)) {
	paths, err := filepath.Glob("testdata/*." + ext)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds of %s: %v", ext, err)
	}
	for _, path := range paths {
		data := file(f, filepath.Base(path))
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !strings.HasPrefix(string(data), magic) {
			data = append([]byte(magic), data...)
		}
		r := &meter{r: io.MultiReader(bytes.NewReader(data), strings.NewReader("more than was announced"))}
		got, err := content.Inspect("a."+ext, "", int64(len(data)), r)
		if r.n > int64(len(data)) {
			t.Fatalf("%d bytes read of %d", r.n, len(data))
		}
		if err != nil {
			wantRefusal(t, err, api.CodeUnsupportedMedia, "")
		}
		for _, announced := range []string{"", got.MediaType} {
			if again, errAgain := inspected("b", announced, data); (err == nil) != (errAgain == nil) || err == nil && again != got {
				t.Fatalf("announced as %q it is %v, %v and not %v, %v", announced, again, errAgain, got, err)
			}
		}
		judge(t, data, got, err)
	})
}

// wantSize checks that a decoder that takes the header finds the same size in it.
func wantSize(t *testing.T, data []byte, got content.Found, config func(io.Reader) (image.Config, error)) {
	t.Helper()
	if c, err := config(bytes.NewReader(data)); err == nil && (c.Width != got.Width || c.Height != got.Height) {
		t.Fatalf("%v, and the decoder finds %d × %d", got, c.Width, c.Height)
	}
	if got.Width <= 0 || got.Height <= 0 {
		t.Fatalf("%v has no size", got)
	}
}

func FuzzInspectPNG(f *testing.F) {
	fuzzInspect(f, "png", signature, func(t *testing.T, data []byte, got content.Found, err error) {
		if err == nil {
			wantSize(t, data, got, stdpng.DecodeConfig)
		} else if len(data) < 4_000 && api.AsError(err).Details["rule"] == "damaged" {
			wantUndecoded(t, data, stdpng.DecodeConfig, stdpng.Decode)
		}
	})
}

// wantUndecoded checks that what was found damaged is no file that a strict decoder takes whole.
func wantUndecoded(t *testing.T, data []byte, config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error)) {
	t.Helper()
	if c, err := config(bytes.NewReader(data)); err != nil || c.Width > 2_000 || c.Height > 2_000 {
		return
	}
	if _, err := decode(bytes.NewReader(data)); err == nil {
		t.Fatal("it is said to be damaged, and the decoder takes it")
	}
}

func FuzzInspectJPEG(f *testing.F) {
	fuzzInspect(f, "jpg", "\xff\xd8\xff", func(t *testing.T, data []byte, got content.Found, err error) {
		if err == nil {
			wantSize(t, data, got, stdjpeg.DecodeConfig)
			if !bytes.Contains(data, []byte("\xff\xd9")) {
				t.Fatal("it has no end marker")
			}
		}
	})
}

func FuzzInspectGIF(f *testing.F) {
	fuzzInspect(f, "gif", "GIF89a", func(t *testing.T, data []byte, got content.Found, err error) {
		if err == nil {
			wantSize(t, data, got, stdgif.DecodeConfig)
		}
		c, configErr := stdgif.DecodeConfig(bytes.NewReader(data))
		if configErr != nil || c.Width > 2_000 || c.Height > 2_000 || len(data) > 4_000 {
			return
		}
		all, decodeErr := stdgif.DecodeAll(bytes.NewReader(data))
		switch {
		case decodeErr != nil:
		case len(all.Image) > 1 && (err == nil || api.AsError(err).Details["rule"] != "animated"):
			t.Fatalf("it has %d frames, and is %v, %v", len(all.Image), got, err)
		case len(all.Image) == 1 && err != nil && c.Width > 0 && c.Height > 0 && !all.Image[0].Rect.Empty():
			t.Fatalf("it has one frame, and is refused: %v", err)
		}
	})
}

func FuzzInspectWebP(f *testing.F) {
	fuzzInspect(f, "webp", "RIFF", func(t *testing.T, data []byte, got content.Found, err error) {
		if err != nil || got.MediaType != "image/webp" {
			return
		}
		if got.Width <= 0 || got.Height <= 0 || got.Width > 1<<14 || got.Height > 1<<14 {
			t.Fatalf("%v has a size that no image data has", got)
		}
		if kind := string(data[12:16]); kind != "VP8 " && kind != "VP8L" && kind != "VP8X" {
			t.Fatalf("it begins with %q", kind)
		}
		end, last := 12, min(len(data), 8+int(binary.LittleEndian.Uint32(data[4:])))
		for last-end >= 8 { // fewer bytes are no chunk
			n := int(binary.LittleEndian.Uint32(data[end+4:]))
			end += 8 + n + n&1
		}
		chunks := append(slices.Clone(data[12:min(end, last)]), make([]byte, max(0, end-last))...) // padding may be missing
		if moved, err := inspected("a", "", riff(chunks, riffChunk("ANMF", make([]byte, 16)))); err == nil || api.AsError(err).Details["rule"] != "animated" {
			t.Fatalf("with a frame behind it is %v, %v", moved, err)
		}
	})
}

func FuzzInspectPDF(f *testing.F) {
	fuzzInspect(f, "pdf", "%PDF-", func(t *testing.T, data []byte, got content.Found, err error) {
		tail := data[max(0, len(data)-8192):]
		ended := bytes.Contains(tail, []byte("%%EOF")) && bytes.Contains(tail, []byte("startxref"))
		if err == nil && (got != content.Found{MediaType: "application/pdf"} || !ended) {
			t.Fatalf("%v, with its end: %v", got, ended)
		}
	})
}

func FuzzInspectText(f *testing.F) {
	for _, row := range corpus {
		f.Add(row.file, row.announced, file(f, row.file))
	}
	for _, s := range []string{"é€😀", "\ufeffa", "a\x00", "\xff\xfe", "\xed\xa0\x80", "\x1b[1m", strings.Repeat("😀", 5_000)} {
		f.Add("a.txt", "text/plain; charset=utf-8", []byte(s))
		f.Add("a", "", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name, announced string, data []byte) {
		got, err := inspected(name, announced, data)
		if err != nil {
			if code := api.CodeOf(err); code != api.CodeUnsupportedMedia && (code != api.CodeInvalidRequest || len(data) > 0) {
				t.Fatal(err)
			}
			if len(err.Error()) > 1_000 || !utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) {
				t.Fatalf("the error is long, or no text: %q", err)
			}
			return
		}
		if !content.SameKind(announced, got.MediaType) || content.IsText(got.MediaType) != (got.Width == 0 && got.MediaType != "application/pdf") {
			t.Fatalf("announced %q, found %v", announced, got)
		}
		if content.IsText(got.MediaType) && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0) {
			t.Fatalf("%q is taken as text", data)
		}
		if again, err := inspected(name, got.MediaType, data); err != nil || again != got {
			t.Fatalf("found %v, which announced is %v, %v", got, again, err)
		}
	})
}

func FuzzBlocks(f *testing.F) {
	png := encoded(file(f, "rgb.png"))
	for _, s := range []string{
		`[{"type":"text","text":"look"},{"type":"image","name":"a.png","source":{"type":"base64","mediaType":"image/png","data":"` + png + `"}}]`,
		`[{"type":"document","name":"a.txt","source":{"type":"text","data":"hello"}},{"type":"document","name":"a","source":{"type":"attachment","id":"x","size":1,"sha256":"00"}}]`,
		`[{"type":"image_url","source":{"type":"url"}}]`, `[{"type":"document","name":"a","source":{"type":"base64","data":"YQ=="}}]`, `[]`, `[{}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var given []api.ContentBlock
		if json.Unmarshal(data, &given) != nil {
			return
		}
		got, err := content.Blocks(given)
		if err != nil {
			e := wantKnown(t, err, api.CodeInvalidRequest, api.CodeAttachmentTooLarge, api.CodeUnsupportedMedia)
			if n := len(given); n > 0 && n <= api.MaxBlocks && e.Details["block"] == "" {
				t.Fatalf("%v names no block", err)
			}
			return
		}
		if len(got) != len(given) {
			t.Fatalf("%d blocks became %d", len(given), len(got))
		}
		for i, b := range got {
			g := given[i]
			switch {
			case !b.IsFile():
				if b.Text != g.Text || strings.TrimSpace(b.Text) == "" || len(b.Data) > 0 || b.ID != "" {
					t.Fatalf("block %d: %+v", i, b)
				}
			case b.ID != "":
				if g.Source.Type != api.SourceAttachment || b.ID != g.Source.ID || len(b.Data) > 0 {
					t.Fatalf("block %d: %+v", i, b)
				}
			case g.Source.Type == api.SourceText:
				if string(b.Data) != g.Source.Data || !content.IsText(b.MediaType) {
					t.Fatalf("block %d: %+v", i, b)
				}
			default:
				if base64.StdEncoding.EncodeToString(b.Data) != g.Source.Data || len(b.Data) == 0 || api.Block(b.Found.MediaType) != g.Type {
					t.Fatalf("block %d: %+v", i, b)
				}
			}
		}
	})
}

// wantKnown checks that an error has one of codes, a rule, and a message that is short and a text.
func wantKnown(t *testing.T, err error, codes ...api.Code) *api.Error {
	t.Helper()
	e := api.AsError(err)
	if !slices.Contains(codes, e.Code) || e.Details["rule"] == "" || len(e.Message) > 1_000 || !utf8.ValidString(e.Message) {
		t.Fatalf("%v, details %v", err, e.Details)
	}
	return e
}

// seedsOfImport are conversations in JSON.
func seedsOfImport(f *testing.F) {
	for _, s := range []string{
		"", "u", "u a u", "u c1 r1", "u c1 c2 r2 r1 a", "u c1 u c2 r2 a r1", "a", "u r1", "u c1", "u c1 r1 c1 r1",
	} {
		f.Add(content.EncodeImport(items(s)))
	}
	for _, s := range []string{
		`[{"TYPE":"user","text":"a"}]`, `[{"type":"user","text":"a","x":1}]`, `[null]`, `[{"type":"user","text":"\ud83d"}]`, `[] []`, `{}`, "[]\v", `[[]]`, `[{"type":"user","text":{}}]`,
		`[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{"a":"\ud83d\ude00\\u0000"}},{"type":"tool_result","callId":"1","output":"x"}]`,
		`[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{"a":"\ude00\u0000"}},{"type":"tool_result","callId":"1","output":"x"}]`,
		`[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{"a":1,"\u0061":2}},{"type":"tool_result","callId":"1","output":"x"}]`,
		`[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{"a":1e999,"b":[1e-999]}},{"type":"tool_result","callId":"1","output":null}]`,
		`[{"type":"user","text":"a","text":"b"},{"type":"tool_result","callId":"\ud800"}]`, `[{"type":null}]`,
	} {
		f.Add([]byte(s))
	}
}

// FuzzDecodeImport: what is read is written and read again as the same.
func FuzzDecodeImport(f *testing.F) {
	seedsOfImport(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := content.DecodeImport(data)
		if err != nil {
			wantKnown(t, err, api.CodeInvalidHistory)
			if read != nil {
				t.Fatalf("%v beside %v", read, err)
			}
			return
		}
		if !json.Valid(data) || len(read) > api.MaxImportItems {
			t.Fatalf("taken: %d items", len(read))
		}
		written := content.EncodeImport(read)
		again, err := content.DecodeImport(written)
		if err != nil {
			t.Fatalf("%v, of %s", err, written)
		}
		if diff := cmp.Diff(string(written), string(content.EncodeImport(again))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzImport: what is taken makes a request that every provider takes, within the bounds.
func FuzzImport(f *testing.F) {
	seedsOfImport(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var given []api.HistoryImport // as the service's faces read it
		if json.Unmarshal(data, &given) != nil {
			return
		}
		groups, err := content.Import(given, false)
		if err != nil {
			if e := wantKnown(t, err, api.CodeInvalidHistory); e.Details["item"] == "" {
				t.Fatalf("%v names no item", err)
			}
			return
		}
		if err := checkGroups(given, groups); err != nil {
			t.Fatal(err)
		}
		for _, it := range slices.Concat(groups...) {
			if !utf8.ValidString(it.Text+it.Output+it.CallID+string(it.Arguments)) || strings.ContainsRune(it.Text+it.Output+it.CallID, 0) {
				t.Fatalf("a text of %+v", it)
			}
			var arguments map[string]any
			if len(it.Arguments) > 0 && json.Unmarshal(it.Arguments, &arguments) != nil || hasNUL(arguments) || levels(arguments) > api.MaxImportDepth+1 {
				t.Fatalf("arguments %s", it.Arguments)
			}
		}
		if guarded, err := content.Import(given, true); err != nil || cmp.Diff(groups, guarded, plainItems) != "" {
			if len(data) < api.MaxGuardedBytes {
				t.Fatalf("guarded it is another: %v", err)
			}
		}
	})
}

// hasNUL reports whether a text in a value has a NUL.
func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for key, value := range v {
			if strings.ContainsRune(key, 0) || hasNUL(value) {
				return true
			}
		}
	}
	return false
}

// levels is how deep a value goes.
func levels(v any) (most int) {
	switch v := v.(type) {
	case []any:
		for _, value := range v {
			most = max(most, levels(value))
		}
	case map[string]any:
		for _, value := range v {
			most = max(most, levels(value))
		}
	default:
		return 0
	}
	return most + 1
}

// FuzzPortable: what is exported can be imported, and has no bytes of files.
func FuzzPortable(f *testing.F) {
	for _, s := range []string{
		`[{"type":"user","text":"a"},{"type":"assistant","text":"b"},{"type":"tool_call","callId":"1","name":"n","arguments":"{}"},{"type":"tool_result","callId":"1","output":"x"}]`,
		`[{"type":"user","content":[{"type":"text","text":"a"},{"type":"image","name":"b\n","source":{"type":"attachment","mediaType":"image/png","data":"x","size":1,"sha256":"00"}}]}]`,
		`[{"type":"user","text":"\u0000"},{"type":"tool_call","callId":"1","name":"n","arguments":"{\"a\\u0000\":\"\\\\u0000\"}"},{"type":"tool_result","callId":"1","output":"\u0000"}]`,
		`[{"type":"reasoning","text":"a"},{"type":"summary","text":"b"},{"type":"notice","text":"c"}]`, `[]`, `[{"type":"tool_call","callId":"1"}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var history []api.HistoryItem
		if json.Unmarshal(data, &history) != nil {
			return
		}
		out, err := content.Portable(history)
		if err != nil {
			wantKnown(t, err, api.CodeInvalidHistory)
			return
		}
		read, err := content.DecodeImport(content.EncodeImport(out))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := content.Import(read, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(content.EncodeImport(out)), string(content.EncodeImport(read))); diff != "" {
			t.Fatal(diff)
		}
	})
}
