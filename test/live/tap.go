package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// tap is a proxy before the model server that counts the pieces of each answer as they pass.
type tap struct {
	server *http.Server
	base   string

	mu      sync.Mutex
	calls   int
	pieces  int // of the newest call
	changed chan struct{}
}

func newTap(address string) (*tap, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tap{base: "http://" + listener.Addr().String() + "/v1", changed: make(chan struct{}, 1)}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.FlushInterval = -1
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) } // who hung up knows
	t.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			t.count(func() { t.calls++; t.pieces = 0 })
			w = counting{w, t}
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = t.server.Serve(listener) }()
	return t, nil
}

func (t *tap) close() { _ = t.server.Close() }

func (t *tap) count(change func()) {
	t.mu.Lock()
	change()
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *tap) seen() (calls, pieces int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls, t.pieces
}

// streaming waits until a call after those that were seen is in the middle of its answer.
func (t *tap) streaming(ctx context.Context, after int) error {
	const middle = 5
	for {
		calls, pieces := t.seen()
		if calls > after && pieces >= middle {
			return nil
		}
		select {
		case <-t.changed:
		case <-ctx.Done():
			return fmt.Errorf("no answer streams (%d calls, %d pieces): %w", calls, pieces, context.Cause(ctx))
		}
	}
}

type counting struct {
	http.ResponseWriter
	tap *tap
}

func (c counting) Write(data []byte) (int, error) {
	c.tap.count(func() { c.tap.pieces += strings.Count(string(data), "data: ") })
	return c.ResponseWriter.Write(data)
}

// Unwrap lets the proxy flush.
func (c counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }
