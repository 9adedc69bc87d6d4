package google_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/google"
	"github.com/openworkerai/openworker/model/modeltest"
)

const okStream = `data: {"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}]}` + "\r\n\r\n"

func writeStream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, body)
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	budget := int32(1)
	for name, test := range map[string]struct {
		config google.Config
		want   string
	}{
		"an address without scheme": {google.Config{BaseURL: "localhost:8080"}, "BaseURL"},
		"another scheme":            {google.Config{BaseURL: "ftp://host"}, "BaseURL"},
		"a password in the address": {google.Config{BaseURL: "https://u:secret@host"}, "no user"},
		"a key in the query":        {google.Config{BaseURL: "https://host?key=secret"}, "query"},
		"a header that is ours":     {google.Config{Headers: map[string]string{"x-goog-api-key": "secret"}}, "x-goog-api-key"},
		"two ways of thinking":      {google.Config{Thinking: &genai.ThinkingConfig{ThinkingBudget: &budget, ThinkingLevel: genai.ThinkingLevelLow}}, "ThinkingLevel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := google.New(test.config)
			if !errors.Is(err, api.ErrInvalidRequest) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want invalid_request about %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the message repeats a secret: %v", err)
			}
		})
	}
}

func TestTheZeroConfigurationIsGooglesOwnAPI(t *testing.T) {
	t.Parallel()
	var asked string
	p := newProvider(t, google.Config{HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return nil, errors.New("no network in tests")
	})}})
	_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindUnreachable {
		t.Errorf("got %v", e)
	}
	if want := "https://generativelanguage.googleapis.com/v1beta/models/test-model:streamGenerateContent?alt=sse"; asked != want || p.Name() != "Google" {
		t.Errorf("%s asked %s, want %s", p.Name(), asked, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func TestFactsAreTheConfiguredOnesElseTheKnown(t *testing.T) {
	t.Parallel()
	p := newProvider(t, google.Config{Facts: map[string]model.Facts{"gemini-2.5-flash": {Window: 5}}})
	if got, ok := p.Facts("gemini-2.5-flash"); !ok || got.Window != 5 {
		t.Errorf("configured: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("models/gemini-2.5-pro"); !ok || got.Window != 1_048_576 {
		t.Errorf("by its whole name: got %+v, %v", got, ok)
	}
	got, ok := p.Facts("gemini-2.5-pro")
	if !ok || got.Window != 1_048_576 {
		t.Errorf("known: got %+v, %v", got, ok)
	}
	for mediaType, want := range map[string]bool{model.TypePNG: true, model.TypeWebP: true, model.TypePDF: true, model.TypeGIF: false} {
		if takes, known := got.Takes(mediaType); takes != want || !known {
			t.Errorf("AT8 %s: taken %v, known %v, want %v", mediaType, takes, known, want)
		}
	}
	if got, ok := p.Facts("no-such-model"); ok || got.Window != 0 || got.Formats != nil || got.MaxFilesBytes == 0 {
		t.Errorf("unknown: got %+v, %v", got, ok)
	}
	got, _ = p.Facts("no-such-model")
	for mediaType, want := range map[string]bool{model.TypePNG: false, model.TypeGIF: true} {
		if takes, known := got.Takes(mediaType); takes || known != want {
			t.Errorf("AT8 %s at an unknown model: taken %v, known %v", mediaType, takes, known)
		}
	}
}

// Whatever the SDK would take from the environment, the request goes where Config says, with the given credential.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	elsewhere := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("another server was asked: %s", r.URL) })
	key := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(key, []byte(`{"type":"service_account","token_uri":"`+elsewhere+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOOGLE_API_KEY": "env-key", "GEMINI_API_KEY": "env-key", "GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_GENAI_USE_ENTERPRISE": "true",
		"GOOGLE_CLOUD_PROJECT": "env-project", "GOOGLE_CLOUD_LOCATION": "env-location", "GOOGLE_CLOUD_REGION": "env-region",
		"GOOGLE_CLOUD_QUOTA_PROJECT": "env-project", "GOOGLE_GEMINI_BASE_URL": elsewhere, "GOOGLE_VERTEX_BASE_URL": elsewhere,
		"GOOGLE_APPLICATION_CREDENTIALS": key, "GOOGLE_GENAI_REPLAYS_DIRECTORY": t.TempDir(), "GCE_METADATA_HOST": strings.TrimPrefix(elsewhere, "http://"),
		"HTTP_PROXY": elsewhere, "HTTPS_PROXY": elsewhere, "ALL_PROXY": elsewhere,
	} {
		t.Setenv(name, value)
	}
	type asked struct{ URL, Key, Authorization, Project string }
	var got []asked
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, asked{r.URL.String(), r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Authorization"), r.Header.Get("X-Goog-User-Project")})
		writeStream(w, okStream)
	})
	p := newProvider(t, google.Config{BaseURL: url + "/gateway/"})
	for _, name := range []string{"gemini-2.5-flash", "tunedModels/a b", "models/x/../y?z"} {
		req := modeltest.Request()
		req.Model = name
		if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newProvider(t, google.Config{BaseURL: url, KeyOptional: true}).Stream(t.Context(), model.Request{Model: "m", Items: modeltest.Request().Items}, modeltest.Discard); err != nil {
		t.Fatal(err)
	}
	want := []asked{
		{URL: "/gateway/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", Key: modeltest.Credential},
		{URL: "/gateway/v1beta/tunedModels/a%20b:streamGenerateContent?alt=sse", Key: modeltest.Credential},
		{URL: "/gateway/v1beta/models/x%2F..%2Fy%3Fz:streamGenerateContent?alt=sse", Key: modeltest.Credential},
		{URL: "/v1beta/models/m:streamGenerateContent?alt=sse"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestACredentialIsOfItsCallAndGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys, elsewhere []string
	other := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = append(elsewhere, r.Header.Get("X-Goog-Api-Key"))
	})
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("X-Goog-Api-Key")+"|"+r.Header.Get("X-Title"))
		mu.Unlock()
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	p := newProvider(t, google.Config{BaseURL: url, Headers: map[string]string{"X-Title": "gateway-secret"}})
	for _, credential := range []string{"key-1", "key-2"} {
		req := modeltest.Request()
		req.Credential = credential
		_, err := p.Stream(t.Context(), req, modeltest.Discard)
		if e := modeltest.Failure(t, err); e.Kind != model.KindRefused || e.Status != http.StatusTemporaryRedirect {
			t.Errorf("got %v, want it refused", e)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"key-1|gateway-secret", "key-2|gateway-secret"}, keys); diff != "" || len(elsewhere) > 0 {
		t.Errorf("the other server was asked with %q; keys (-want +got):\n%s", elsewhere, diff)
	}
	if shown := fmt.Sprintf("%v %+v %s", p, p, p); strings.Contains(shown, "secret") {
		t.Errorf("printed it shows a header: %s", shown)
	}
}

// C41, C48: what a server sends beyond all bounds ends the attempt and not the process.
func TestC48AnAnswerBeyondItsBoundsEndsTheAttemptInLittleMemory(t *testing.T) {
	endless := func(unit string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			block := []byte(strings.Repeat(unit, max(1, (64<<10)/len(unit))))
			for sent := 0; sent < 1<<30; sent += len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}
	}
	part := func(part string) string {
		return `data: {"candidates":[{"content":{"parts":[` + part + `]}}]}` + "\n\n"
	}
	call := `{"functionCall":{"name":"x","args":{"a":"` + strings.Repeat("x", 80_000) + `"}}}`
	for name, test := range map[string]struct{ unit, message string }{
		"a line without an end":     {"x", "16 MiB"},
		"an event without an end":   {"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "16 MiB"},
		"text without an end":       {part(`{"text":"` + strings.Repeat("x", 8000) + `"}`), "16 MiB"},
		"thoughts without an end":   {part(`{"thought":true,"text":"` + strings.Repeat("x", 8000) + `"}`), "16 MiB"},
		"calls without an end":      {part(strings.Repeat(`{"functionCall":{"name":"x"}},`, 600) + `{}`), "512 tool calls"},
		"signatures without an end": {part(`{"text":"","thoughtSignature":"` + strings.Repeat("x", 8000) + `"}`), "16 MiB"},
		"signatures of nothing":     {part(strings.TrimSuffix(strings.Repeat(`{"thoughtSignature":"x"},`, 200), ",")), "16 MiB"},
		"items without an end":      {part(strings.TrimSuffix(strings.Repeat(`{"text":"x"},{"text":"x","thought":true},`, 200), ",")), "16 MiB"},
		"arguments without an end":  {part(call), "16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, google.Config{BaseURL: modeltest.Serve(t, endless(test.unit))})
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

// Tools whose schema or settings are no JSON are the host's fault and reach no server.
func TestARequestThatCannotBeEncodedIsNotSent(t *testing.T) {
	t.Parallel()
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was made") })
	req := modeltest.Request()
	req.Tools[0].InputSchema = []byte(`{"type":`)
	_, err := newProvider(t, google.Config{BaseURL: url}).Stream(t.Context(), req, modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindUnclassified || e.Retryable() || !strings.Contains(e.Message, "cannot be encoded") {
		t.Errorf("got %v", e)
	}
}

func TestAToolIsCalledByTheNameThatTheHostGaveIt(t *testing.T) {
	t.Parallel()
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		writeStream(w, `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"_3d_view"}},{"functionCall":{"name":"_y"}},{"functionCall":{"name":"__3d_view"}},{"functionCall":{"name":"_9"}}]},"finishReason":"STOP"}]}`+"\n\n")
	})
	req := modeltest.Request()
	req.Tools = []model.Tool{{Name: "_3d_view"}, {Name: "3d_view"}, {Name: "_y"}}
	resp, err := newProvider(t, google.Config{BaseURL: url}).Stream(t.Context(), req, modeltest.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range resp.Items {
		got = append(got, item.Name)
	}
	if diff := cmp.Diff([]string{"3d_view", "_y", "_3d_view", "_9"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
