package google

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
)

// decoded is all that an attempt makes of a body.
type decoded struct {
	Response        model.Response
	Failure         *model.Error
	Text, Reasoning string // as emitted
}

// decode runs a body through an attempt without a network. piecewise reads it byte by byte.
func decode(t testing.TB, body []byte, contentType string, piecewise bool) (out decoded) {
	t.Helper()
	var reader io.Reader = bytes.NewReader(body)
	if piecewise {
		reader = iotest.OneByteReader(reader)
	}
	p, err := New(Config{HTTPClient: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Request: req, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(reader)}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	var text, reasoning strings.Builder
	out.Response, err = p.Stream(t.Context(), modeltest.Request(), func(d model.Delta) {
		if d.Text == "" {
			t.Error("an empty delta was emitted")
		}
		if d.Reasoning {
			reasoning.WriteString(d.Text)
		} else {
			text.WriteString(d.Text)
		}
	})
	if err != nil && !errors.As(err, &out.Failure) {
		t.Fatalf("got %v, want a *model.Error", err)
	}
	out.Text, out.Reasoning = text.String(), reasoning.String()
	return out
}

func FuzzAnyBodyIsAnAnswerOrAFailure(f *testing.F) {
	files, err := filepath.Glob("testdata/recordings/*.http")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		head, body := recorded(f, file)
		f.Add(body, strings.Contains(head, "event-stream"))
	}
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		got := decode(t, body, contentType, false)
		if diff := cmp.Diff(got, decode(t, body, contentType, true), cmpopts.IgnoreFields(model.Error{}, "Cause")); diff != "" {
			t.Errorf("read byte by byte it is something else:\n%s", diff)
		}
		if got.Failure != nil {
			if got.Failure.Kind == "" || !utf8.ValidString(got.Failure.Message) || got.Failure.Received < len(got.Text)+len(got.Reasoning) {
				t.Errorf("a failure of kind %q with message %q after %d bytes", got.Failure.Kind, got.Failure.Message, got.Failure.Received)
			}
			return
		}
		checkWhole(t, got)
		if lower := bytes.ToLower(body); !bytes.Contains(lower, []byte("finish")) && !bytes.Contains(lower, []byte("block")) && !bytes.Contains(body, []byte(`\u`)) {
			t.Errorf("C41: an answer without an end mark: %+v", got.Response)
		}
	})
}

func checkWhole(t *testing.T, got decoded) {
	t.Helper()
	var text, thoughts string
	calls := 0
	items := []model.Item{user("hi")}
	for i, item := range got.Response.Items {
		if !utf8.ValidString(item.Text) || !utf8.ValidString(item.Arguments) || !utf8.ValidString(item.Name) || !utf8.ValidString(item.ProviderCallID) {
			t.Errorf("an item is not UTF-8: %+v", item)
		}
		if item.Kind == model.AssistantItem && item.Text == "" || item.Kind == model.ReasoningItem && item.Text == "" && item.Private == nil {
			t.Errorf("item %d has nothing in it", i)
		}
		switch item.Kind {
		case model.AssistantItem:
			text += item.Text
			items = append(items, assistant(item.Text, item.Private))
		case model.ReasoningItem:
			thoughts += item.Text
			items = append(items, reasoning(item.Text, item.Private))
		case model.ToolCallItem:
			calls++
		}
	}
	if text != got.Text || thoughts != got.Reasoning {
		t.Errorf("emitted %q and %q, answered %q and %q", got.Text, got.Reasoning, text, thoughts)
	}
	switch stop := got.Response.Stop; {
	case stop == model.StopEnd && calls > 0, stop == model.StopToolCalls && calls == 0, stop == "":
		t.Errorf("C42: stop reason %q with %d calls", stop, calls)
	}
	u := got.Response.Usage
	if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 || u.ReasoningTokens < 0 {
		t.Errorf("negative usage: %+v", u)
	}
	checkSentBack(t, append(items, user("and?")), text)
}

// checkSentBack checks that what came can be sent back, with the whole text in it.
func checkSentBack(t *testing.T, items []model.Item, text string) {
	t.Helper()
	var sent struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text    string
				Thought bool
			}
		}
	}
	if err := json.Unmarshal(encodeWith(t, Config{}, model.Request{Model: modeltest.Request().Model, Items: items}), &sent); err != nil {
		t.Fatal(err)
	}
	var got string
	for _, c := range sent.Contents {
		for _, p := range c.Parts {
			if c.Role == "model" && !p.Thought {
				got += p.Text
			}
		}
	}
	if got != text {
		t.Errorf("the text %q goes back as %q", text, got)
	}
}

// What a signed answer was split into is what goes back: parts with signatures as they came, others joined.
func TestASignedAnswerGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	_, body := recorded(t, "testdata/recordings/thoughts_and_signatures_in_every_place.http")
	got := decode(t, body, "text/event-stream", false)
	if got.Failure != nil {
		t.Fatal(got.Failure)
	}
	items := []model.Item{user("hi")}
	var results []model.Item
	for i, item := range got.Response.Items {
		out := model.Item{Kind: item.Kind, Text: item.Text, Private: item.Private}
		if item.Kind == model.ToolCallItem {
			out.CallID, out.Name, out.Arguments = item.ProviderCallID, item.Name, json.RawMessage(item.Arguments)
			results = append(results, result(out.CallID, "7 °C"))
		}
		if item.Private != nil && (item.Private.Provider != "Google" || item.Private.Model != modeltest.Request().Model) {
			t.Errorf("item %d: the private data is of %s %s", i, item.Private.Provider, item.Private.Model)
		}
		items = append(items, out)
	}
	request := encodeWith(t, Config{}, model.Request{Model: modeltest.Request().Model, Items: append(items, results...)})
	var sent struct {
		Contents []struct{ Parts []map[string]any }
	}
	if err := json.Unmarshal(request, &sent); err != nil {
		t.Fatal(err)
	}
	var want []map[string]any
	var came struct {
		Candidates []struct {
			Content struct{ Parts []map[string]any }
		}
	}
	for line := range bytes.Lines(body) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !ok {
			continue
		}
		if err := json.Unmarshal(data, &came); err != nil {
			t.Fatal(err)
		}
		for _, p := range came.Candidates[0].Content.Parts {
			if thought := p["thought"] == true; !thought || p["thoughtSignature"] != nil {
				want = append(want, p)
			}
		}
		came.Candidates = nil
	}
	if diff := cmp.Diff(want, sent.Contents[1].Parts); diff != "" {
		t.Errorf("parts (-came +sent):\n%s", diff)
	}
}
