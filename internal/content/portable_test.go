package content_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
	"pgregory.net/rapid"
)

func TestAPortableHistoryHasWhatAnotherSessionCanTake(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	got, err := content.Portable([]api.HistoryItem{
		{Type: "notice", Text: "a notice"},
		{Type: "user", Text: "look"},
		{Type: "reasoning", Text: "hm"},
		{Type: "assistant", Text: " "},
		{Type: "assistant", Text: "I look"},
		{Type: "tool_call", CallID: "c1", Name: "app__lookup", Arguments: `{"a": 1}`},
		{Type: "tool_result", CallID: "c1", Name: "app__lookup", Output: "no", Code: api.CodeDenied, Arguments: `{"a":2}`},
		{Type: "summary", Text: "so far"},
		{Type: "user", Text: "all texts", Content: []api.ContentBlock{
			api.TextBlock("see"),
			{Type: api.BlockImage, Name: "a \"b\"\u2028.png", Source: &api.Source{Type: api.SourceAttachment, ID: "s-a1", MediaType: "image/png", Size: 12_345, SHA256: sum}},
			api.TextBlock("\n"),
			api.TextBlock("and say"),
		}},
		{Type: "user", Content: []api.ContentBlock{{Type: api.BlockDocument, Name: "r.pdf", Source: &api.Source{Type: api.SourceAttachment, ID: "s-a2", MediaType: "application/pdf", Size: 1, SHA256: sum}}}},
	})
	want := []api.HistoryImport{
		says("look"), answers("I look"), calls("c1", `{"a": 1}`), returns("c1", "no"),
		says("see\n[file \"a \\\"b\\\"\\u2028.png\": image/png, 12345 bytes, SHA-256 " + sum + "]\nand say"),
		says("[file \"r.pdf\": application/pdf, 1 bytes, SHA-256 " + sum + "]"),
	}
	if diff := cmp.Diff(want, got, plainItems); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// SE6: what a model or a tool said is no reason that a session cannot be exported.
func TestANULIsReplacedInAnExport(t *testing.T) {
	t.Parallel()
	got, err := content.Portable([]api.HistoryItem{
		{Type: "user", Content: []api.ContentBlock{api.TextBlock("a\x00"), api.TextBlock("b")}},
		{Type: "assistant", Text: "\x00"},
		{Type: "tool_call", CallID: "c1", Name: "app__lookup", Arguments: `{"\u0000a":"\u0000\\u0000\\\u0000\n\u0000"}`},
		{Type: "tool_result", CallID: "c1", Output: "o\x00k\x00"},
	})
	want := []api.HistoryImport{
		says("a\ufffd\nb"), answers("\ufffd"), calls("c1", `{"\ufffda":"\ufffd\\u0000\\\ufffd\n\ufffd"}`), returns("c1", "o\ufffdk\ufffd"),
	}
	if diff := cmp.Diff(want, got, plainItems); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestWhatCannotBeImportedIsNotExported(t *testing.T) {
	t.Parallel()
	user := api.HistoryItem{Type: "user", Text: "a"}
	for _, c := range []struct {
		name    string
		items   []api.HistoryItem
		refusal string
	}{
		{"a call without a result", []api.HistoryItem{user, {Type: "tool_call", CallID: "c1", Name: "n", Arguments: "{}"}}, "item 1 (tool_call): call \"c1\" has no result"},
		{"too many items", func() (out []api.HistoryItem) {
			for range 300 {
				out = append(out, user)
			}
			return out
		}(), "at most 256 items, and there are 300; import a summary as the text of one item, or only the newest items"},
		{"too much in all", []api.HistoryItem{{Type: "user", Text: strings.Repeat("a", 200_000)}, {Type: "assistant", Text: strings.Repeat("a", 200_000)}, {Type: "user", Text: strings.Repeat("a", 200_000)}, user},
			"item 2 (user): the conversation has 600111 bytes as compact JSON, and an imported one at most 512000; import a summary"},
		{"a text that is too large", []api.HistoryItem{user, {Type: "assistant", Text: strings.Repeat("a", 256_001)}}, "256001 bytes"},
		{"an answer first", []api.HistoryItem{{Type: "notice", Text: "a"}, {Type: "assistant", Text: "a"}}, "item 0"},
	} {
		got, err := content.Portable(c.items)
		if got != nil {
			t.Errorf("%s: %v", c.name, got)
		}
		wantRefusal(t, err, api.CodeInvalidHistory, c.refusal)
	}
	if got, err := content.Portable(nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

func TestAnExportIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var history []api.HistoryItem
		for _, it := range conversation(t) {
			history = append(history, api.HistoryItem{Type: it.Type, Text: it.Text, CallID: it.CallID, Name: it.Name, Arguments: string(it.Arguments), Output: it.Output})
			if it.Type == api.ImportAssistant && rapid.Bool().Draw(t, "thinks") {
				history = append(history, api.HistoryItem{Type: "reasoning", Text: "hm"})
			}
		}
		out, err := content.Portable(history)
		if err != nil {
			t.Fatal(err)
		}
		want, err := content.Import(out, false)
		if err != nil {
			t.Fatal(err)
		}
		items, err := content.DecodeImport(content.EncodeImport(out))
		if err != nil {
			t.Fatal(err)
		}
		got, err := content.Import(items, false)
		if diff := cmp.Diff(want, got, plainItems, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}
