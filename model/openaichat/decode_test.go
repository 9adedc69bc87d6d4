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
