package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/openai"
)

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config openai.Config
		want   string
	}{
		"an address without scheme": {openai.Config{BaseURL: "localhost:8080/v1"}, "BaseURL"},
		"another scheme":            {openai.Config{BaseURL: "ftp://host/v1"}, "BaseURL"},
		"a password in the address": {openai.Config{BaseURL: "https://u:secret@host/v1"}, "no user"},
		"a key in the query":        {openai.Config{BaseURL: "https://host/v1?key=secret"}, "query"},
		"a header that is ours":     {openai.Config{Headers: map[string]string{"authorization": "secret"}}, "Authorization"},
		"an unknown effort":         {openai.Config{Effort: "huge"}, "Effort"},
		"an unknown summary":        {openai.Config{Summary: "long"}, "Summary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.New(test.config)
			if !errors.Is(err, api.ErrInvalidRequest) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(test.want)) {
				t.Errorf("got %v, want invalid_request about %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the message repeats a secret: %v", err)
			}
		})
	}
}

func TestFactsAreTheConfiguredOnesElseTheKnown(t *testing.T) {
	t.Parallel()
	p := newProvider(t, openai.Config{Facts: map[string]model.Facts{"gpt-4o": {Window: 5}}})
	if got, ok := p.Facts("gpt-4o"); !ok || got.Window != 5 {
		t.Errorf("configured: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("o3-mini"); !ok || got.Window != 200_000 {
		t.Errorf("known: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("no-such-model"); ok || got.Window != 0 || got.Formats != nil || got.MaxFilesBytes == 0 {
		t.Errorf("unknown: got %+v, %v", got, ok)
	}
	if !p.NeedsCredential() || p.Name() != "OpenAI" || strings.Contains(fmt.Sprint(p), "{") {
		t.Errorf("got %v, needs a credential: %v", p, p.NeedsCredential())
	}
}

// TestNothingIsReadFromTheEnvironment sets every variable that the SDK knows, and those of proxies, to what would lead
// a tenant's traffic elsewhere.
func TestNothingIsReadFromTheEnvironment(t *testing.T) {
	elsewhere := modeltest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request went where the environment says") })
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": elsewhere, "OPENAI_API_KEY": "sk-hostile", "OPENAI_ADMIN_KEY": "sk-hostile", "OPENAI_ORG_ID": "org-hostile",
		"OPENAI_PROJECT_ID": "proj-hostile", "OPENAI_WEBHOOK_SECRET": "whsec-hostile", "OPENAI_LOG": "debug",
		"OPENAI_CUSTOM_HEADERS": "X-Hostile: hostile\nAuthorization: Bearer sk-hostile", "AWS_BEARER_TOKEN_BEDROCK": "sk-hostile",
		"AZURE_OPENAI_ENDPOINT": elsewhere, "AZURE_OPENAI_API_KEY": "sk-hostile",
		"HTTP_PROXY": elsewhere, "HTTPS_PROXY": elsewhere, "ALL_PROXY": elsewhere, "http_proxy": elsewhere,
	} {
		t.Setenv(name, value)
	}
	var got []string
	stream := recorded(t, "text")
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		var head strings.Builder
		if err := r.Header.Write(&head); err != nil {
			t.Error(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(head.String()+string(body), "hostile") {
			t.Errorf("got %s%s (%v)", head.String(), body, err)
		}
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Accept")+" "+r.Header.Get("X-Title"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream)
	})
	req := modeltest.Request()
	for _, config := range []openai.Config{{BaseURL: url + "/v1"}, {BaseURL: url + "/v1/", KeyOptional: true, Headers: map[string]string{"X-Title": "test"}}} {
		p := newProvider(t, config)
		for _, credential := range []string{"sk-1", ""} {
			req.Credential = credential
			if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil && (credential != "" || config.KeyOptional) {
				t.Error(err)
			}
		}
	}
	want := []string{
		"POST /v1/responses Bearer sk-1 text/event-stream ", "POST /v1/responses Bearer sk-1 text/event-stream test",
		"POST /v1/responses  text/event-stream test",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestACredentialGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	other := modeltest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
		followers := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		for _, client := range []*http.Client{nil, followers} {
			_, err := newProvider(t, openai.Config{BaseURL: url, HTTPClient: client}).Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			if e := modeltest.Failure(t, err); e.Kind != model.KindRefused || e.Status != status {
				t.Errorf("%d: got %v, want it refused", status, e)
			}
		}
	}
}

func TestASchemaThatIsNoObjectIsRefusedUnsent(t *testing.T) {
	t.Parallel()
	url := modeltest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	req := modeltest.Request()
	req.Tools[1].InputSchema = []byte(`true`)
	_, err := newProvider(t, openai.Config{BaseURL: url}).Stream(t.Context(), req, modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindRefused || !strings.Contains(e.Message, "get_time") {
		t.Errorf("got %v, want it refused with the tool's name", e)
	}
}

// What a server sends beyond all bounds ends the attempt and not the process.
func TestC48AnAnswerBeyondItsBoundsEndsTheAttemptInLittleMemory(t *testing.T) {
	data := func(json string) string { return "data: " + json + "\n\n" }
	long := strings.Repeat("x", 8000)
	for name, test := range map[string]struct{ head, unit, message string }{
		"a line without an end":    {"data: ", "x", "16 MiB"},
		"an event without an end":  {"", "data: " + long + "\n", "16 MiB"},
		"text without an end":      {"", data(`{"type":"response.output_text.delta","delta":"` + long + `"}`), "16 MiB"},
		"reasoning without an end": {"", data(`{"type":"response.reasoning_summary_text.delta","delta":"` + long + `"}`), "16 MiB"},
		"arguments without an end": {"", data(`{"type":"response.function_call_arguments.delta","delta":"` + long + `"}`), "16 MiB"},
		"calls without an end":     {"", data(`{"type":"response.output_item.added","item":{"type":"function_call"}}`), "512 tool calls"},
		"items without an end":     {"", data(`{"type":"response.output_item.added","item":{"type":"web_search_call"}}`), "2048 items"},
		"whole items without end":  {"", data(`{"type":"response.output_item.added","item":{"type":"message"}}`) + data(`{"type":"response.output_item.done","item":{"type":"message","content":[{"text":"`+long+long+`"}]}}`), "16 MiB"},
		"sealed reasoning":         {"", data(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`) + data(`{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"`+strings.Repeat(long, 10)+`"}}`), "64 MiB"},
		"items in the last event":  {data(`{"type":"response.completed","response":{"output":[` + strings.Repeat(`{"type":"web_search_call"},`, 2049) + `{}]}}`), ": \n", "2048 items"},
		"calls in the last event":  {data(`{"type":"response.completed","response":{"output":[` + strings.Repeat(`{"type":"function_call"},`, 513) + `{}]}}`), ": \n", "512 tool calls"},
		"the name of a call":       {data(`{"type":"response.output_item.added","item":{"type":"function_call","name":"` + strings.Repeat("x", 9<<20) + `"}}`), data(`{"type":"response.function_call_arguments.delta","delta":"` + long + `"}`), "16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, test.head)
				block := []byte(strings.Repeat(test.unit, max(1, (64<<10)/len(test.unit))))
				for sent := 0; sent < 1<<30; sent += len(block) {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			})
			p := newProvider(t, openai.Config{BaseURL: url})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if e := modeltest.Failure(t, err); !strings.Contains(e.Message, test.message) || !e.Retryable() {
				t.Errorf("got %v, want a message with %q", e, test.message)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}
