package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

type server struct {
	harness *openworker.Harness
	agent   *openworker.Agent
	log     *slog.Logger
	user    func(*http.Request) (name string, ok bool)
}

// serve answers until ctx ends, and then ends in order.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	var failed error
	select {
	case failed = <-served:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	// The harness goes first: that ends the event streams, for which Shutdown would wait.
	return errors.Join(failed, s.harness.Close(ctx), web.Shutdown(ctx))
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions", s.create)
	mux.HandleFunc("GET /sessions/{id}", s.state)
	mux.HandleFunc("POST /sessions/{id}/messages", s.send)
	mux.HandleFunc("GET /sessions/{id}/events", s.events)
	mux.HandleFunc("POST /sessions/{id}/interactions/{interaction}", s.resolve)
	return mux
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	user, ok := s.user(r)
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	session, err := s.agent.NewSession(r.Context(), openworker.SessionOptions{
		Owner:          user, // who may use it: see session
		IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		s.fail(w, err)
		return
	}
	reply(w, http.StatusCreated, session.Reference()) // the client keeps it; its "session" goes into paths
}

// session finds the session of a request, and its state, for the user who owns it. Whoever does not own it is
// told what they would be told of a session that is not there.
func (s *server) session(r *http.Request) (*openworker.Session, openworker.SessionState, error) {
	id := r.PathValue("id")
	session, err := s.harness.Session(r.Context(), id)
	if err != nil {
		return nil, openworker.SessionState{}, err
	}
	state, err := session.State(r.Context())
	if err != nil {
		return nil, openworker.SessionState{}, err
	}
	if user, ok := s.user(r); !ok || user != state.Owner {
		return nil, openworker.SessionState{}, api.Errorf(api.CodeSessionNotFound, "there is no session %q for you", id)
	}
	return session, state, nil
}

func (s *server) state(w http.ResponseWriter, r *http.Request) {
	_, state, err := s.session(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	reply(w, http.StatusOK, state)
}

// send answers as soon as the message is durable; what becomes of it is in the events.
func (s *server) send(w http.ResponseWriter, r *http.Request) {
	session, _, err := s.session(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	var message struct {
		Text string `json:"text"`
	}
	if err := read(w, r, &message); err != nil {
		s.fail(w, err)
		return
	}
	run, err := session.Send(r.Context(), message.Text, openworker.TurnOptions{SubmissionID: r.Header.Get("Idempotency-Key")})
	if err != nil {
		s.fail(w, err)
		return
	}
	reply(w, http.StatusAccepted, run.Reference())
}

func (s *server) resolve(w http.ResponseWriter, r *http.Request) {
	session, _, err := s.session(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	var answer openworker.Answer
	if err := read(w, r, &answer); err != nil {
		s.fail(w, err)
		return
	}
	answer.By, _ = s.user(r)
	if err := session.Resolve(r.Context(), r.PathValue("interaction"), answer); err != nil {
		s.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// events streams the session's events as server-sent events. A browser that reconnects names the last number
// that it has in Last-Event-ID, and gets every later event once.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	session, state, err := s.session(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	after, err := number(r.Header.Get("Last-Event-ID"), state.LastEvent)
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil { // the client learns at once that it is connected
		return
	}
	for event, err := range session.Events(r.Context(), after) {
		if err != nil {
			if !errors.Is(err, openworker.ErrClosed) && !errors.Is(err, openworker.ErrCancelled) {
				s.log.Error("an event stream broke", "session", session.ID(), "error", err)
			}
			return // the client comes back with the number that it has
		}
		data, err := json.Marshal(event)
		if err != nil {
			return
		}
		if event.Number > 0 { // a delta has none: whoever missed it finds the text in a later event
			fmt.Fprintf(w, "id: %d\n", event.Number)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.Type, data)
		if err := out.Flush(); err != nil {
			return
		}
	}
}

func number(header string, last uint64) (uint64, error) {
	if header == "" {
		return 0, nil
	}
	after, err := strconv.ParseUint(header, 10, 64)
	if err != nil || after > last {
		return 0, api.Errorf(api.CodeInvalidRequest, "Last-Event-ID %.40q is not the number of an event up to %d", header, last)
	}
	return after, nil
}

// statuses is the HTTP status of each code.
func statuses() map[openworker.Code]int {
	of := map[openworker.Code]int{}
	for _, row := range api.Codes() {
		of[row.Code] = row.HTTP
	}
	return of
}

// fail answers with an error as it is: a code for programs, and a message that holds no secret.
func (s *server) fail(w http.ResponseWriter, err error) {
	e := api.AsError(err)
	status := statuses()[e.Code]
	if status >= http.StatusInternalServerError {
		s.log.Error("a request failed", "error", err)
	}
	reply(w, status, e)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // to a client that may have left
}

// read decodes a request's body, of at most 2 MB.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return api.Errorf(api.CodeInvalidRequest, "the body is not what is expected here: %w", err)
	}
	return nil
}
