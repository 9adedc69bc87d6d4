package engine_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestUnknownKindsAndVersionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind    engine.Kind
		version int
	}{
		"a kind of a later build":    {"tool_teleported", 1},
		"no kind":                    {"", 1},
		"another spelling":           {"Turn_Ended", 1},
		"a version of a later build": {"turn_ended", 2},
		"version zero":               {"turn_ended", 0},
		"a negative version":         {"turn_ended", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := engine.Decode(test.kind, test.version, []byte(`{}`))
			var unknown *engine.UnknownEventError
			if !errors.As(err, &unknown) || unknown.Kind != test.kind || unknown.Version != test.version {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDamagedDataIsRefused(t *testing.T) {
	t.Parallel()
	for _, data := range []string{``, `{`, `[]`, `"x"`, `{"run":1}`, `{"usage":{"outputTokens":"many"}}`, `{} {}`} {
		if e, err := engine.Decode("turn_ended", 1, []byte(data)); err == nil {
			t.Errorf("%q is read as %+v", data, e)
		}
	}
}

func TestEventsThatCannotFollowAreToldWithTheirTrail(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(always)).play(say("hi"), begin, asksFor("write", "write"), decide(2, api.AllowOnce, ""), begin)
	run, asked, running := p.runs[0], p.calls[0], p.calls[1]
	next := p.state.Head + 1
	for name, fact := range map[string]engine.Fact{
		"a number that was left out":           {Number: next + 1, Event: engine.SessionDeleted{}},
		"a number that is taken":               {Number: next - 1, Event: engine.SessionDeleted{}},
		"a second creation":                    {Number: next, Event: engine.SessionCreated{}},
		"a turn beside the turn":               {Number: next, Event: engine.TurnAccepted{Run: "x", Rules: 1}},
		"a turn of rules to come":              {Number: next, Event: engine.TurnAccepted{Run: "x", Rules: engine.Rules + 1, Queued: true}},
		"a start of nothing":                   {Number: next, Event: engine.TurnStarted{Run: "x"}},
		"a cancel of another run":              {Number: next, Event: engine.CancelRequested{Run: "x"}},
		"an end of another run":                {Number: next, Event: engine.TurnEnded{Run: "x"}},
		"an end with a call open":              {Number: next, Event: engine.TurnEnded{Run: run}},
		"a model call with a call open":        {Number: next, Event: engine.ModelStarted{Run: run, Call: 2, Attempt: 1}},
		"a failure of no attempt":              {Number: next, Event: engine.ModelFailed{Run: run, Call: 2, Attempt: 1}},
		"an answer to no attempt":              {Number: next, Event: engine.ModelFinished{Run: run, Call: 2, Attempt: 1}},
		"a start without approval":             {Number: next, Event: engine.ToolStarted{Run: run, CallID: asked, Attempt: 1}},
		"a second start":                       {Number: next, Event: engine.ToolStarted{Run: run, CallID: running, Attempt: 2}},
		"a start of an unknown call":           {Number: next, Event: engine.ToolStarted{Run: run, CallID: "x", Attempt: 1}},
		"a result while a person is asked":     {Number: next, Event: engine.ToolFinished{Run: run, CallID: asked}},
		"a result of another attempt":          {Number: next, Event: engine.ToolFinished{Run: run, CallID: running, Attempt: 2}},
		"a loss of what did not run":           {Number: next, Event: engine.ToolLost{Run: run, CallID: asked}},
		"an inspection of what runs":           {Number: next, Event: engine.ToolInspected{Run: run, CallID: running, Attempt: 1}},
		"a second question about a call":       {Number: next, Event: engine.InteractionRequired{Run: run, ID: "i", Interaction: api.InteractionApproval, CallID: asked}},
		"a question about what runs":           {Number: next, Event: engine.InteractionRequired{Run: run, ID: "i", Interaction: api.InteractionUnknownOutcome, CallID: running}},
		"an answer to what is not open":        {Number: next, Event: engine.InteractionResolved{Run: run, ID: "i"}},
		"an answer that is resolved already":   {Number: next, Event: engine.InteractionResolved{Run: run, ID: p.asks[1]}},
		"an answer in the name of another run": {Number: next, Event: engine.InteractionResolved{Run: "x", ID: p.asks[0]}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := mustSnapshot(t, p.state)
			_, err := engine.Apply(p.state, fact)
			var illegal *engine.TransitionError
			if !errors.As(err, &illegal) {
				t.Fatalf("got %v", err)
			}
			if illegal.Number != fact.Number || illegal.Kind != fact.Event.Kind() || !strings.Contains(err.Error(), running+" running attempt 1") {
				t.Errorf("the error does not tell the trail: %v", err)
			}
			if mustSnapshot(t, p.state) != before {
				t.Error("the state was changed")
			}
		})
	}
}

func TestDecisionsThatCannotFollowAreRefused(t *testing.T) {
	t.Parallel()
	reviewed := newPlay(t, worker(auto)).play(say("hi"), begin, asksFor("write", "put"), func(p *play) { p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1}) })
	summarising := newPlay(t, worker()).play(say("hi"), summarises)
	due := newPlay(t, worker()).play(say("hi"), begin, fails(api.CodeContextExhausted, false))
	screening := newPlay(t, worker()).play(say("hi"), begin, asksFor("write"), begin, screened(1, ""))
	run := reviewed.runs[0] // of each
	for name, test := range map[string]struct {
		on    *play
		event engine.Event
	}{
		"a second start of a review":          {reviewed, engine.ReviewStarted{Run: run, CallID: reviewed.calls[0], Attempt: 2}},
		"an end of a review that never began": {reviewed, engine.ReviewFinished{Run: run, CallID: reviewed.calls[1], Attempt: 1}},
		"a start of what is reviewed":         {reviewed, engine.ToolStarted{Run: run, CallID: reviewed.calls[0], Attempt: 1}},
		"a question about what is reviewed":   {reviewed, engine.InteractionRequired{Run: run, ID: "i", Interaction: api.InteractionApproval, CallID: reviewed.calls[0]}},
		"a check of what is reviewed":         {reviewed, engine.ToolChecked{Run: run, CallID: reviewed.calls[0]}},
		"a summary with a call open":          {reviewed, engine.CompactionStarted{Run: run, Attempt: 1}},
		"an end while a summary runs":         {summarising, engine.TurnEnded{Run: run}},
		"a second summary":                    {summarising, engine.CompactionStarted{Run: run, Attempt: 2}},
		"a model call beside a summary":       {summarising, engine.ModelStarted{Run: run, Call: 1, Attempt: 1}},
		"a shortening beside a summary":       {summarising, engine.CompactionFinished{Run: run}},
		"a failure of another attempt":        {summarising, engine.CompactionFailed{Run: run, Attempt: 2}},
		"a model call before a due summary":   {due, engine.ModelStarted{Run: run, Call: 1, Attempt: 2}},
		"a summary that never began":          {due, engine.CompactionFinished{Run: run, Attempt: 1}},
		"a second return":                     {screening, engine.ToolReturned{Run: run, CallID: screening.calls[0], Attempt: 1}},
		"a start of what has returned":        {screening, engine.ToolStarted{Run: run, CallID: screening.calls[0], Attempt: 2}},
	} {
		var illegal *engine.TransitionError
		if _, err := engine.Apply(test.on.state, engine.Fact{Number: test.on.state.Head + 1, Event: test.event}); !errors.As(err, &illegal) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range corpusLines(f) {
		f.Add(string(line.Kind), line.Version, []byte(line.Data))
	}
	f.Add("turn_ended", 1, []byte(`null`))
	f.Add("nothing", 3, []byte(`{}`))
	f.Fuzz(func(t *testing.T, kind string, version int, data []byte) {
		e, err := engine.Decode(engine.Kind(kind), version, data)
		if err != nil {
			return
		}
		s, err := engine.Encode(e)
		if err != nil {
			t.Fatalf("what was read as %+v is not written: %v", e, err)
		}
		again, err := engine.Decode(s.Kind, s.Version, s.Data)
		if err != nil {
			t.Fatalf("what was written as %s is not read: %v", s.Data, err)
		}
		if twice, err := engine.Encode(again); err != nil || !bytes.Equal(twice.Data, s.Data) {
			t.Fatalf("written as %s, then as %s (%v)", s.Data, twice.Data, err)
		}
		if _, err := engine.Public(engine.Fact{Number: 1, Event: e}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzFold folds journals of junk, a line an event: "kind data". Whatever folds can be asked and decided on.
func FuzzFold(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want.jsonl") {
			continue
		}
		var journal bytes.Buffer
		for _, line := range read[storedLine](f, file) {
			journal.WriteString(string(line.Kind) + " " + string(line.Data) + "\n")
		}
		f.Add(journal.Bytes())
	}
	f.Fuzz(func(t *testing.T, journal []byte) {
		s := &engine.State{Session: "s"}
		transcript := engine.NewTranscript()
		for line := range bytes.Lines(journal) {
			kind, data, _ := bytes.Cut(line, []byte(" "))
			e, err := engine.Decode(engine.Kind(kind), 1, data)
			if err != nil {
				continue
			}
			fact := engine.Fact{Number: s.Head + 1, Time: start, Event: e}
			after, err := engine.Apply(s, fact)
			if err != nil {
				var illegal *engine.TransitionError
				if !errors.As(err, &illegal) {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			s = after
			transcript.Apply(fact)
			ask(t, s)
		}
	})
}

// ask puts every question and every command to a state; none may panic.
func ask(t *testing.T, s *engine.State) {
	snapshot, err := engine.Snapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	engine.Due(s)
	engine.Activity(s)
	engine.Needs(s)
	engine.Timers(s)
	engine.UnknownActions(s)
	commands := []engine.Command{engine.Advance{}, engine.Cancel{}, engine.Delete{}, engine.Message{Text: "hi", WhenBusy: api.BusyInterrupt},
		engine.TakeOver{Epoch: 2}, engine.Create{}, engine.Revoke{Tool: "app.write"}}
	engine.Fits(s, 100, 1000)
	if s.Turn != nil {
		engine.Room(s, 100, 100, 1000)
		engine.Room(s, 100, 100, 0)
		commands = append(commands, engine.Compact{Run: s.Turn.Run, Plan: engine.Plan{Items: 1}}, engine.Compact{Run: s.Turn.Run, Full: &engine.Full{}})
	}
	for _, e := range engine.Pending(s) {
		commands = append(commands, engine.Begin{Effect: e},
			engine.ModelDone{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: e.Epoch, Items: []engine.Item{call("write")}},
			engine.ModelError{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: e.Epoch, Retryable: true},
			engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.Overdue{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.Returned{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.Reviewed{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch, Review: api.Review{Verdict: api.ReviewAllow}},
			engine.Checked{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.Compacted{Run: e.Run, Attempt: e.Attempt, Epoch: e.Epoch},
			engine.CompactError{Run: e.Run, Attempt: e.Attempt, Epoch: e.Epoch, Retryable: true},
			engine.Inspected{CallID: e.CallID, Attempt: e.Attempt, Answer: engine.InspectedUnknown})
	}
	for _, in := range s.Interactions {
		for _, d := range []api.Decision{api.AllowSession, api.Deny, api.OutcomeRetry, api.OutcomeSucceeded, api.Skipped} {
			commands = append(commands, engine.Answer{Interaction: in.ID, Answer: api.Answer{Decision: d}})
		}
	}
	for _, e := range engine.Begun(s) {
		if c := engine.Unmade(e, e.Epoch, "gone"); c != nil {
			commands = append(commands, c)
		}
	}
	for _, c := range commands {
		if _, _, err := engine.Decide(s, c, engine.Env{Now: start.Add(time.Hour)}); err != nil {
			engine.Commutes(s, c)
		}
	}
}

func corpusLines(t testing.TB) []storedLine {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var out []storedLine
	for _, file := range files {
		if !strings.HasSuffix(file, ".want.jsonl") {
			out = append(out, read[storedLine](t, file)...)
		}
	}
	return out
}
