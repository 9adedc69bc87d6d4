package scripted_test

import (
	"strings"
	"testing"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

func withFiles() model.Request {
	return model.Request{Model: "m", Items: []model.Item{{Kind: model.UserItem, Parts: []model.Part{
		{Text: "use calc with {}"},
		{Name: "a.png", MediaType: model.TypePNG, Data: make([]byte, 4000)},
		{Text: "and this"},
		{Name: "r.pdf", MediaType: model.TypePDF, Data: make([]byte, 90_000)},
		{Name: "n.md", MediaType: "text/markdown", Data: []byte("# A note of twenty b")},
	}}}}
}

// AT2: a script sees the texts of a message with files; its files are in the request.
func TestAMessageWithFilesIsAMessage(t *testing.T) {
	t.Parallel()
	req := withFiles()
	if got := scripted.LastUser(req); got != "use calc with {}\nand this" {
		t.Errorf("its text is %q", got)
	}
	p := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Text("ok"))})
	resp, err := p.Stream(t.Context(), req, func(model.Delta) {})
	if err != nil || p.Violations() != nil {
		t.Fatalf("%v, %v", err, p.Violations())
	}
	// Four bytes a token of 16 and 8 and 20 bytes of text, and 1,600 for each of the two others.
	if got := resp.Usage.InputTokens; got != 11+2*1600 {
		t.Errorf("it has %d tokens", got)
	}
	if kept := p.Requests()[0].Items[0].Parts; len(kept) != 5 || len(kept[3].Data) != 90_000 {
		t.Errorf("the request that is kept has %d parts", len(kept))
	}
}

func TestAFileWithoutItsBytesIsRefused(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{})
	req := withFiles()
	req.Items[0].Parts[3] = model.Part{Name: "r.pdf", MediaType: model.TypePDF, ID: "s-a1", Size: 90_000}
	if _, err := p.Stream(t.Context(), req, func(model.Delta) {}); err == nil || !strings.Contains(err.Error(), "needs a name and data") || p.Violations() == nil {
		t.Errorf("got %v", err)
	}
}

func TestTheDemoModelSeesFiles(t *testing.T) {
	t.Parallel()
	req := withFiles()
	req.Tools = []model.Tool{{Name: "calc"}}
	if reply := scripted.Demo(req); len(reply.Calls) != 1 || reply.Calls[0].Name != "calc" {
		t.Errorf("a line beside files is no call: %+v", reply)
	}
	req.Items[0].Parts[0].Text = "Look."
	for _, part := range []string{"“Look.\nand this”", "a.png (image/png, 4000 bytes), r.pdf (application/pdf, 90000 bytes), n.md (text/markdown, 20 bytes)."} {
		if reply := scripted.Demo(req); !strings.Contains(reply.Text, part) {
			t.Errorf("%q is not in %q", part, reply.Text)
		}
	}
	req.Items[0].Parts = req.Items[0].Parts[1:2]
	if reply := scripted.Demo(req); !strings.Contains(reply.Text, "a.png") {
		t.Errorf("a file alone: %q", reply.Text)
	}
}
