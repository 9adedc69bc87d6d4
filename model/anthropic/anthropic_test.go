package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/modeltest"
)

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config anthropic.Config
		want   string
	}{
		"an address without scheme":     {anthropic.Config{BaseURL: "localhost:8080"}, "BaseURL"},
		"a password in the address":     {anthropic.Config{BaseURL: "https://u:secret@host"}, "no user"},
		"a header that is ours":         {anthropic.Config{Headers: map[string]string{"x-API-key": "secret"}}, "x-API-key"},
		"an unknown mode":               {anthropic.Config{Thinking: anthropic.Thinking{Mode: "hard"}}, "Thinking.Mode"},
		"a budget that is too small":    {anthropic.Config{Thinking: anthropic.Thinking{Mode: anthropic.ThinkingBudget, Budget: 1023}}, "at least 1024"},
		"a budget of adaptive":          {anthropic.Config{Thinking: anthropic.Thinking{Mode: anthropic.ThinkingAdaptive, Budget: 2000}}, "Thinking.Budget"},
		"an unknown display":            {anthropic.Config{Thinking: anthropic.Thinking{Mode: anthropic.ThinkingAdaptive, Display: "all"}}, "Thinking.Display"},
		"a display without thinking":    {anthropic.Config{Thinking: anthropic.Thinking{Display: "omitted"}}, "Thinking.Display"},
		"a budget without its mode":     {anthropic.Config{Thinking: anthropic.Thinking{Budget: 2000}}, "Thinking.Budget"},
		"a query in the base address":   {anthropic.Config{BaseURL: "https://host?key=secret"}, "query"},
		"another scheme than the web's": {anthropic.Config{BaseURL: "ftp://host"}, "BaseURL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := anthropic.New(test.config)
			if !errors.Is(err, api.ErrInvalidRequest) || !strings.Contains(err.Error(), test.want) {
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
	p := newProvider(t, anthropic.Config{Name: "Proxy", Facts: map[string]model.Facts{"claude-opus-5": {Window: 5}}})
	if got, ok := p.Facts("claude-opus-5"); !ok || got.Window != 5 {
		t.Errorf("configured: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("claude-opus-4-1-20250805"); !ok || got.MaxOutputTokens != 32_000 {
		t.Errorf("known: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("no-such-model"); ok || got.Window != 0 || got.Formats != nil || got.MaxFilesBytes == 0 {
		t.Errorf("unknown: got %+v, %v", got, ok)
	}
}

// seen is what a server saw of a request.
type seen struct {
	Path   string
	Header http.Header
}

// listen answers with the recording of a text and keeps what it saw.
func listen(t *testing.T) (url string, last func() seen) {
	t.Helper()
	data, err := os.ReadFile("testdata/recordings/text.http")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n\n")
	var mu sync.Mutex
	var kept seen
	url = modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		kept = seen{r.URL.Path, r.Header.Clone()}
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	})
	return url, func() seen {
		mu.Lock()
		defer mu.Unlock()
		return kept
	}
}

// environment is what the SDK reads where it is let, and what Go's own client reads.
var environment = []string{
	"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CONFIG_DIR",
	"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_WEBHOOK_SIGNING_KEY", "ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID",
	"ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE", "ANTHROPIC_SERVICE_ACCOUNT_ID", "ANTHROPIC_WORKSPACE_ID", "ANTHROPIC_SCOPE",
	"ANTHROPIC_OPEN_TELEMETRY", "ANTHROPIC_OPEN_TELEMETRY_PROPAGATION", "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "ANTHROPIC_LOG", "ANTHROPIC_DEBUG",
	"AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "GOOGLE_CLOUD_PROJECT", "CLAUDE_CODE_USE_BEDROCK",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
}

func TestTheEnvironmentChangesNothing(t *testing.T) {
	hostile := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for %s", r.Host, r.URL) })
	url, last := listen(t)
	ask := func() seen {
		p := newProvider(t, anthropic.Config{BaseURL: url + "/gate", Headers: map[string]string{"X-Team": "red"}})
		if _, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			t.Fatal(err)
		}
		return last()
	}
	for _, name := range environment {
		t.Setenv(name, "") // what was there comes back at the end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	want := ask()
	if want.Path != "/gate/v1/messages" || want.Header.Get("X-Api-Key") != modeltest.Credential || want.Header.Get("X-Team") != "red" || want.Header.Get("Authorization") != "" {
		t.Fatalf("got %+v", want)
	}
	profiles := t.TempDir()
	if err := os.MkdirAll(filepath.Join(profiles, "configs"), 0o700); err != nil {
		t.Fatal(err)
	}
	profile := `{"base_url":"` + hostile + `","authentication":{"type":"user_oauth","access_token":"evil"}}`
	for _, name := range []string{"configs/evil.json", "configs/default.json", "evil.json", "default.json"} {
		if err := os.WriteFile(filepath.Join(profiles, name), []byte(profile), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range environment {
		value := "evil"
		switch {
		case strings.Contains(strings.ToLower(name), "proxy"), name == "ANTHROPIC_BASE_URL":
			value = hostile
		case name == "ANTHROPIC_CONFIG_DIR":
			value = profiles
		case name == "ANTHROPIC_CUSTOM_HEADERS":
			value = "X-Api-Key: evil\nX-Evil: evil\nAuthorization: evil"
		case strings.HasSuffix(name, "FILE"):
			value = filepath.Join(profiles, "evil.json")
		}
		t.Setenv(name, value)
	}
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("the environment changed the request (-without +with):\n%s", diff)
	}
	if got := newProvider(t, anthropic.Config{}).NeedsCredential(); !got {
		t.Error("a credential in the environment counts as one")
	}
}

func TestHeadersAreTheConfiguredOnes(t *testing.T) {
	t.Parallel()
	url, last := listen(t)
	p := newProvider(t, anthropic.Config{BaseURL: url, KeyOptional: true, Headers: map[string]string{
		"Authorization": "Bearer gate", "Anthropic-Beta": "fast-2026", "anthropic-version": "2023-06-01",
	}})
	for _, test := range []struct{ model, credential, beta string }{
		{"claude-sonnet-4-6", "", "fast-2026"},
		{"claude-sonnet-5-5", "sk-1", "fast-2026,thinking-binding-controls-2026-08-01"},
	} {
		req := modeltest.Request()
		req.Model, req.Credential = test.model, test.credential
		if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
			t.Fatal(err)
		}
		header := last().Header
		got := []string{header.Get("X-Api-Key"), header.Get("Anthropic-Beta"), header.Get("Authorization"), header.Get("Anthropic-Version")}
		if diff := cmp.Diff([]string{test.credential, test.beta, "Bearer gate", "2023-06-01"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.model, diff)
		}
	}
	if p.NeedsCredential() {
		t.Error("a credential is needed although it is optional")
	}
}

func TestACredentialGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	other := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was asked with %q", r.Header.Get("X-Api-Key"))
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
		followers := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		for _, client := range []*http.Client{nil, followers} {
			_, err := newProvider(t, anthropic.Config{BaseURL: url, HTTPClient: client}).Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			if e := modeltest.Failure(t, err); e.Kind != model.KindRefused || e.Status != status {
				t.Errorf("%d: got %v, want it refused", status, e)
			}
		}
	}
}

// C48: what a server sends beyond all bounds ends the attempt and not the process.
func TestC48AnAnswerBeyondItsBoundsEndsTheAttemptInLittleMemory(t *testing.T) {
	endless := func(head, unit string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, head)
			block := []byte(strings.Repeat(unit, max(1, (64<<10)/len(unit))))
			for sent := 0; sent < 1<<30; sent += len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}
	}
	start := func(block string) string {
		return "data: " + `{"type":"content_block_start","index":0,"content_block":` + block + "}\n\n"
	}
	delta := func(delta string) string {
		return "data: " + `{"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n"
	}
	long := strings.Repeat("x", 60_000)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		message string
	}{
		"a line without an end":      {endless("data: ", "x"), "16 MiB"},
		"an event without an end":    {endless("", "data: "+strings.Repeat("x", 70)+"\n"), "16 MiB"},
		"text without an end":        {endless(start(`{"type":"text","text":""}`), delta(`{"type":"text_delta","text":"`+long+`"}`)), "16 MiB"},
		"reasoning without an end":   {endless(start(`{"type":"thinking","thinking":""}`), delta(`{"type":"thinking_delta","thinking":"`+long+`"}`)), "16 MiB"},
		"a signature without an end": {endless(start(`{"type":"thinking","thinking":""}`), delta(`{"type":"signature_delta","signature":"`+long+`"}`)), "16 MiB"},
		"arguments without an end":   {endless(start(`{"type":"tool_use","id":"a","name":"f"}`), delta(`{"type":"input_json_delta","partial_json":"`+long+`"}`)), "16 MiB"},
		"redacted blocks for ever":   {endless("", start(`{"type":"redacted_thinking","data":"`+long+`"}`)), "16 MiB"},
		"calls for ever":             {endless("", start(`{"type":"tool_use","id":"a","name":"f"}`)), "512 tool calls"},
		"blocks for ever":            {endless("", start(`{"type":"text","text":""}`)), "4096 blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, anthropic.Config{BaseURL: modeltest.Serve(t, test.handler)})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if e := modeltest.Failure(t, err); !strings.Contains(e.Message, test.message) || e.Kind != model.KindMalformed {
				t.Errorf("got %v, want a message with %q", e, test.message)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

func TestWhatWasCountedBeforeAFailureIsTold(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/recordings/c48_an_error_after_the_text_of_a_200_stream.http")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n\n")
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	})
	_, err = newProvider(t, anthropic.Config{BaseURL: url}).Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	e := modeltest.Failure(t, err)
	// The one token that message_start counts is not what was received.
	if diff := cmp.Diff(api.Usage{InputTokens: 120, CachedInputTokens: 100}, e.Usage); diff != "" || e.Received != len(halfText) {
		t.Errorf("%d bytes received, usage (-want +got):\n%s", e.Received, diff)
	}
}

// The SDK has a time-out of its own for answers that are not streamed; a stream may take as long as it sends.
func TestASlowConsumerIsNoSilentServer(t *testing.T) {
	t.Parallel()
	url, _ := listen(t)
	const idle = 200 * time.Millisecond
	slow := true
	_, err := newProvider(t, anthropic.Config{BaseURL: url, StreamIdle: idle}).Stream(t.Context(), modeltest.Request(), func(model.Delta) {
		if slow { // one pause longer than the idle time
			slow = false
			<-time.NewTimer(2 * idle).C
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
