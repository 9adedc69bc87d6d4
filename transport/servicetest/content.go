package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// mixed is a message of texts and files in each form, with what a model is to be shown of it. The image and one text
// file are in the message, the PDF is uploaded, and the last text file is given as its text.
func (s *stage) mixed(session string) (blocks []api.ContentBlock, files []file, want []string) {
	s.Helper()
	image, report, notes, plain := pngFile("screen.png", 3, 2, 40), pdfFile("report.pdf", "one", 300_000), textFile("notes.txt", "first\nsecond"), textFile("plain.txt", "as it is")
	up := s.upload(session, report)
	blocks = []api.ContentBlock{text("before"), image.inline(), text("between"), report.stored(up.ID), notes.inline(), text("behind"), api.TextDocument(plain.name, string(plain.data))}
	return blocks, []file{image, report, notes, plain}, shows("before", image, "between", report, notes, "behind", plain)
}

// order are the blocks of a message by what they are: texts, and the names of files.
func order(blocks []api.ContentBlock) (out []string) {
	for _, b := range blocks {
		out = append(out, b.Text+b.Name)
	}
	return out
}

var contentTests = []test{
	{"AT1 AT2 texts and files keep their order in the event, in history and in the model's request, their bytes unchanged", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(calls("act"), calls("act", "act"), Answer{Text: "seen"})), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		blocks, files, want := s.mixed(id)
		run := s.deliver(id, blocks...)
		s.ends(run, api.StatusCompleted)
		if s.say(id, "a second turn") != "seen" {
			s.Error("the second turn says something else")
		}
		if n := len(prompts.all()); n != 6 {
			s.Fatalf("the model was asked %d times", n)
		}
		for i, p := range prompts.all() { // over tool calls and turns
			if got := shown(p.Items[0].Parts); !slices.Equal(got, want) {
				s.Errorf("request %d shows %q, want %q", i, got, want)
			}
		}
		accepted, h := s.accepted(run), s.history(id)[0]
		if accepted.Text != "before\n\nbetween\n\nbehind" || h.Text != accepted.Text || !slices.Equal(order(h.Content), order(blocks)) || len(accepted.Content) != len(blocks) {
			s.Fatalf("the event reads %+v, history %+v", accepted, h)
		}
		file := 0
		for i, b := range accepted.Content {
			if b.Type == api.BlockText {
				if b.Text != blocks[i].Text {
					s.Errorf("block %d is %+v", i, b)
				}
				continue
			}
			f := files[file]
			file++
			if b != f.accepted(b.ID) || !strings.HasPrefix(b.ID, id+"-a") {
				s.Errorf("block %d is %+v, want %+v", i, b, f.accepted(b.ID))
			}
			if src := h.Content[i].Source; h.Content[i].Type != b.Type || src == nil || *src != (api.Source{Type: api.SourceAttachment, ID: b.ID, MediaType: f.mediaType, Size: f.size(), SHA256: f.sum()}) {
				s.Errorf("block %d in history is %+v", i, h.Content[i])
			}
		}
	}},
	{"AT1 AT2 each format that is taken reaches the model as it is, with its media type found where none is said", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"}))})
		id := s.session()
		files := []file{pngFile("a.png", 2, 2, 1), jpegFile("b.jpg", 2), gifFile("c.gif", 3), webpFile("d.webp"), pdfFile("e.pdf", "e", 200), textFile("f.txt", "f"),
			{"g.json", "application/json", []byte(`{"g":1}`)}, {"h.go", "text/x-go", []byte("package h\n")}, {"i.md", "text/markdown", []byte("# é\n")}}
		var want []string
		var blocks, silent []api.ContentBlock
		for _, f := range files {
			want = append(want, shows(f)...)
			blocks = append(blocks, f.inline())
			b := f.inline()
			b.Source.MediaType = ""
			silent = append(silent, b)
		}
		for _, message := range [][]api.ContentBlock{blocks, silent} {
			s.ends(s.deliver(id, message...), api.StatusCompleted)
			last := prompts.all()[len(prompts.all())-1]
			if got := shown(last.parts()); !slices.Equal(got, want) {
				s.Errorf("the model was shown %q, want %q", got, want)
			}
		}
		if got := s.history(id)[0]; got.Text != "" || len(got.Content) != len(files) {
			s.Errorf("history reads %+v", got)
		}
	}},
	{"AT1 a message of texts alone is content too, and Text and Content together are refused", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"}))})
		id := s.session()
		s.ends(s.deliver(id, text("one"), text("two")), api.StatusCompleted)
		if got := shown(prompts.all()[0].parts()); !slices.Equal(got, []string{"one", "two"}) {
			s.Errorf("the model was shown %q", got)
		}
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "a", Content: []api.ContentBlock{text("b")}})
		s.code(err, api.CodeInvalidRequest)
	}},
	{"AT1 AT4 what is no block, has no such source, or is not what it is said to be is refused, names its block and changes nothing", func(s *stage) {
		s.open(World{})
		id := s.session()
		image, report, notes := pngFile("a.png", 2, 2, 9), pdfFile("b.pdf", "b", 300), textFile("c.txt", "c")
		stored := s.upload(id, image)
		change := func(f file, c func(*api.ContentBlock)) api.ContentBlock {
			b := f.inline()
			c(&b)
			return b
		}
		for _, tt := range []struct {
			name  string
			code  api.Code
			words string
			block api.ContentBlock
		}{
			{"another type", api.CodeInvalidRequest, `"audio"`, api.ContentBlock{Type: "audio", Name: "a", Source: image.inline().Source}},
			{"an address", api.CodeInvalidRequest, `"url"`, change(image, func(b *api.ContentBlock) { b.Source = &api.Source{Type: "url", Data: "https://a.example/a.png"} })},
			{"a provider's file ID", api.CodeInvalidRequest, `"file"`, change(image, func(b *api.ContentBlock) { b.Source = &api.Source{Type: "file", ID: "file_1"} })},
			{"no source", api.CodeInvalidRequest, "no source", api.ContentBlock{Type: api.BlockImage, Name: "a"}},
			{"no name", api.CodeInvalidRequest, "name", change(image, func(b *api.ContentBlock) { b.Name = "" })},
			{"a name with a line break", api.CodeInvalidRequest, "control character", change(image, func(b *api.ContentBlock) { b.Name = "a\nb" })},
			{"a file with a text beside it", api.CodeInvalidRequest, "no text", change(image, func(b *api.ContentBlock) { b.Text = "look" })},
			{"a text with a name", api.CodeInvalidRequest, "no name", api.ContentBlock{Type: api.BlockText, Text: "a", Name: "a"}},
			{"a blank text", api.CodeInvalidRequest, "white space", text(" \n")},
			{"a text with a NUL", api.CodeInvalidRequest, "NUL", text("a\x00")},
			{"a text that is not UTF-8", api.CodeInvalidRequest, "UTF-8", text("a\xff")},
			{"base64 for addresses", api.CodeInvalidRequest, "base64", change(image, func(b *api.ContentBlock) { b.Source.Data = "_-" + b.Source.Data[2:] })},
			{"base64 that was cut off", api.CodeInvalidRequest, "base64", change(image, func(b *api.ContentBlock) { b.Source.Data = b.Source.Data[:9] })},
			{"an empty file", api.CodeInvalidRequest, "empty", change(image, func(b *api.ContentBlock) { b.Source.Data = "" })},
			{"an image with a text source", api.CodeInvalidRequest, "text source", change(image, func(b *api.ContentBlock) { b.Source = &api.Source{Type: api.SourceText, Data: "a"} })},
			{"a PDF said to be an image", api.CodeUnsupportedMedia, "application/pdf", change(report, func(b *api.ContentBlock) { b.Source.MediaType = "image/png" })},
			{"an image in a document's block", api.CodeUnsupportedMedia, "image", change(image, func(b *api.ContentBlock) { b.Type = api.BlockDocument })},
			{"a PDF in an image's block", api.CodeUnsupportedMedia, "document", change(report, func(b *api.ContentBlock) { b.Type = api.BlockImage })},
			{"a PNG without its end", api.CodeUnsupportedMedia, "damaged", file{"a.png", "image/png", image.data[:len(image.data)-12]}.inline()},
			{"a text that is not UTF-8 in a file", api.CodeUnsupportedMedia, "UTF-8", file{"c.txt", "text/plain", []byte("a\xff")}.inline()},
			{"an archive", api.CodeUnsupportedMedia, "ZIP", file{"c.zip", "", []byte("PK\x03\x04\x00\x00")}.inline()},
			{"a stored image said to be a PDF", api.CodeUnsupportedMedia, "image/png", api.ContentBlock{Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceAttachment, ID: stored.ID, MediaType: "application/pdf"}}},
			{"a stored image as a document", api.CodeUnsupportedMedia, "image/png", api.Upload{ID: stored.ID}.Block("a")},
			{"a stored image of another size", api.CodeUploadConflict, fmt.Sprint(image.size()), api.ContentBlock{Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceAttachment, ID: stored.ID, Size: image.size() + 1}}},
			{"a stored image of another hash", api.CodeUploadConflict, image.sum(), api.ContentBlock{Type: api.BlockImage, Name: "a", Source: &api.Source{Type: api.SourceAttachment, ID: stored.ID, SHA256: report.sum()}}},
			{"an attachment that is not there", api.CodeAttachmentNotFound, "no file", api.Upload{ID: stored.ID + "0"}.Block("a")},
			{"an attachment of nobody", api.CodeAttachmentNotFound, "no file", api.Upload{ID: "file_1"}.Block("a")},
		} {
			err := s.refused(id, tt.code, tt.words, api.TurnOptions{SubmissionID: tt.name}, text("first"), notes.inline(), tt.block)
			if !strings.Contains(err.Message, "block 3") || err.Details["block"] != "3" {
				s.Errorf("%s: the error names no block: %v, %v", tt.name, err, err.Details)
			}
			if again := s.deliverWith(id, api.TurnOptions{SubmissionID: tt.name}, text("fine")); again.Repeated {
				s.Errorf("%s: the refusal left a receipt", tt.name)
			} else {
				s.ends(again, api.StatusCompleted)
			}
		}
		s.room(id, api.MaxSessionFileBytes-image.size())
	}},
	{"AT5 IDs out of history serve in later messages, under other names too, and the file is counted once", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"}))})
		id := s.session()
		blocks, files, want := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		again := s.history(id)[0].Content
		s.ends(s.deliver(id, again...), api.StatusCompleted)
		if got := shown(prompts.all()[1].parts()); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
		report := files[1].named("renamed.pdf")
		s.ends(s.deliver(id, report.stored(again[3].Source.ID), report.named("twice.pdf").inline()), api.StatusCompleted)
		if got, want := shown(prompts.all()[2].parts()), shows(report, report.named("twice.pdf")); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
		content := s.history(id)[4].Content
		if content[0].Source.ID != again[3].Source.ID || content[1].Source.ID != again[3].Source.ID {
			s.Errorf("one file has two IDs: %+v", content)
		}
		if up := s.begin(id, report.named("once more.pdf")); up.State != api.UploadAccepted || len(up.Missing) > 0 || !up.Expires.IsZero() {
			s.Errorf("to upload it again is told as %+v", up)
		}
		total := int64(0)
		for _, f := range files {
			total += f.size()
		}
		s.room(id, api.MaxSessionFileBytes-total)
	}},
	{"AT6 AT4 a file is its session's alone: another session does not know its ID, and its own differs", func(s *stage) {
		s.open(World{})
		id, other := s.session(), s.session()
		f := pngFile("a.png", 2, 2, 7)
		up := s.upload(id, f)
		s.ends(s.deliver(id, f.stored(up.ID)), api.StatusCompleted)
		s.refused(other, api.CodeAttachmentNotFound, "upload it again", api.TurnOptions{}, f.stored(up.ID))
		s.ends(s.deliver(other, f.inline()), api.StatusCompleted)
		if theirs := s.history(other)[0].Content[0].Source.ID; theirs == up.ID || strings.TrimPrefix(theirs, other) == strings.TrimPrefix(up.ID, id) {
			s.Errorf("the IDs of two sessions' files tell that they are the same: %s and %s", up.ID, theirs)
		}
	}},
	{"AT1 RE1 another process goes on with a turn's files, and other models are shown the same in the middle of a session", func(s *stage) {
		var prompts asked
		g := newGate()
		dead := false
		w := World{Model: prompts.by(func(p Prompt) Answer {
			if p.Round == 1 && !dead {
				return Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
			}
			return rounds(calls("act"), Answer{Text: "seen by " + p.Model})(p)
		}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w)
		id := s.session()
		blocks, _, want := s.mixed(id)
		run := s.deliver(id, blocks...)
		g.await(s)
		s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Call == 2 })
		s.process.Crash()
		dead = true
		s.open(w)
		if r := s.ends(run, api.StatusCompleted); r.Text != "seen by m" {
			s.Errorf("the turn says %q", r.Text)
		}
		s.process.Stop()
		s.open(w)
		for _, name := range []string{"m2", "m3"} {
			if got := s.say(id, "and you", api.TurnOptions{Model: &api.ModelRef{Provider: Provider, Name: name}}); got != "seen by "+name {
				s.Errorf("the turn says %q", got)
			}
		}
		for i, p := range prompts.all() {
			if got := shown(p.Items[0].Parts); !slices.Equal(got, want) {
				s.Errorf("request %d, to %s, shows %q, want %q", i, p.Model, got, want)
			}
		}
	}},
	{"LI5 a call that is tried again is sent the files again", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(failing(Answer{Fail: api.CodeProviderOverloaded}))})
		id := s.session()
		blocks, _, want := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		if n := len(prompts.all()); n < 2 {
			s.Fatalf("the model was asked %d times", n)
		}
		for i, p := range prompts.all() {
			if got := shown(p.parts()); !slices.Equal(got, want) {
				s.Errorf("try %d shows %q", i, got)
			}
		}
	}},
	{"AT6 a tool is told nothing of files, and finds none in its workspace", func(s *stage) {
		var told seen[string]
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
			told.add(fmt.Sprintf("%+v", c))
			return s.entries(c.Workspace), nil
		})}})
		id := s.session()
		blocks, files, _ := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		if out := s.results(id)[0].Output; out != "" {
			s.Errorf("the workspace holds %s", out)
		}
		for _, f := range files {
			if strings.Contains(told.all()[0], f.name) {
				s.Errorf("the tool was told of %s: %s", f.name, told.all()[0])
			}
		}
	}},
}
