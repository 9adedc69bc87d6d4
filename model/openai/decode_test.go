package openai_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/openai"
)

// wired is a server without a network that answers each request with a stream of these bytes.
type wired []byte

func (w wired) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(w)),
	}, nil
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "recordings", modeltest.Case{Name: name}.File()))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := bytes.Cut(data, []byte("\n\n"))
	return body
}

// TestWhatGoesWithAnItemIsKeptBesideIt shows what is kept of items for the same model (C08).
func TestWhatGoesWithAnItemIsKeptBesideIt(t *testing.T) {
	t.Parallel()
	const sealed = `"encrypted_content":"gAAAAABoZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9vZm9v=="`
	rs := func(last, summary string) string {
		return `{` + sealed + `,"id":"rs_0a1b2c3d4e5f60718293a4b5c6d7e8` + last + `","summary":[` + summary + `],"type":"reasoning"}`
	}
	for name, want := range map[string][]string{
		"sealed reasoning without a summary":                 {rs("00", ""), `{"phase":"commentary"}`, rs("02", ""), ""},
		"reasoning before text":                              {rs("00", `{"type":"summary_text","text":"The user wants the weather."}`), ""},
		"an answer of reasoning alone":                       {""},
		"reasoning that led to an item of another kind":      {"", ""},
		"everything in the last event only":                  {rs("00", `{"type":"summary_text","text":"The user wants the weather."}`), "", ""},
		"open reasoning":                                     {`{"content":[{"type":"reasoning_text","text":"The user wants the weather."}],"id":"rs_open","summary":[],"type":"reasoning"}`, ""},
		"reasoning of several summaries before calls":        {rs("00", `{"type":"summary_text","text":"**Looking up**"},{"type":"summary_text","text":"The user wants both."}`), "", ""},
		"C40 a tool call cut off by the output limit":        {"", ""},
		"text whose characters are split over writes":        {""},
		"C40 a completed answer with an incomplete call":     {""},
		"the rest of a text comes with its end":              {""},
		"an ID that changes with each event":                 {"", "", ""},
		"C05 call IDs that repeat within an answer":          {"", ""},
		"unknown events and items":                           {""},
		"completed by its name and incomplete by its status": {""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: wired(recorded(t, name))}})
			resp, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range resp.Items {
				if item.Private == nil {
					got = append(got, "")
				} else {
					got = append(got, string(item.Private.Data))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("private data (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzAStream feeds any bytes as a stream: what is answered is what was emitted, and an error is one of ours.
func FuzzAStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "recordings", "*.http"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if _, body, found := bytes.Cut(data, []byte("\n\n")); found {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		p, err := openai.New(openai.Config{HTTPClient: &http.Client{Transport: wired(stream)}})
		if err != nil {
			t.Fatal(err)
		}
		var emitted [2]strings.Builder
		resp, err := p.Stream(t.Context(), modeltest.Request(), func(d model.Delta) {
			if d.Text == "" {
				t.Error("an empty delta was emitted")
			}
			emitted[which(d.Reasoning)].WriteString(d.Text)
		})
		if err != nil {
			if e := modeltest.Failure(t, err); e.Message == "" || len(e.Message) > 1000 || e.Received < emitted[0].Len()+emitted[1].Len() {
				t.Errorf("got %+v after %d bytes", e, emitted[0].Len()+emitted[1].Len())
			}
			return
		}
		var answered [2]strings.Builder
		calls := 0
		for i, item := range resp.Items {
			switch item.Kind {
			case model.AssistantItem, model.ReasoningItem:
				answered[which(item.Kind == model.ReasoningItem)].WriteString(item.Text)
				if item.Text == "" && item.Private == nil {
					t.Errorf("item %d is empty", i)
				}
			case model.ToolCallItem:
				calls++
			default:
				t.Errorf("item %d is of kind %q", i, item.Kind)
			}
		}
		for i := range emitted {
			if emitted[i].String() != answered[i].String() {
				t.Errorf("emitted %q, answered %q", emitted[i].String(), answered[i].String())
			}
		}
		if calls > 0 && resp.Stop == model.StopEnd || calls == 0 && resp.Stop == model.StopToolCalls {
			t.Errorf("%d calls and stop %s", calls, resp.Stop)
		}
	})
}

func which(reasoning bool) int {
	if reasoning {
		return 1
	}
	return 0
}

// answerTo runs the events of a stream through an attempt.
func answerTo(t *testing.T, events ...string) (model.Response, *model.Error) {
	t.Helper()
	stream := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: wired(stream)}})
	resp, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	var failure *model.Error
	if err != nil && !errors.As(err, &failure) {
		t.Fatal(err)
	}
	return resp, failure
}

// An item that begins or ends again under its IDs is the same item, or its call would run twice.
func TestACallThatComesTwiceIsOne(t *testing.T) {
	t.Parallel()
	const (
		begin = `{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"get_time","arguments":""}}`
		end   = `{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"get_time","arguments":"{}"}}`
		whole = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
	)
	want := []model.ResponseItem{{Kind: model.ToolCallItem, ProviderCallID: "call_1", Name: "get_time", Arguments: "{}"}}
	for name, events := range map[string][]string{
		"the beginning":            {begin, begin, end, whole},
		"both":                     {begin, begin, end, end, whole},
		"the beginning at the end": {begin, end, begin, whole},
		"all of it":                {begin, end, begin, end, whole},
	} {
		resp, failure := answerTo(t, events...)
		if failure != nil {
			t.Errorf("%s: %v", name, failure)
		}
		if diff := cmp.Diff(want, resp.Items); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// C48: what a failed response says is understood in whatever form a gateway puts it.
func TestC48AFailedResponseIsUnderstoodInAnyForm(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]model.ErrorKind{
		`{"code":429,"message":"slow down"}`:                            model.KindRateLimited,
		`{"code":"503","message":"no"}`:                                 model.KindOverloaded,
		`"the server had an error"`:                                     model.KindOverloaded,
		`{"code":null,"type":"insufficient_quota","message":"no more"}`: model.KindQuota,
	} {
		if _, failure := answerTo(t, `{"type":"response.failed","response":{"status":"failed","error":`+fault+`}}`); failure == nil || failure.Kind != want {
			t.Errorf("%s: got %v, want %s", fault, failure, want)
		}
	}
}

// An answer is not lost for the form of its counts, and one without any is estimated.
func TestCountsOfAnyForm(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]api.Usage{
		`{"input_tokens":5.0,"output_tokens":"6"}`: {InputTokens: 5, OutputTokens: 6},
		`{"input_tokens":5}`:                       {InputTokens: 5, OutputTokens: 1, Estimated: true},
		`{"input_tokens":-5,"output_tokens":6}`:    {InputTokens: -1, OutputTokens: 6, Estimated: true},
		`{}`:                                       {InputTokens: -1, OutputTokens: 1, Estimated: true},
	} {
		resp, failure := answerTo(t, `{"type":"response.output_text.delta","delta":"hi","item_id":"m","output_index":0}`,
			`{"type":"response.completed","response":{"status":"completed","usage":`+usage+`}}`)
		if failure != nil {
			t.Fatal(failure)
		}
		if want.InputTokens < 0 { // estimated of the request
			want.InputTokens = resp.Usage.InputTokens
		}
		if resp.Usage != want || resp.Usage.InputTokens == 0 {
			t.Errorf("%s: got %+v, want %+v", usage, resp.Usage, want)
		}
	}
}
