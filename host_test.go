package openworker

import (
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/openworkerai/openworker/api"
)

// fakeHost plays one session whose journal is written by the test. It is not safe for concurrent use, and
// what a test does not set up panics.
type fakeHost struct {
	api.Service
	journal []Event
	open    []Interaction
	// resolve is called for each answer; it may write on. Its error is Resolve's.
	resolve  func(id string, answer Answer) error
	result   Result
	sessions [][]SessionInfo
	history  [][]HistoryItem

	bound     []Tool
	answers   []string
	followed  []api.FollowQuery
	submitted []api.Submission
	closed    int
}

func (f *fakeHost) Bind(tools ...Tool) error { f.bound = append(f.bound, tools...); return nil }

func (f *fakeHost) BindGuards([]Guardrail, []Hook) error { return nil }

func (f *fakeHost) Quiesce() {}

func (f *fakeHost) Close(context.Context) error { f.closed++; return nil }

func (f *fakeHost) RegisterAgent(_ context.Context, _ string, def api.AgentDefinition) (AgentReference, error) {
	return AgentReference{Name: def.Name, Digest: "d"}, nil
}

func (f *fakeHost) CreateSession(_ context.Context, agent AgentReference, _ SessionOptions) (SessionReference, error) {
	return SessionReference{Store: "st", Session: "s1", Agent: agent.Name}, nil
}

func (f *fakeHost) Submit(_ context.Context, sub api.Submission) (RunReference, error) {
	f.submitted = append(f.submitted, sub)
	return RunReference{Session: sub.Session, Run: "s1-r1", Accepted: 2}, nil
}

func (f *fakeHost) State(context.Context, string) (SessionState, error) {
	return SessionState{Interactions: slices.Clone(f.open)}, nil
}

func (f *fakeHost) Resolve(_ context.Context, _, id string, answer Answer) error {
	f.answers = append(f.answers, id+" "+string(answer.Decision))
	return f.resolve(id, answer)
}

func (f *fakeHost) Result(context.Context, string, string) (Result, error) {
	if len(f.open) > 0 {
		return Result{Run: "s1-r1", Status: api.StatusInterrupted, Interactions: slices.Clone(f.open)}, nil
	}
	return f.result, nil
}

func (f *fakeHost) ResultWhen(ctx context.Context, session, run string, ready func(context.Context) error) (Result, error) {
	if err := ready(ctx); err != nil {
		return Result{}, err
	}
	return f.Result(ctx, session, run)
}

func (f *fakeHost) Follow(_ context.Context, q api.FollowQuery) (api.EventStream, error) {
	f.followed = append(f.followed, q)
	return &fakeStream{host: f, after: q.After}, nil
}

func (f *fakeHost) Sessions(_ context.Context, q SessionQuery) (api.SessionPage, error) {
	items, next, err := pageOf(f.sessions, q.Cursor)
	return api.SessionPage{Sessions: items, Next: next}, err
}

func (f *fakeHost) History(_ context.Context, q HistoryQuery) (HistoryPage, error) {
	items, next, err := pageOf(f.history, q.Cursor)
	return HistoryPage{Items: items, Next: next}, err
}

// pageOf reads pages whose cursors are "", "+", "++" and so on; behind the last one is an error.
func pageOf[T any](pages [][]T, cursor string) ([]T, string, error) {
	n := len(cursor)
	if n >= len(pages) {
		return nil, "", api.Errorf(api.CodeStoreUnavailable, "no page %d", n)
	}
	if n == len(pages)-1 {
		return pages[n], "", nil
	}
	return pages[n], cursor + "+", nil
}

// fakeStream ends where the journal ends: the run waits there or is over.
type fakeStream struct {
	host   *fakeHost
	after  uint64
	closed int
}

func (s *fakeStream) Next(context.Context) (Event, error) {
	for _, event := range s.host.journal {
		if event.Number > s.after {
			s.after = event.Number
			return event, nil
		}
	}
	return Event{}, io.EOF
}

func (s *fakeStream) Close() error { s.closed++; return nil }

// write appends events of the types to the journal, and opens interactions of the kinds that are named
// "kind:id".
func (f *fakeHost) write(run string, types ...EventType) {
	for _, t := range types {
		f.journal = append(f.journal, Event{Number: uint64(len(f.journal) + 1), Type: t, Run: run})
	}
}

func (f *fakeHost) ask(id string, kind InteractionKind) {
	data, err := json.Marshal(InteractionRequired{ID: id, Kind: kind})
	if err != nil {
		panic(err)
	}
	f.open = append(f.open, Interaction{ID: id, Kind: kind, Run: "s1-r1"})
	f.journal = append(f.journal, Event{Number: uint64(len(f.journal) + 1), Type: EventInteractionRequired, Run: "s1-r1", Data: data})
}

// settle closes an interaction.
func (f *fakeHost) settle(id string) {
	f.open = slices.DeleteFunc(f.open, func(i Interaction) bool { return i.ID == id })
	f.write("s1-r1", EventInteractionResolved)
}

func newFake() (*fakeHost, *Session) {
	host := &fakeHost{result: Result{Run: "s1-r1", Status: api.StatusCompleted}}
	host.write("", EventSessionCreated)
	host.write("s1-r1", EventTurnAccepted)
	return host, &Session{service: host, reference: SessionReference{Store: "st", Session: "s1", Agent: "a"}}
}
