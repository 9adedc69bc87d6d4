package openaichat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openaichat"
)

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config openaichat.Config
		want   string
	}{
		"no address":                {openaichat.Config{}, "BaseURL"},
		"an address without scheme": {openaichat.Config{BaseURL: "localhost:8080/v1"}, "BaseURL"},
		"another scheme":            {openaichat.Config{BaseURL: "ftp://host/v1"}, "BaseURL"},
		"a password in the address": {openaichat.Config{BaseURL: "https://u:secret@host/v1"}, "no user"},
		"a key in the query":        {openaichat.Config{BaseURL: "https://host/v1?key=secret"}, "query"},
		"a header that is ours":     {openaichat.Config{BaseURL: "https://host/v1", Headers: map[string]string{"authorization": "x"}}, "authorization"},
		"a field that is ours":      {openaichat.Config{BaseURL: "https://host/v1", ExtraBody: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}}, "messages"},
		"the output limit's field":  {openaichat.Config{BaseURL: "https://host/v1", ExtraBody: map[string]json.RawMessage{"max_tokens": json.RawMessage(`5`)}}, "max_tokens"},
		"a field that is not JSON":  {openaichat.Config{BaseURL: "https://host/v1", ExtraBody: map[string]json.RawMessage{"seed": json.RawMessage(`{`)}}, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openaichat.New(test.config)
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
	p := newProvider(t, openaichat.Config{BaseURL: "http://localhost/v1", Facts: map[string]model.Facts{"gpt-4o": {Window: 5}}})
	if got, ok := p.Facts("gpt-4o"); !ok || got.Window != 5 {
		t.Errorf("configured: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("o3-mini"); !ok || got.Window != 200_000 {
		t.Errorf("known: got %+v, %v", got, ok)
	}
	if got, ok := p.Facts("no-such-model"); ok || got.Window != 0 || got.Formats != nil || got.MaxFilesBytes == 0 {
		t.Errorf("unknown: got %+v, %v", got, ok)
	}
}

// C41, C48: what a server sends beyond all bounds ends the attempt and not the process.
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
	calls := `data: {"choices":[{"delta":{"tool_calls":[` + strings.Repeat(`{"function":{"name":"x","arguments":"{}"}},`, 600) + `{}]}}]}` + "\n\n"
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		message string
	}{
		"a line without an end":        {endless("data: ", "x"), "16 MiB"},
		"a comment without an end":     {endless(":", "x"), "16 MiB"},
		"an event without an end":      {endless("", "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"), "16 MiB"},
		"text without an end":          {endless("", `data: {"choices":[{"delta":{"content":"`+strings.Repeat("x", 8000)+`"}}]}`+"\n\n"), "16 MiB"},
		"arguments without an end":     {endless("", `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"`+strings.Repeat("x", 8000)+`"}}]}}]}`+"\n\n"), "16 MiB"},
		"calls without an end":         {endless(calls, ": \n"), "512 tool calls"},
		"a JSON answer without end":    {func(w http.ResponseWriter, r *http.Request) { endless(`{"choices":"`, "x")(jsonWriter{w}, r) }, "16 MiB"},
		"a header that is far too big": {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Big", strings.Repeat("x", 1<<20)) }, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, openaichat.Config{BaseURL: modeltest.Serve(t, test.handler)})
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

// jsonWriter says that what it writes is JSON, whatever its handler says.
type jsonWriter struct{ http.ResponseWriter }

func (w jsonWriter) Write(b []byte) (int, error) {
	w.Header().Set("Content-Type", "application/json")
	return w.ResponseWriter.Write(b)
}

func TestAnErrorsBodyIsReadToABoundOnly(t *testing.T) {
	t.Parallel()
	url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		block := bytes.Repeat([]byte("x"), 64<<10)
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := newProvider(t, openaichat.Config{BaseURL: url}).Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindOverloaded || len(e.Message) > 1000 {
		t.Errorf("got %v", e)
	}
}

func TestACredentialGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var elsewhere []string
	other := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, status) })
		followers := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		for _, client := range []*http.Client{nil, followers} {
			p := newProvider(t, openaichat.Config{BaseURL: url, HTTPClient: client})
			_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			if e := modeltest.Failure(t, err); e.Kind != model.KindRefused || e.Status != status {
				t.Errorf("%d: got %v, want it refused", status, e)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(elsewhere) > 0 {
		t.Errorf("the other server was asked %d times with %q", len(elsewhere), elsewhere)
	}
}

func TestAConnectionIsUsedAgainAlthoughTheBodyEndsAfterDONE(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	opened := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n")
		_ = http.NewResponseController(w).Flush()
		runtime.Gosched()
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			opened++
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := newProvider(t, openaichat.Config{BaseURL: s.URL})
	for range 20 {
		if _, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if opened > 3 { // an end that is late by more than drainTime costs a connection, nothing else
		t.Errorf("%d connections for 20 calls", opened)
	}
}

func TestACredentialIsOptionalWhereConfigured(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{})
	p := newProvider(t, openaichat.Config{BaseURL: s.URL(), KeyOptional: true, Headers: map[string]string{"X-Title": "test"}})
	req := modeltest.Request()
	for _, credential := range []string{"", "sk-1"} {
		req.Credential = credential
		if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range s.Requests() {
		got = append(got, r.Header.Get("Authorization")+"|"+r.Header.Get("X-Title"))
	}
	if diff := cmp.Diff([]string{"|test", "Bearer sk-1|test"}, got); diff != "" || p.NeedsCredential() {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	req.Credential = "sk-1\nX-Evil: 1"
	_, err := p.Stream(t.Context(), req, modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindAuth || strings.Contains(e.Message, "Evil") {
		t.Errorf("got %v, want auth", e)
	}
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxy := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("HTTPS_PROXY", proxy)
	p := newProvider(t, openaichat.Config{BaseURL: "http://model.invalid/v1"})
	_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	if e := modeltest.Failure(t, err); e.Kind != model.KindUnreachable || strings.Contains(e.Message, "/v1") {
		t.Errorf("got %v, want unreachable without the address", e)
	}
}

func TestASlowConsumerIsNoSilentServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply {
		return modeltestserver.Reply{Text: strings.Repeat("word ", 50), Chunk: 5, Pace: time.Millisecond}
	}})
	const idle = 2 * time.Second
	p := newProvider(t, openaichat.Config{BaseURL: s.URL(), StreamIdle: idle})
	slow := true
	_, err := p.Stream(t.Context(), modeltest.Request(), func(model.Delta) {
		if slow { // one pause longer than the idle time
			slow = false
			timer := time.NewTimer(idle + idle/4)
			<-timer.C
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHTTP2IsSpokenWhereTheServerDoes(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("got %s, want HTTP/2", r.Proto)
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
		if bytes.Contains(body, []byte("stand still")) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			close(gone)
			return
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	p := newProvider(t, openaichat.Config{BaseURL: s.URL, HTTPClient: s.Client()})
	resp, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
	if err != nil || len(resp.Items) != 1 {
		t.Fatalf("got %+v, %v", resp, err)
	}
	req := modeltest.Request()
	req.Items[0].Text = "stand still"
	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.Stream(ctx, req, func(model.Delta) { cancel() })
	if e := modeltest.Failure(t, err); e.Kind != model.KindCancelled || e.Received != 1 {
		t.Errorf("got %v after %d bytes, want cancelled after 1", e, e.Received)
	}
	<-gone
}

func newServer(t testing.TB, config modeltestserver.Config) *modeltestserver.Server {
	t.Helper()
	s, err := modeltestserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkCallOverLoopback(b *testing.B) {
	reply := modeltestserver.Reply{Text: "It is 7 °C and cloudy in Brno today.", Chunk: 4}.Prepared()
	s := newServer(b, modeltestserver.Config{Fast: true, Handler: func(modeltestserver.Request) modeltestserver.Reply { return reply }})
	p, err := openaichat.New(openaichat.Config{BaseURL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
