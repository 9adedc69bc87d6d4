package modeltestserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config sets up a server. The zero value answers "ok" to everything.
type Config struct {
	// Addr is where it listens. Defaults to "127.0.0.1:0".
	Addr string
	// Handler gives the reply to each request that was not refused. It may be called from several goroutines
	// at once.
	Handler func(Request) Reply
	// Credential is what requests must bear; "" asks for none.
	Credential string
	// Fast answers without reading the history: nothing is refused or kept, and of a request the handler sees
	// only Number, LastRole and Header. It is the zero-latency server of benchmarks.
	Fast bool
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	config   Config
	listener net.Listener
	http     *http.Server
	done     chan struct{}

	mu       sync.Mutex
	number   int
	requests []Request
	refusals []string
}

// New starts a server.
func New(config Config) (*Server, error) {
	if config.Addr == "" {
		config.Addr = "127.0.0.1:0"
	}
	if config.Handler == nil {
		config.Handler = func(Request) Reply { return Reply{Text: "ok"} }
	}
	listener, err := net.Listen("tcp", config.Addr)
	if err != nil {
		return nil, fmt.Errorf("model server: %w", err)
	}
	s := &Server{config: config, listener: listener, done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.http = &http.Server{Handler: mux}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // always ErrServerClosed: Close is the only end
	}()
	return s, nil
}

// URL is the address that a provider's BaseURL takes.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Close ends the server and every answer that is under way, and waits until it has stopped listening.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests returns the requests that were not refused, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Calls returns the number of requests so far, those refused included.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number
}

// Refusals tells why requests were refused.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refusals...)
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.config.Credential != "" && r.Header.Get("Authorization") != "Bearer "+s.config.Credential {
		s.count()
		writeError(w, http.StatusUnauthorized, "invalid_api_key", "the credential is not the one that is wanted")
		return
	}
	if s.config.Fast {
		req := Request{Number: s.count(), LastRole: lastRole(body), Header: r.Header, Stream: true}
		s.config.Handler(req).write(r.Context(), w, req)
		return
	}
	req, err := s.admit(body, r.Header)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	s.config.Handler(req).write(r.Context(), w, req)
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return s.number
}

// admit decodes and checks a request, and keeps it or why not.
func (s *Server) admit(body []byte, header http.Header) (Request, error) {
	req, err := Decode(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	req.Number, req.Header = s.number, header
	if err != nil {
		s.refusals = append(s.refusals, fmt.Sprintf("request %d: %v", s.number, err))
		return req, err
	}
	s.requests = append(s.requests, req)
	return req, nil
}

// lastRole finds the role of the last message without parsing: our provider puts the messages last.
func lastRole(body []byte) string {
	const key = `"role":"`
	i := bytes.LastIndex(body, []byte(key))
	if i < 0 {
		return ""
	}
	role, _, _ := bytes.Cut(body[i+len(key):], []byte(`"`))
	return string(role)
}

// errCut makes net/http tear the connection down in mid-answer.
var errCut = errors.New("cut")

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
