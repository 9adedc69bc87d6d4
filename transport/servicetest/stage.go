package servicetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
)

// patience bounds each wait for a condition; nothing that works comes near it.
const patience = 30 * time.Second

// stage is one test's store, with the process and the agent that most tests talk to.
type stage struct {
	testing.TB
	t     *testing.T
	store Store
	api.Service
	process  Process
	agent    api.AgentReference
	sessions []string
}

// open starts the stage's (next) process and registers the agent in it: all tools of the world, and what
// change does to the definition. Without change it asks for no approval.
func (s *stage) open(w World, change ...func(*api.AgentDefinition)) {
	s.Helper()
	s.process = s.store.Open(s.t, w)
	s.Service = s.process
	s.agent = s.register(s.process, w, change...)
}

// look starts a process that can run nothing.
func (s *stage) look() {
	s.Helper()
	s.process = s.store.Open(s.t, World{})
	s.Service = s.process
}

func (s *stage) register(p api.Service, w World, change ...func(*api.AgentDefinition)) api.AgentReference {
	s.Helper()
	ref, err := p.RegisterAgent(s.Context(), "", definition(w, change...))
	s.no(err)
	return ref
}

func definition(w World, change ...func(*api.AgentDefinition)) api.AgentDefinition {
	def := api.AgentDefinition{Name: "assistant", Instructions: "Help.", DefaultModel: api.ModelRef{Provider: Provider, Name: "m"}, Approvals: api.Approvals{Mode: api.ApproveNever}}
	for _, t := range w.Tools {
		def.Tools = append(def.Tools, t.ToolDeclaration)
	}
	for _, f := range change {
		f(&def)
	}
	return def
}

func asking(d *api.AgentDefinition) { d.Approvals = api.Approvals{} }

func (s *stage) no(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// code holds an error against the code that it must have, and the list of codes against both (FA8).
func (s *stage) code(err error, want api.Code) {
	s.Helper()
	var e *api.Error
	switch {
	case !errors.As(err, &e):
		s.Fatalf("got %v, want an *api.Error of code %s", err, want)
	case e.Code != want:
		s.Fatalf("got %v, want code %s", err, want)
	case e.Message == "":
		s.Fatalf("the error of code %s says nothing", e.Code)
	case !slices.ContainsFunc(api.Codes(), func(c api.CodeInfo) bool { return c.Code == e.Code }):
		s.Fatalf("code %s is not in the table", e.Code)
	}
}

func (s *stage) session(opts ...api.SessionOptions) string {
	s.Helper()
	o := api.SessionOptions{}
	if len(opts) > 0 {
		o = opts[0]
	}
	ref, err := s.CreateSession(s.Context(), s.agent, o)
	s.no(err)
	s.sessions = append(s.sessions, ref.Session)
	return ref.Session
}

func (s *stage) send(session, text string, opts ...api.TurnOptions) api.RunReference {
	s.Helper()
	o := api.TurnOptions{}
	if len(opts) > 0 {
		o = opts[0]
	}
	run, err := s.Submit(s.Context(), api.Submission{Session: session, Text: text, Options: o})
	s.no(err)
	return run
}

func (s *stage) waiting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.Context(), patience)
}

func (s *stage) result(run api.RunReference) api.Result {
	s.Helper()
	ctx, cancel := s.waiting()
	defer cancel()
	r, err := s.Result(ctx, run.Session, run.Run)
	s.no(err)
	return r
}

// ends waits for a run's result and holds its status against want.
func (s *stage) ends(run api.RunReference, want api.RunStatus) api.Result {
	s.Helper()
	r := s.result(run)
	if r.Status != want {
		s.Fatalf("run %s is %s (%+v, waits for %+v), want %s", run.Run, r.Status, r.Error, r.WaitingFor, want)
	}
	return r
}

// say sends a message and waits for its completed turn's text.
func (s *stage) say(session, text string, opts ...api.TurnOptions) string {
	s.Helper()
	return s.ends(s.send(session, text, opts...), api.StatusCompleted).Text
}

// until follows a session until an event of the type comes that passes all conditions, and returns it.
func (s *stage) until(session string, typ api.EventType, when ...func(api.Event) bool) api.Event {
	s.Helper()
	ctx, cancel := s.waiting()
	defer cancel()
	stream, err := s.Follow(ctx, api.FollowQuery{Session: session})
	s.no(err)
	defer stream.Close()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			s.Fatalf("waiting for %s: %v", typ, err)
		}
		if e.Type == typ && !slices.ContainsFunc(when, func(f func(api.Event) bool) bool { return !f(e) }) {
			return e
		}
	}
}

// drain reads a stream to its end.
func (s *stage) drain(q api.FollowQuery) []api.Event {
	s.Helper()
	ctx, cancel := s.waiting()
	defer cancel()
	stream, err := s.Follow(ctx, q)
	s.no(err)
	defer stream.Close()
	var events []api.Event
	for {
		e, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return events
		}
		s.no(err)
		events = append(events, e)
	}
}

// settle waits for a condition that no event tells. It looks again at each tick.
func (s *stage) settle(what string, done func() bool) {
	s.Helper()
	ctx, cancel := s.waiting()
	defer cancel()
	tick := time.NewTicker(Poll)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("it did not come to pass that %s", what)
		}
	}
}

func (s *stage) state(session string) api.SessionState {
	s.Helper()
	st, err := s.State(s.Context(), session)
	s.no(err)
	return st
}

func (s *stage) events(session string) []api.Event {
	s.Helper()
	var all []api.Event
	for after := uint64(0); ; {
		page, err := s.Events(s.Context(), api.EventQuery{Session: session, After: after, Limit: 50})
		s.no(err)
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
		after = page.Events[len(page.Events)-1].Number
	}
}

func (s *stage) history(session string) []api.HistoryItem {
	s.Helper()
	var all []api.HistoryItem
	for q := (api.HistoryQuery{Session: session, Limit: 7}); ; {
		page, err := s.History(s.Context(), q)
		s.no(err)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// results are the tool results of a session, in order.
func (s *stage) results(session string) []api.HistoryItem {
	s.Helper()
	return slices.DeleteFunc(s.history(session), func(h api.HistoryItem) bool { return h.Type != "tool_result" })
}

// count counts events of a type.
func count(events []api.Event, typ api.EventType) int {
	n := 0
	for _, e := range events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// ledger counts the effects of tools outside of any process, by call.
type ledger struct {
	mu   sync.Mutex
	runs map[string]int
	list []string
}

func (l *ledger) add(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]int{}
	}
	l.runs[key]++
	l.list = append(l.list, key)
	return l.runs[key]
}

func (l *ledger) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// action is a tool without arguments that are looked at, whose body is f.
func action(name string, effect api.Effect, f func(ctx context.Context, c ToolCall) (string, error)) Tool {
	return Tool{
		ToolDeclaration: api.ToolDeclaration{Name: name, Description: "Acts.", Effect: effect,
			InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)},
		Run: f,
	}
}

// calls is an answer of calls without arguments to the tools, by their names to the model.
func calls(names ...string) Answer {
	var a Answer
	for i, name := range names {
		a.Calls = append(a.Calls, Call{ID: fmt.Sprintf("call_%d", i), Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return a
}

// rounds answers each turn alike: by the number of answers since the user's message; the last one repeats.
func rounds(answers ...Answer) func(Prompt) Answer {
	return func(p Prompt) Answer { return answers[min(p.Round, len(answers)-1)] }
}

// gate blocks whoever enters until it is opened, or the context ends.
type gate struct {
	entered chan string // gets each one's name
	open    chan struct{}
}

func newGate() *gate { return &gate{entered: make(chan string, 64), open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context, name string) {
	g.entered <- name
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// await waits until somebody has entered.
func (g *gate) await(s *stage) string {
	s.Helper()
	select {
	case name := <-g.entered:
		return name
	case <-time.After(patience):
		s.Fatal("nobody entered")
		return ""
	}
}

func nothing(context.Context, ToolCall) (string, error) { return "", nil }

// wait is a body that enters the gate and, once its context has ended, says so and fails.
func wait(g *gate, stopped chan<- struct{}) func(context.Context, ToolCall) (string, error) {
	return func(ctx context.Context, c ToolCall) (string, error) {
		g.pass(ctx, c.ID)
		if ctx.Err() != nil {
			stopped <- struct{}{}
			return "", ctx.Err()
		}
		return "done", nil
	}
}
