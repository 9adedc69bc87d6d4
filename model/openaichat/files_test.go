package openaichat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
)

// AT2: files stand where the user put them, their bytes unchanged.
func TestFilesKeepTheirPlaceAndTheirBytes(t *testing.T) {
	t.Parallel()
	got := encodeWith(t, Config{}, model.Request{Model: "m", Items: []model.Item{{Kind: model.UserItem, Parts: []model.Part{
		{Text: "See"},
		{Name: "a.png", MediaType: model.TypePNG, Data: []byte("\x89PNG")},
		{Text: "and"},
		{Name: "r", MediaType: model.TypePDF, Data: []byte("%PDF\xff")},
		{Name: "n.md", MediaType: "text/markdown", Data: []byte("# \"Hi\"")},
	}}}})
	want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[
		{"type":"text","text":"See"},
		{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}},
		{"type":"text","text":"and"},
		{"type":"file","file":{"filename":"r.pdf","file_data":"data:application/pdf;base64,JVBERv8="}},
		{"type":"text","text":"<file name=\"n.md\" type=\"text/markdown\">\n# \"Hi\"\n</file>"}
	]}]}`
	if diff := cmp.Diff(value(t, []byte(want)), value(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
