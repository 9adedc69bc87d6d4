package modeltestserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// NewInMemory makes a server that listens nowhere and is reached by its Transport alone: for tests under synctest,
// which a network would keep from being idle. Config.Addr, Base and Close are not for it.
func NewInMemory(config Config) *Server {
	if config.Handler == nil {
		config.Handler = func(Request) Reply { return Reply{Text: "ok"} }
	}
	return &Server{config: config}
}

// Transport serves requests to any host without a network. A handler that panics tears its connection down, and a
// client's going away ends the context that the handler has.
func (s *Server) Transport() http.RoundTripper { return &memory{s.routes()} }

type memory struct{ handler http.Handler }

func (m *memory) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	body, writer := io.Pipe()
	out := &memoryResponse{
		header: http.Header{}, writer: writer, started: make(chan struct{}),
		response: http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req, ContentLength: -1, Body: memoryBody{body, cancel}},
	}
	go func() {
		defer cancel()
		var end error
		defer func() {
			if recovered := recover(); recovered != nil {
				end = io.ErrUnexpectedEOF
			}
			out.start(http.StatusOK)
			_ = writer.CloseWithError(end) // nil is an end in order; it always returns nil
		}()
		m.handler.ServeHTTP(out, req.WithContext(ctx))
	}()
	select {
	case <-out.started:
		context.AfterFunc(ctx, func() {
			if err := req.Context().Err(); err != nil {
				_ = writer.CloseWithError(err)
			}
		})
		return &out.response, nil
	case <-req.Context().Done():
		cancel()
		_ = writer.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
}

// memoryBody ends the handler's context when it is closed.
type memoryBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b memoryBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

type memoryResponse struct {
	header   http.Header
	writer   *io.PipeWriter
	once     sync.Once
	started  chan struct{}
	response http.Response
}

func (r *memoryResponse) Header() http.Header { return r.header }

func (r *memoryResponse) WriteHeader(status int) { r.start(status) }

func (r *memoryResponse) start(status int) {
	r.once.Do(func() {
		r.response.StatusCode, r.response.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
		r.response.Header = r.header.Clone()
		close(r.started)
	})
}

func (r *memoryResponse) Write(p []byte) (int, error) {
	r.start(http.StatusOK)
	return r.writer.Write(p)
}

// Flush has nothing to do: what is written has been read. A flush alone sends the header.
func (r *memoryResponse) Flush() { r.start(http.StatusOK) }
