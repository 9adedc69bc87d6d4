package modeltest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recording is an answer of a server.
type recording struct {
	status int
	header map[string]string
	body   []byte
	end    string // "", "cut" or "silent"
	split  int    // bytes of a write; 0 writes all at once
}

func load(t *testing.T, files fs.FS, name string) recording {
	t.Helper()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := parse(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rec
}

func parse(data []byte) (recording, error) {
	head, body, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok {
		return recording{}, fmt.Errorf("no empty line after the header")
	}
	rec := recording{status: http.StatusOK, header: map[string]string{}, body: body}
	for line := range strings.Lines(string(head)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return rec, fmt.Errorf("header line %q", line)
		}
		var err error
		switch name {
		case "@status":
			rec.status, err = strconv.Atoi(value)
		case "@end":
			rec.end = value
			if value != "cut" && value != "silent" {
				err = fmt.Errorf("@end: %s", value)
			}
		case "@split":
			rec.split, err = strconv.Atoi(value)
		case "@crlf":
			rec.body = bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n"))
		default:
			rec.header[name] = value
		}
		if err != nil {
			return rec, err
		}
	}
	return rec, nil
}

func (rec recording) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that goes away is seen below
	for name, value := range rec.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(rec.status)
	flush := http.NewResponseController(w).Flush
	size := rec.split
	if size == 0 {
		size = max(1, len(rec.body))
	}
	for rest := rec.body; len(rest) > 0; {
		n := min(size, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			return
		}
		if rec.split > 0 && flush() != nil {
			return
		}
		rest = rest[n:]
	}
	switch rec.end {
	case "cut":
		_ = flush()
		panic(http.ErrAbortHandler)
	case "silent":
		_ = flush()
		<-r.Context().Done()
	}
}

// server plays one recording to every request and counts requests and connections.
type server struct {
	url string

	mu       sync.Mutex
	requests int
	opened   int
	open     map[net.Conn]struct{}
	changed  chan struct{} // holds a token after each change of a connection
}

func play(t *testing.T, rec recording) *server {
	t.Helper()
	s := &server{open: map[net.Conn]struct{}{}, changed: make(chan struct{}, 1)}
	ts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		s.mu.Unlock()
		rec.ServeHTTP(w, r)
	}))
	ts.Config.ConnState = s.track
	ts.Start()
	t.Cleanup(ts.Close)
	s.url = ts.URL
	return s
}

func (s *server) track(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.opened++
		s.open[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.open, conn)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *server) counts() (requests, opened, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.opened, len(s.open)
}
