package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
)

// client speaks to a server as a user.
type client struct {
	t    *testing.T
	base string
	user string
}

// start serves a directory until the returned function is called, which gives what serve came to.
func start(t *testing.T, dir string) (ann client, end func() error) {
	t.Helper()
	s, err := open(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, listener) }()
	end = func() error {
		stop()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return client{t: t, base: "http://" + listener.Addr().String(), user: "ann"}, end
}

func (c client) request(method, path, body string, headers ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.user != "" {
		r.SetBasicAuth(c.user, "")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { response.Body.Close() })
	return response
}

// do makes a request that must be answered with the status, and decodes its answer.
func (c client) do(status int, into any, method, path, body string, headers ...string) {
	c.t.Helper()
	response := c.request(method, path, body, headers...)
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		c.t.Fatalf("%s %s: %s: %s, %v", method, path, response.Status, data, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(data, into); err != nil {
		c.t.Fatalf("%s %s: %s: %v", method, path, data, err)
	}
}

func (c client) session() string {
	c.t.Helper()
	var ref openworker.SessionReference
	c.do(http.StatusCreated, &ref, "POST", "/sessions", "")
	return "/sessions/" + ref.Session
}

// stream reads events up to the first of a type, and returns the numbered ones.
func (c client) stream(path, until string, headers ...string) []openworker.Event {
	c.t.Helper()
	response := c.request("GET", path+"/events", "", headers...)
	if response.StatusCode != http.StatusOK {
		c.t.Fatalf("the stream: %s", response.Status)
	}
	defer response.Body.Close()
	var events []openworker.Event
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event openworker.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			c.t.Fatal(err)
		}
		if event.Number > 0 {
			events = append(events, event)
		}
		if string(event.Type) == until {
			return events
		}
	}
	c.t.Fatalf("the stream ended without %s", until)
	return nil
}

func types(events []openworker.Event) []openworker.EventType {
	var all []openworker.EventType
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

func TestATurnIsSentFollowedAndAnswered(t *testing.T) {
	t.Parallel()
	ann, _ := start(t, t.TempDir())
	session := ann.session()
	var first, again openworker.RunReference
	message := `{"text": "use parcels.find with {\"number\": 42}"}`
	ann.do(http.StatusAccepted, &first, "POST", session+"/messages", message, "Idempotency-Key", "row-17")
	ann.do(http.StatusAccepted, &again, "POST", session+"/messages", message, "Idempotency-Key", "row-17")
	if again.Run != first.Run || !again.Repeated {
		t.Errorf("the same message under the same key: %+v, before %+v", again, first)
	}
	seen := ann.stream(session, "interaction_required")
	asked, err := openworker.Data[openworker.InteractionRequired](seen[len(seen)-1])
	if err != nil {
		t.Fatal(err)
	}
	var state openworker.SessionState
	ann.do(http.StatusOK, &state, "GET", session, "")
	if len(state.Interactions) != 1 || state.Interactions[0].ID != asked.ID || state.Owner != "ann" {
		t.Errorf("the state: %+v", state)
	}
	ann.do(http.StatusNoContent, nil, "POST", session+"/interactions/"+asked.ID, `{"decision": "allow"}`)

	// Whoever reconnects gets what comes after the number that it has, once.
	rest := ann.stream(session, "turn_ended", "Last-Event-ID", "4")
	if rest[0].Number != 5 {
		t.Errorf("behind event 4 comes event %d", rest[0].Number)
	}
	whole := ann.stream(session, "turn_ended")
	if diff := cmp.Diff(whole[4:], rest); diff != "" {
		t.Errorf("the rest is not the rest of the whole: %s", diff)
	}
	want := []openworker.EventType{
		"session_created", "turn_accepted", "model_call_started", "model_call_finished", "interaction_required",
		"interaction_resolved", "tool_call_started", "tool_call_finished", "model_call_started", "model_call_finished", "turn_ended",
	}
	if diff := cmp.Diff(want, types(whole)); diff != "" {
		t.Error(diff)
	}
	resolved, err := openworker.Data[openworker.InteractionResolved](whole[5])
	if err != nil || resolved.By != "ann" {
		t.Errorf("answered by %q, %v", resolved.By, err)
	}
}

func TestErrorsAreHTTPStatuses(t *testing.T) {
	t.Parallel()
	ann, _ := start(t, t.TempDir())
	session := ann.session()
	ann.do(http.StatusAccepted, nil, "POST", session+"/messages", `{"text": "use parcels.find with {\"number\": 1}"}`)
	ann.stream(session, "interaction_required")
	bob, nobody := ann, ann
	bob.user, nobody.user = "bob", ""
	tests := []struct {
		name    string
		client  client
		method  string
		path    string
		body    string
		headers []string
		status  int
		code    openworker.Code
	}{
		{"a session that is not there", ann, "GET", "/sessions/nobody", "", nil, 404, openworker.CodeSessionNotFound},
		{"a session of somebody else looks as if it were not there", bob, "GET", session, "", nil, 404, openworker.CodeSessionNotFound},
		{"nor may they send to it", bob, "POST", session + "/messages", `{"text": "hi"}`, nil, 404, openworker.CodeSessionNotFound},
		{"nor follow it", nobody, "GET", session + "/events", "", nil, 404, openworker.CodeSessionNotFound},
		{"a message that comes too early", ann, "POST", session + "/messages", `{"text": "hi"}`, nil, 409, openworker.CodeSessionBusy},
		{"a body that is no message", ann, "POST", session + "/messages", `{"txt": "hi"}`, nil, 400, openworker.CodeInvalidRequest},
		{"an interaction that is not there", ann, "POST", session + "/interactions/x", `{"decision": "allow"}`, nil, 404, openworker.CodeInteractionNotFound},
		{"a number that is none", ann, "GET", session + "/events", "", []string{"Last-Event-ID", "x"}, 400, openworker.CodeInvalidRequest},
		{"the number of an event that has not happened", ann, "GET", session + "/events", "", []string{"Last-Event-ID", "999"}, 400, openworker.CodeInvalidRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.client
			c.t = t
			var failed openworker.Error
			c.do(tt.status, &failed, tt.method, tt.path, tt.body, tt.headers...)
			if failed.Code != tt.code || failed.Message == "" {
				t.Errorf("answered %+v", failed)
			}
		})
	}
	nobody.do(http.StatusUnauthorized, nil, "POST", "/sessions", "")
}

// A stream that is open does not hold up the end, and what was under way is there after it.
func TestTheServerEndsInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ann, end := start(t, dir)
	session := ann.session()
	ann.do(http.StatusAccepted, nil, "POST", session+"/messages", `{"text": "use parcels.find with {\"number\": 42}"}`)
	open := ann.request("GET", session+"/events", "")
	began := time.Now()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(open.Body); err != nil {
		t.Errorf("the stream was torn, not ended: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end took %s", took)
	}

	later, _ := start(t, dir)
	seen := later.stream(session, "interaction_required")
	if seen[0].Number != 1 {
		t.Errorf("the events begin with %d", seen[0].Number)
	}
}
