package modeltestserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
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
	// Models are the models that are listed and served. Nil lists none and serves all.
	Models []string
	// Window, unless nil, tells how many tokens a request has and how many its model takes: what is too much is
	// answered with the protocol's own error, and an answer's usage has the tokens. It may be called from several
	// goroutines at once.
	Window func(Request) Window
	// Fast answers without reading the history: nothing is refused or kept, and of a request the handler sees
	// only Number, Protocol, LastRole and Header. It is the zero-latency server of benchmarks.
	Fast bool
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	config   Config
	listener net.Listener
	http     *http.Server
	done     chan struct{}

	mu        sync.Mutex
	number    int
	requests  []Request
	refusals  []string
	overflows []Request
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
	s.http = &http.Server{Handler: s.routes()}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // always ErrServerClosed: Close is the only end
	}()
	return s, nil
}

func (s *Server) routes() http.Handler {
	plain := func(decode func([]byte) (Request, error)) func(*http.Request, []byte) (Request, error) {
		return func(_ *http.Request, body []byte) (Request, error) { return decode(body) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete(Chat, plain(DecodeChat)))
	mux.HandleFunc("POST /v1/responses", s.complete(Responses, plain(DecodeResponses)))
	mux.HandleFunc("POST /v1/messages", s.complete(Messages, decodeMessages))
	mux.HandleFunc("POST /v1beta/models/{call}", s.complete(Gemini, decodeGemini))
	mux.HandleFunc("GET /v1/models", s.listModels)
	mux.HandleFunc("GET /v1/models/{model}", s.oneModel)
	mux.HandleFunc("GET /v1beta/models", s.listModels)
	mux.HandleFunc("GET /v1beta/models/{model}", s.oneModel)
	return mux
}

func decodeMessages(r *http.Request, body []byte) (Request, error) {
	if err := checkMessagesHeader(r.Header); err != nil {
		return Request{Protocol: Messages, Body: body}, err
	}
	return DecodeMessages(body)
}

func decodeGemini(r *http.Request, body []byte) (Request, error) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	req, err := DecodeGemini(model, body)
	switch {
	case err != nil:
	case method == "generateContent":
		req.Stream = false
	case method != "streamGenerateContent":
		err = fmt.Errorf("unknown method %q", method)
	case r.URL.Query().Get("alt") != "sse":
		err = errors.New("streamGenerateContent without alt=sse")
	}
	return req, err
}

// Base is the address that the official clients of a protocol take: with the version for OpenAI's, without it for
// the others.
func (s *Server) Base(protocol Protocol) string {
	root := "http://" + s.listener.Addr().String()
	if protocol == Chat || protocol == Responses {
		return root + "/v1"
	}
	return root
}

// URL is the base of OpenAI's protocols.
func (s *Server) URL() string { return s.Base(Chat) }

// Close ends the server and every answer that is under way, and waits until it has stopped listening.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Overflows returns the requests that were too much for their model's window, in the order in which they came.
func (s *Server) Overflows() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.overflows...)
}

// Requests returns the requests that were not refused and fitted, in the order in which they came. Requests for the models are
// not among them.
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

// Refusals tells why requests were refused. A wrong credential and an unknown model are answered, but are no
// fault of a request's form and not among them.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refusals...)
}

func (s *Server) complete(protocol Protocol, decode func(*http.Request, []byte) (Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if ok, given := s.admits(protocol, r); !ok {
			s.count()
			writeUnauthorized(w, protocol, given)
			return
		}
		if s.config.Fast {
			req := Request{Number: s.count(), Protocol: protocol, LastRole: lastRole(protocol, body), Header: r.Header, Stream: true}
			s.config.Handler(req).write(r.Context(), w, req)
			return
		}
		req := Request{Protocol: protocol}
		if err = checkSize(protocol, len(body)); err == nil {
			req, err = decode(r, body)
		}
		if err == nil {
			err = checkEscapes(body)
		}
		req.Header = r.Header
		var window Window
		if err == nil && s.config.Window != nil {
			window = s.config.Window(req)
			req.Tokens = window.Tokens
		}
		var large *tooLarge
		switch req = s.keep(req, err, window); {
		case errors.As(err, &large):
			writeError(w, protocol, large.status, Error{Message: large.message})
		case err != nil:
			writeError(w, protocol, http.StatusBadRequest, Error{Message: err.Error()})
		case !s.serves(req.Model):
			writeNoModel(w, protocol, req.Model)
		case window.overflows(req):
			writeOverflow(w, req, window)
		default:
			s.config.Handler(req).write(r.Context(), w, req)
		}
	}
}

// admits checks the credential where the protocol has it, and tells whether one was given. Messages has it in either
// of two headers.
func (s *Server) admits(protocol Protocol, r *http.Request) (ok, given bool) {
	credential, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch protocol {
	case Messages:
		credential = cmp.Or(r.Header.Get("x-api-key"), credential)
	case Gemini:
		credential = r.Header.Get("x-goog-api-key")
	}
	return s.config.Credential == "" || s.config.Credential == credential, credential != ""
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return s.number
}

// keep numbers a request, and keeps it or why it was refused.
func (s *Server) keep(req Request, refusal error, window Window) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	req.Number = s.number
	switch {
	case refusal != nil:
		s.refusals = append(s.refusals, fmt.Sprintf("request %d: %v", s.number, refusal))
	case !s.serves(req.Model):
	case window.overflows(req):
		s.overflows = append(s.overflows, req)
	default:
		s.requests = append(s.requests, req)
	}
	return req
}

// lastRole finds the role of the last message without parsing. Results have no role of their own but in Chat: they
// come last where nothing of the other side follows them.
func lastRole(protocol Protocol, body []byte) string {
	const role = `"role":"`
	result, other := "", role
	switch protocol {
	case Responses:
		result = `"function_call_output"`
	case Messages:
		result, other = `"tool_result"`, role+`assistant"`
	case Gemini:
		result, other = `"functionResponse"`, role+`model"`
	}
	i := bytes.LastIndex(body, []byte(other))
	if result != "" {
		if bytes.LastIndex(body, []byte(result)) > i {
			return "tool"
		}
		return "user"
	}
	if i < 0 {
		return ""
	}
	name, _, _ := bytes.Cut(body[i+len(role):], []byte(`"`))
	return string(name)
}
