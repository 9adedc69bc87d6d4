package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// Messages with files and imported conversations, as moves of a play.

func words(s string) engine.Block { return engine.Block{Text: s} }

func attached(name, mediaType string, size int64) engine.Block {
	return engine.Block{File: &engine.File{ID: "s-a-" + name, Name: name, MediaType: mediaType, Size: size, SHA256: "hash of " + name}}
}

func picture() engine.Block { return attached("photo.png", "image/png", 50_000) }
func paper() engine.Block   { return attached("paper.pdf", "application/pdf", 300_000) }
func notes() engine.Block   { return attached("notes.txt", "text/plain", 400) }

// send is a message of blocks.
func send(blocks ...engine.Block) move { return sendWith(blocks) }

func sendWith(blocks []engine.Block, change ...func(*engine.Message)) move {
	return say("", append([]func(*engine.Message){func(m *engine.Message) { m.Content = blocks }}, change...)...)
}

func blocks(b ...engine.Block) []engine.Block { return b }

// inspecting has a guardrail look at what models are sent; refusing has a model that takes no files of the types.
func inspecting(m *engine.Message) { m.Inspects = "secrets" }

func refusing(mediaTypes ...string) func(*engine.Message) {
	return func(m *engine.Message) { m.Refuses = mediaTypes }
}

// fit plans for the conversation as it is, as its owner does.
func fit(w engine.Window) move {
	return func(p *play) {
		if p.state.Turn == nil {
			p.t.Fatal("there is no turn to plan for")
		}
		w.Run = p.state.Turn.Run
		t := transcribe(p)
		planned, full := t.Plan(w)
		p.do(engine.Compact{Run: w.Run, Epoch: p.epoch, Plan: planned, Full: full, Note: t.Note(planned)})
	}
}

// bareFit plans as after a request that was too large: there is room, but not for older files.
var bareFit = fit(engine.Window{Room: 1 << 20, Source: 1 << 20, Summary: 100, Bare: true})

// bareRun plans as a run without a message does, which has room for everything.
var bareRun = fit(engine.Window{Room: 1 << 20, Source: 1 << 20, Summary: 100, All: true, Bare: true})

// keepingSome has room for the newest messages with their files, keepingLess for the newest entry.
var (
	keepingSome = engine.Window{Room: 9000, Source: 9000, Summary: 300, Target: 900}
	keepingLess = engine.Window{Room: 4000, Source: 9000, Summary: 300, Target: 1}
)

// held is one line for each kind of file that a message in the context has.
func held(files []engine.HeldFile) []string {
	var out []string
	for _, h := range files {
		out = append(out, fmt.Sprintf("%d %s %s", h.Number, h.MediaType, h.Name))
	}
	return out
}

// shownFiles are the kinds of files that a model is given with entries, counted from the entries themselves.
func shownFiles(entries []engine.Entry) []engine.HeldFile {
	var out []engine.HeldFile
	for _, e := range entries {
		first := len(out)
		for _, b := range e.Content {
			if b.File == nil {
				continue
			}
			at := slices.IndexFunc(out[first:], func(h engine.HeldFile) bool { return h.MediaType == b.File.MediaType })
			if at < 0 {
				at, out = len(out)-first, append(out, engine.HeldFile{Number: e.Number, MediaType: b.File.MediaType, Name: b.File.Name})
			}
			out[first+at].Size += b.File.Size
		}
	}
	return out
}

// trip is an imported conversation: three groups, of which one is an answer with two calls.
func trip() []engine.HistoryImported {
	return engine.Imported("s", [][]api.HistoryImport{
		{{Type: api.ImportUser, Text: "where to?"}},
		{
			{Type: api.ImportAssistant, Text: "let me look"},
			{Type: api.ImportToolCall, CallID: "toolu.1/x", Name: "maps", Arguments: json.RawMessage(`{"q":"<sea>"}`)},
			{Type: api.ImportToolCall, CallID: "toolu.2/x", Name: "weather", Arguments: json.RawMessage(`{}`)},
			{Type: api.ImportToolResult, CallID: "toolu.1/x", Output: "a beach"},
			{Type: api.ImportToolResult, CallID: "toolu.2/x", Output: ""},
		},
		{{Type: api.ImportAssistant, Text: "to the beach"}},
	})
}

// content is a message's content in a world.
func (w *world) content() []engine.Block {
	var out []engine.Block
	for range rapid.IntRange(1, 3).Draw(w.T, "blocks") {
		out = append(out, choose(w.T, "block", []engine.Block{words("see"), picture(), attached("more.png", "image/png", 1), paper(), notes(), attached("empty.txt", "text/plain", 1)}))
	}
	return out
}

// holds checks that the state knows the files of the model's context, their sizes, and what of it the current message is.
func (w *world) holds() {
	entries := w.transcript.Context(0)
	if diff := cmp.Diff(shownFiles(entries), w.state.Context.Files, cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("the files of the context and those that the state holds (-context +state):\n%s", diff)
	}
	if t := w.state.Turn; t != nil {
		own := 0
		for _, e := range entries {
			if e.Kind == engine.EntryUser && e.Number == t.Accepted {
				own = engine.EntryBytes(e)
			}
		}
		if t.Bytes != own {
			w.Fatalf("the turn's message has %d bytes in the context, and is counted as %d", own, t.Bytes)
		}
	}
}
