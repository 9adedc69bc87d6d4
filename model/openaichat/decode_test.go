package openaichat

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// decoded is all that an attempt makes of a body.
type decoded struct {
	Response        model.Response
	Failure         *model.Error
	Text, Reasoning string // as emitted
}

// decode runs a body through an attempt without a network. piecewise reads it byte by byte.
func decode(t testing.TB, body []byte, contentType string, piecewise bool) decoded {
	t.Helper()
	p, err := New(Config{BaseURL: "http://localhost/v1"})
	if err != nil {
		t.Fatal(err)
	}
	var text, reasoning strings.Builder
	watch, failure := wire.NewWatch(t.Context(), wire.WatchConfig{KeyOptional: true, Idle: time.Hour})
	if failure != nil {
		t.Fatal(failure)
	}
	defer watch.Stop()
	a := &attempt{provider: p, watch: watch, req: model.Request{Model: "m"}, emit: func(d model.Delta) {
		if d.Text == "" {
			t.Error("an empty delta was emitted")
		}
		if d.Reasoning {
			reasoning.WriteString(d.Text)
		} else {
			text.WriteString(d.Text)
		}
	}}
	reader := bufio.NewReaderSize(bytes.NewReader(body), 64)
	if piecewise {
		reader = bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(body)), 64)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}}
	var out decoded
	if isStream(resp, reader) {
		err = a.readStream(reader)
	} else {
		err = a.readWhole(resp, reader)
	}
	if err != nil {
		out.Failure = watch.Error(err)
	} else {
		out.Response = a.answer.response("OpenAI", "m", len(body))
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
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		head, body, _ := bytes.Cut(data, []byte("\n\n"))
		f.Add(body, bytes.Contains(head, []byte("event-stream")))
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
			if got.Failure.Kind == "" || !utf8.ValidString(got.Failure.Message) {
				t.Errorf("a failure of kind %q with message %q", got.Failure.Kind, got.Failure.Message)
			}
			return
		}
		checkWhole(t, got)
		if !bytes.Contains(body, []byte("[DONE]")) && !bytes.Contains(body, []byte("finish_reason")) && stream {
			t.Errorf("C41: an answer without an end mark: %+v", got.Response)
		}
	})
}

func checkWhole(t *testing.T, got decoded) {
	t.Helper()
	var text, reasoning string
	calls := 0
	for _, item := range got.Response.Items {
		if !utf8.ValidString(item.Text) || !utf8.ValidString(item.Arguments) || !utf8.ValidString(item.Name) || !utf8.ValidString(item.ProviderCallID) {
			t.Errorf("an item is not UTF-8: %+v", item)
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
	if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedInputTokens < 0 || u.ReasoningTokens < 0 {
		t.Errorf("negative usage: %+v", u)
	}
}

// C40: whatever word a server has for it, an answer that was cut off or stopped is none whose calls run.
func TestC40ACallIsNotWholeWhereTheReasonSaysSo(t *testing.T) {
	t.Parallel()
	const call = `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n"
	for reason, want := range map[string]model.StopReason{
		"length": model.StopOutputLimit, "LENGTH": model.StopOutputLimit, "MAX_TOKENS": model.StopOutputLimit, "max_output_tokens": model.StopOutputLimit,
		"model_length": model.StopOutputLimit, "model_context_window_exceeded": model.StopOutputLimit,
		"content_filter": model.StopFiltered, "SAFETY": model.StopFiltered, "sensitive": model.StopFiltered,
		"insufficient_system_resource": "", "network_error": "", "abort": "", "cancelled": "", "timeout": "",
		"stop": model.StopToolCalls, "tool_calls": model.StopToolCalls, "eos": model.StopToolCalls,
	} {
		finish := `data: {"choices":[{"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
		got := decode(t, []byte(call+finish+"data: [DONE]\n\n"), "text/event-stream", false)
		switch failed := got.Failure != nil; {
		case failed != (want == ""), failed && !got.Failure.Retryable(), got.Response.Stop != want:
			t.Errorf("%s: got %q, %v, want %q", reason, got.Response.Stop, got.Failure, want)
		}
	}
	cut := call + `data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\n" + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	if got := decode(t, []byte(cut+"data: [DONE]\n\n"), "text/event-stream", false); got.Response.Stop != model.StopOutputLimit {
		t.Errorf("a reason that is taken back: got %q", got.Response.Stop)
	}
}

func TestCountsAreWhatTheyMean(t *testing.T) {
	t.Parallel()
	const size = 400 // bytes of the request
	for usage, want := range map[string]api.Usage{
		`{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`:   {InputTokens: 32, OutputTokens: 103, ReasoningTokens: 94},     // xAI
		`{"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}`: {InputTokens: 32, OutputTokens: 103, ReasoningTokens: 94},     // OpenAI
		`{"prompt_tokens":3,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":1000}}`:                            {InputTokens: 1000, CachedInputTokens: 1000, OutputTokens: 9}, // beside the prompt
		`{"prompt_tokens":0,"completion_tokens":0}`:                                                                           {InputTokens: size / 4, OutputTokens: 1, Estimated: true},
		`{"prompt_tokens":7}`: {InputTokens: 7, OutputTokens: 1, Estimated: true},
		`{}`:                  {InputTokens: size / 4, OutputTokens: 1, Estimated: true},
	} {
		var a answer
		for _, chunk := range []string{`{"choices":[{"delta":{"content":"hi"}}],"usage":` + usage + `}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`} {
			if fault, err := a.take([]byte(chunk), func(model.Delta) {}); fault != nil || err != nil {
				t.Fatal(fault, err)
			}
		}
		if got := a.response("P", "m", size).Usage; got != want {
			t.Errorf("%s: got %+v, want %+v", usage, got, want)
		}
	}
}
