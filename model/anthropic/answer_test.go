package anthropic

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
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

// decoded is all that an attempt makes of a stream.
type decoded struct {
	Response        model.Response
	Failure         *model.Error
	Text, Reasoning string // as emitted
}

// canned answers every request with one body, without a network.
type canned struct{ body io.Reader }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(c.body), Request: r,
	}, nil
}

// decode runs a stream through an attempt.
func decode(t testing.TB, body io.Reader) decoded {
	t.Helper()
	p, err := New(Config{HTTPClient: &http.Client{Transport: canned{body}}})
	if err != nil {
		t.Fatal(err)
	}
	var out decoded
	var text, reasoning strings.Builder
	resp, err := p.Stream(t.Context(), modeltest.Request(), func(d model.Delta) {
		if d.Text == "" {
			t.Error("an empty delta was emitted")
		}
		if d.Reasoning {
			reasoning.WriteString(d.Text)
		} else {
			text.WriteString(d.Text)
		}
	})
	if err != nil {
		out.Failure = err.(*model.Error)
	}
	out.Response, out.Text, out.Reasoning = resp, text.String(), reasoning.String()
	return out
}

// recorded is the body of a recording of the suite.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/recordings", name+".http"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := bytes.Cut(data, []byte("\n\n"))
	return body
}

const signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"

func TestC08WhatIsPrivateIsKeptBesideItsItemAndGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"reasoning_before_text":                     {thinkingBlock("The user wants the weather.", signature)},
		"redacted_reasoning":                        {`{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}`},
		"reasoning_whose_text_is_omitted":           {thinkingBlock("", signature)},
		"reasoning_between_text_and_a_call":         {thinkingBlock("The user wants ", signature), thinkingBlock("the weather.", signature+"x")},
		"c40_reasoning_cut_off_by_the_output_limit": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decode(t, bytes.NewReader(recorded(t, name)))
			if got.Failure != nil {
				t.Fatal(got.Failure)
			}
			items := []model.Item{said("go")}
			for _, item := range got.Response.Items {
				next := model.Item{Kind: item.Kind, Text: item.Text, Private: item.Private}
				if item.Kind == model.ToolCallItem {
					next.CallID, next.Name, next.Arguments = item.ProviderCallID, item.Name, json.RawMessage(item.Arguments)
				}
				items = append(items, next)
			}
			if last := items[len(items)-1]; last.Kind == model.ToolCallItem {
				items = append(items, returned(last.CallID, "x"))
			}
			body := encodeWith(t, Config{}, model.Request{Model: modeltest.Request().Model, Items: append(items, said("on"))})
			var sent struct {
				Messages []struct {
					Content []map[string]any
				}
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			var back, expected []any
			for _, message := range sent.Messages {
				for _, block := range message.Content {
					if strings.HasSuffix(block["type"].(string), "thinking") {
						back = append(back, map[string]any(block))
					}
				}
			}
			for _, block := range want {
				expected = append(expected, value(t, []byte(block)))
			}
			if diff := cmp.Diff(expected, back); diff != "" {
				t.Errorf("reasoning sent back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheItemsOfAnAnswerKeepTheOrderOfItsBlocks(t *testing.T) {
	t.Parallel()
	got := decode(t, bytes.NewReader(recorded(t, "reasoning_between_text_and_a_call")))
	var kinds []model.ItemKind
	for _, item := range got.Response.Items {
		kinds = append(kinds, item.Kind)
	}
	want := []model.ItemKind{model.ReasoningItem, model.AssistantItem, model.ReasoningItem, model.ToolCallItem}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzAnyStreamIsAnAnswerOrAFailure(f *testing.F) {
	files, err := filepath.Glob("testdata/recordings/*.http")
	if err != nil || len(files) == 0 {
		f.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		f.Add(recorded(f, strings.TrimSuffix(filepath.Base(file), ".http")))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := decode(t, bytes.NewReader(body))
		again := decode(t, iotest.OneByteReader(bytes.NewReader(body)))
		if diff := cmp.Diff(got, again, cmpopts.IgnoreFields(model.Error{}, "Cause")); diff != "" {
			t.Errorf("read byte by byte it is something else:\n%s", diff)
		}
		if got.Failure != nil {
			if got.Failure.Kind == "" || !utf8.ValidString(got.Failure.Message) || got.Failure.Received < len(got.Text)+len(got.Reasoning) {
				t.Errorf("a failure of kind %q with message %q after %d bytes", got.Failure.Kind, got.Failure.Message, got.Failure.Received)
			}
			return
		}
		checkWhole(t, got)
		if !bytes.Contains(body, []byte("message_stop")) && !bytes.Contains(body, []byte(`\u`)) {
			t.Errorf("C41: an answer without an end mark: %+v", got.Response)
		}
	})
}

// checkWhole checks what holds of every answer.
func checkWhole(t *testing.T, got decoded) {
	t.Helper()
	var text, reasoning string
	calls := 0
	for _, item := range got.Response.Items {
		if !utf8.ValidString(item.Text) || !utf8.ValidString(item.Arguments) || !utf8.ValidString(item.Name) || !utf8.ValidString(item.ProviderCallID) {
			t.Errorf("an item is not UTF-8: %+v", item)
		}
		if item.Private != nil && !json.Valid(item.Private.Data) {
			t.Errorf("private data is no JSON: %s", item.Private.Data)
		}
		switch item.Kind {
		case model.AssistantItem:
			text += item.Text
		case model.ReasoningItem:
			reasoning += item.Text
		case model.ToolCallItem:
			calls++
		}
	}
	if text != got.Text || reasoning != got.Reasoning {
		t.Errorf("emitted %q and %q, answered %q and %q", got.Text, got.Reasoning, text, reasoning)
	}
	switch stop := got.Response.Stop; {
	case stop == model.StopEnd && calls > 0, stop == model.StopToolCalls && calls == 0, stop == "":
		t.Errorf("C42: stop reason %q with %d calls", stop, calls)
	}
	u := got.Response.Usage
	if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 || u.CachedInputTokens > u.InputTokens || u.ReasoningTokens < 0 {
		t.Errorf("impossible counts: %+v", u)
	}
}

// A block that begins again under its index and ID is the same call, or it would run twice.
func TestACallThatBeginsTwiceIsOne(t *testing.T) {
	t.Parallel()
	const (
		begin  = `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_time","input":{}}}` + "\n\n"
		piece  = `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Brno\"}"}}` + "\n\n"
		finish = `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	)
	for _, stream := range []string{begin + begin + piece + finish, begin + piece + begin + finish} {
		got := decode(t, strings.NewReader(stream))
		want := []model.ResponseItem{{Kind: model.ToolCallItem, ProviderCallID: "toolu_1", Name: "get_time", Arguments: `{"city":"Brno"}`}}
		if diff := cmp.Diff(want, got.Response.Items); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
