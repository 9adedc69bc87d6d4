package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

func TestBlocksComeInTheirOrderWithWhatTheyAre(t *testing.T) {
	t.Parallel()
	png, pdf := file(t, "rgb.png"), file(t, "plain.pdf")
	sum := strings.Repeat("Ab", 32)
	got, err := content.Blocks([]api.ContentBlock{
		api.TextBlock(" look:\n"),
		base64Block("screen.png", "", encoded(png)),
		api.TextBlock("and"),
		base64Block("report.pdf", "application/pdf", encoded(pdf)),
		api.TextDocument("main.go", "package main\n"),
		base64Block("data.csv", "text/csv; charset=utf-8", encoded([]byte("a,b"))),
		api.Upload{ID: "s-a1", MediaType: "image/png", Name: "again.png"}.Block(""),
		{Type: api.BlockDocument, Name: "again.pdf", Source: &api.Source{Type: api.SourceAttachment, ID: "s-a2", MediaType: "Application/PDF", Size: 7, SHA256: sum}},
	})
	want := []content.Block{
		{Text: " look:\n"},
		{Name: "screen.png", Image: true, MediaType: "image/png", Data: png, Found: content.Found{MediaType: "image/png", Width: 24, Height: 16}},
		{Text: "and"},
		{Name: "report.pdf", MediaType: "application/pdf", Data: pdf, Found: content.Found{MediaType: "application/pdf"}},
		{Name: "main.go", MediaType: "text/x-go", Data: []byte("package main\n"), Found: content.Found{MediaType: "text/x-go"}},
		{Name: "data.csv", MediaType: "text/csv", Data: []byte("a,b"), Found: content.Found{MediaType: "text/csv"}},
		{Name: "again.png", Image: true, ID: "s-a1"},
		{Name: "again.pdf", MediaType: "application/pdf", ID: "s-a2", Size: 7, SHA256: strings.ToLower(sum)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for i, b := range got {
		if b.IsFile() != (i > 0 && i != 2) {
			t.Errorf("block %d is a file: %v", i+1, b.IsFile())
		}
	}
}

// Each rule has a message that is right but for one block, the second.
func TestABlockThatBreaksARuleIsNamed(t *testing.T) {
	t.Parallel()
	png := encoded(file(t, "rgb.png"))
	source := func(kind api.BlockType, s api.Source) api.ContentBlock {
		return api.ContentBlock{Type: kind, Name: "a", Source: &s}
	}
	for _, c := range []struct {
		name    string
		block   api.ContentBlock
		code    api.Code
		rule    string
		refusal string
	}{
		{"of no type", api.ContentBlock{Text: "a"}, api.CodeInvalidRequest, "block_type", `no block of type ""; there are text, image and document`},
		{"of a provider's type", api.ContentBlock{Type: "image_url", Name: "a"}, api.CodeInvalidRequest, "block_type", "never as an address"},
		{"of a type in capitals", api.ContentBlock{Type: "Text", Text: "a"}, api.CodeInvalidRequest, "block_type", `"Text"`},
		{"of text that is blank", api.TextBlock(" \n\t"), api.CodeInvalidRequest, "blank", "white space only"},
		{"of text with a NUL", api.TextBlock("a\x00"), api.CodeInvalidRequest, "text", "NUL at byte 1"},
		{"of text that is not UTF-8", api.TextBlock("a\xff"), api.CodeInvalidRequest, "text", "not UTF-8"},
		{"of text with a name", api.ContentBlock{Type: api.BlockText, Text: "a", Name: "b"}, api.CodeInvalidRequest, "field", "a text file is a document"},
		{"of text with a source", api.ContentBlock{Type: api.BlockText, Text: "a", Source: &api.Source{}}, api.CodeInvalidRequest, "field", "no source"},
		{"of an image with text", api.ContentBlock{Type: api.BlockImage, Text: "a", Name: "b", Source: &api.Source{}}, api.CodeInvalidRequest, "field", "image has no text"},
		{"of a file without a name", api.ContentBlock{Type: api.BlockImage, Source: &api.Source{}}, api.CodeInvalidRequest, "name_bytes", "0 bytes; one has 1 to 255"},
		{"of a file whose name has a line break", api.ContentBlock{Type: api.BlockImage, Name: "a\nb"}, api.CodeInvalidRequest, "name", "control character"},
		{"of a file without a source", api.ContentBlock{Type: api.BlockDocument, Name: "b"}, api.CodeInvalidRequest, "source", "no source"},
		{"with an address", source(api.BlockImage, api.Source{Type: "url", Data: "https://example.com/a.png"}), api.CodeInvalidRequest, "source_type", "Addresses and providers' file IDs are not taken"},
		{"with a provider's ID", source(api.BlockDocument, api.Source{Type: "file_id", ID: "file-1"}), api.CodeInvalidRequest, "source_type", `no source of type "file_id"`},
		{"with a source of no type", source(api.BlockDocument, api.Source{Data: "a"}), api.CodeInvalidRequest, "source_type", "there are base64"},
		{"of an image from text", source(api.BlockImage, api.Source{Type: api.SourceText, Data: "a"}), api.CodeInvalidRequest, "source_type", "an image has no text source"},
		{"with bytes and an ID", source(api.BlockImage, api.Source{Type: api.SourceBase64, Data: png, ID: "a"}), api.CodeInvalidRequest, "field", "only one of type attachment"},
		{"with bytes and a size", source(api.BlockImage, api.Source{Type: api.SourceBase64, Data: png, Size: 1}), api.CodeInvalidRequest, "field", "only one of type attachment"},
		{"with text and a hash", source(api.BlockDocument, api.Source{Type: api.SourceText, Data: "a", SHA256: "00"}), api.CodeInvalidRequest, "field", "only one of type attachment"},
		{"of a stored file with bytes", source(api.BlockImage, api.Source{Type: api.SourceAttachment, ID: "a", Data: png}), api.CodeInvalidRequest, "field", "no data"},
		{"of a stored file without an ID", source(api.BlockImage, api.Source{Type: api.SourceAttachment}), api.CodeInvalidRequest, "attachment_id_bytes", "0 bytes; one has 1 to 256"},
		{"of a stored file of a negative size", source(api.BlockImage, api.Source{Type: api.SourceAttachment, ID: "a", Size: -1}), api.CodeInvalidRequest, "size", "-1 is negative"},
		{"of a stored file with half a hash", source(api.BlockImage, api.Source{Type: api.SourceAttachment, ID: "a", SHA256: "00"}), api.CodeInvalidRequest, "sha256", "64 hex digits"},
		{"of a stored file with a hash that is none", source(api.BlockImage, api.Source{Type: api.SourceAttachment, ID: "a", SHA256: strings.Repeat("x", 64)}), api.CodeInvalidRequest, "sha256", "64 hex digits"},
		{"of a stored file of no media type", source(api.BlockImage, api.Source{Type: api.SourceAttachment, ID: "a", MediaType: "png"}), api.CodeUnsupportedMedia, "media_type", "not a media type"},
		{"of an empty file", base64Block("a.png", "", ""), api.CodeInvalidRequest, "empty", "empty"},
		{"of an empty text file", api.TextDocument("a.txt", ""), api.CodeInvalidRequest, "empty", "empty"},
		{"with a data: address", base64Block("a.png", "", "data:image/png;base64,"+png), api.CodeInvalidRequest, "base64", "behind its comma"},
		{"with the alphabet of addresses", base64Block("a.png", "", "_-_-"), api.CodeInvalidRequest, "base64", "use + and /"},
		{"with a line break in base64", base64Block("a.png", "", png[:76]+"\r\n"+png[76:]), api.CodeInvalidRequest, "base64", "line breaks"},
		{"with base64 without padding", base64Block("a.txt", "", "YQ"), api.CodeInvalidRequest, "base64", "padding"},
		{"with base64 of too much padding", base64Block("a.txt", "", "YQ======"), api.CodeInvalidRequest, "base64", "from byte"},
		{"with base64 that could be written shorter", base64Block("a.txt", "", "YR=="), api.CodeInvalidRequest, "base64", "not standard base64"},
		{"with something in base64", base64Block("a.txt", "", "Y?=="), api.CodeInvalidRequest, "base64", "from byte 1 on"},
		{"of an image that is a PDF", base64Block("a.png", "", encoded(file(t, "plain.pdf"))), api.CodeUnsupportedMedia, "kind", "application/pdf and no image"},
		{"of an image that is text", base64Block("a.png", "", encoded([]byte("hello"))), api.CodeUnsupportedMedia, "kind", "text/plain and no image"},
		{"of a document that is an image", base64Block("a.pdf", "", png), api.CodeUnsupportedMedia, "kind", "image/png and no document"},
		{"of text that is a PDF", api.TextDocument("a.txt", string(file(t, "plain.pdf"))), api.CodeUnsupportedMedia, "", ""},
		{"of text with a NUL in it", api.TextDocument("a.txt", "a\x00"), api.CodeUnsupportedMedia, "kind", "NUL at byte 1"},
		{"of text that is not UTF-8 in it", api.TextDocument("a.txt", "a\xff"), api.CodeUnsupportedMedia, "kind", "not UTF-8 at byte 1"},
		{"of an image that is said to be another", base64Block("a.png", "image/jpeg", png), api.CodeUnsupportedMedia, "announced", "said to be image/jpeg"},
		{"of an image that moves", base64Block("a.gif", "", encoded(file(t, "moving.gif"))), api.CodeUnsupportedMedia, "animated", "animated GIF"},
		{"of a damaged image", base64Block("a.png", "", encoded(file(t, "rgb.png")[:99])), api.CodeUnsupportedMedia, "damaged", "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := content.Blocks([]api.ContentBlock{api.TextBlock("right"), c.block, api.TextBlock("right too")})
			if err == nil {
				t.Fatalf("taken as %v", got)
			}
			e := wantRefusal(t, err, c.code, c.refusal)
			if c.rule != "" && e.Details["rule"] != c.rule || e.Details["block"] != "2" || !strings.HasPrefix(e.Message, "block 2") {
				t.Errorf("%v: details %v", e, e.Details)
			}
			if named := content.CheckName(c.block.Name) == nil; named && e.Details["file"] != c.block.Name || !named && e.Details["file"] != "" {
				t.Errorf("%v: details %v", e, e.Details)
			}
			if c.block.Name != "" && !strings.Contains(e.Message, "(\""+strings.ReplaceAll(c.block.Name, "\n", `\n`)+"\")") {
				t.Errorf("%v does not name the file", e)
			}
		})
	}
}

// No message repeats more than a little of what was sent.
func TestARefusalIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5_000)
	for name, b := range map[string]api.ContentBlock{
		"type": {Type: api.BlockType(long)}, "name": {Type: api.BlockImage, Name: long},
		"source": {Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceType(long)}},
		"id":     {Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceAttachment, ID: long}},
		"hash":   {Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceAttachment, ID: "a", SHA256: long}},
		"media":  base64Block("a.png", long, "YQ=="), "media type": base64Block("a.txt", "text/"+strings.Repeat("x", 5_000), "YQ=="),
		"charset": base64Block("a.txt", `text/plain; charset="`+strings.Repeat("x", 5_000)+`"`, "YQ=="), "data": base64Block("a.txt", "", long),
	} {
		if _, err := content.Blocks([]api.ContentBlock{b}); err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
