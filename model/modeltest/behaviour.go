package modeltest

import (
	"context"
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

	"github.com/openworkerai/openworker/model"
)

// patience bounds what ought to happen at once.
const patience = 10 * time.Second

func kindOf(t *testing.T, err error) model.ErrorKind {
	t.Helper()
	return Failure(t, err).Kind
}

func find(t *testing.T, prefix string) Case {
	t.Helper()
	for _, c := range Cases() {
		if strings.HasPrefix(c.Name, prefix) {
			return c
		}
	}
	t.Fatalf("no case %s", prefix)
	return Case{}
}

// testCancel cancels on the first delta of a stream that then stands still. The call must return, and neither
// connection nor goroutine stay behind.
func testCancel(t *testing.T, subject Subject) {
	s := play(t, load(t, subject.Recordings, find(t, "a silent stream").File()))
	provider := subject.New(t, Options{URL: s.url, StreamIdle: time.Hour})
	before := runtime.NumGoroutine()
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		_, err := provider.Stream(ctx, Request(), func(model.Delta) {
			at = time.Now()
			cancel()
		})
		cancel()
		if got := kindOf(t, err); got != model.KindCancelled {
			t.Fatalf("got kind %s, want cancelled", got)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error as its cause", err)
		}
		if took := time.Since(at); took > patience/10 {
			t.Errorf("returned %v after it was cancelled", took)
		}
	}
	deadline := time.After(patience)
	for _, _, open := s.counts(); open > 0; _, _, open = s.counts() {
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatalf("%d connections stayed open", open)
		}
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for runtime.NumGoroutine() > before {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

// testCancelEarly cancels while the server has the request and has said nothing.
func testCancelEarly(t *testing.T, subject Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a client that goes away is seen below
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	_, err := subject.New(t, Options{URL: s.URL, StreamIdle: time.Hour}).Stream(ctx, Request(), func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindCancelled {
		t.Errorf("got kind %s, want cancelled", got)
	}
}

func testEnded(t *testing.T, subject Subject) {
	s := play(t, load(t, subject.Recordings, find(t, "text").File()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := subject.New(t, Options{URL: s.url, StreamIdle: time.Minute}).Stream(ctx, Request(), func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindCancelled {
		t.Errorf("got kind %s, want cancelled", got)
	}
	if requests, _, _ := s.counts(); requests != 0 {
		t.Errorf("%d requests were made", requests)
	}
}

// testReuse makes calls one after the other; answers and refusals alike must leave the connection usable.
func testReuse(t *testing.T, subject Subject) {
	for _, name := range []string{"text", "tool calls in parallel", "C48 429 with Retry-After"} {
		s := play(t, load(t, subject.Recordings, find(t, name).File()))
		provider := subject.New(t, Options{URL: s.url, StreamIdle: time.Minute})
		for range 5 {
			_, _ = provider.Stream(t.Context(), Request(), func(model.Delta) {}) // the cases look at the outcome
		}
		if requests, opened, _ := s.counts(); requests != 5 || opened != 1 {
			t.Errorf("%s: %d requests over %d connections, want 5 over 1", name, requests, opened)
		}
	}
}

func testUnreachable(t *testing.T, subject Subject) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = subject.New(t, Options{URL: url, StreamIdle: time.Minute}).Stream(t.Context(), Request(), func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindUnreachable {
		t.Errorf("got kind %s, want unreachable", got)
	}
}

func testNoCredential(t *testing.T, subject Subject) {
	s := play(t, load(t, subject.Recordings, find(t, "text").File()))
	provider := subject.New(t, Options{URL: s.url, StreamIdle: time.Minute})
	if !provider.NeedsCredential() {
		t.Fatal("the suite wants a provider that needs a credential")
	}
	req := Request()
	req.Credential = ""
	_, err := provider.Stream(t.Context(), req, func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindAuth {
		t.Errorf("got kind %s, want auth", got)
	}
	if requests, _, _ := s.counts(); requests != 0 {
		t.Errorf("%d requests were made", requests)
	}
}

func testConcurrent(t *testing.T, subject Subject) {
	c := find(t, "tool calls in parallel")
	s := play(t, load(t, subject.Recordings, c.File()))
	provider := subject.New(t, Options{URL: s.url, StreamIdle: time.Minute})
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			var text, reasoning strings.Builder
			resp, err := provider.Stream(t.Context(), Request(), func(d model.Delta) {
				if d.Reasoning {
					reasoning.WriteString(d.Text)
				} else {
					text.WriteString(d.Text)
				}
			})
			if err != nil {
				t.Error(err)
				return
			}
			c.checkAnswer(t, provider, resp, text.String(), reasoning.String())
		})
	}
	wg.Wait()
}
