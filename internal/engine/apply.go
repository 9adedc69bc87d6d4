package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Fact is an event with what the store adds.
type Fact struct {
	Number uint64
	Time   time.Time
	Event  Event
}

// TransitionError reports an event that cannot follow the state: a fault of ours or a damaged journal.
type TransitionError struct {
	Session string
	Number  uint64
	Kind    Kind
	Why     string
	Trail   string // where the state stood
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("engine: session %s: event %d %s cannot follow: %s (state: %s)", e.Session, e.Number, e.Kind, e.Why, e.Trail)
}

// Fold applies facts in order to a copy of s.
func Fold(s *State, facts ...Fact) (*State, error) {
	c := s.Clone()
	for _, f := range facts {
		if err := c.apply(f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Apply folds one fact into a copy of s.
func Apply(s *State, f Fact) (*State, error) { return Fold(s, f) }

// apply folds a fact in place. After an error the state is not to be used.
func (s *State) apply(f Fact) error {
	illegal := func(format string, args ...any) error {
		return &TransitionError{Session: s.Session, Number: f.Number, Kind: f.Event.Kind(), Why: fmt.Sprintf(format, args...), Trail: s.trail()}
	}
	if f.Number != s.Head+1 {
		return illegal("its number follows %d, the head is %d", f.Number-1, s.Head)
	}
	_, first := f.Event.(SessionCreated)
	if first != (s.Head == 0) {
		return illegal("a journal begins with session_created, once")
	}
	if s.Deleted {
		return illegal("the session is deleted")
	}
	if err := s.fold(f, illegal); err != nil {
		return err
	}
	s.Head, s.Time = f.Number, f.Time
	return nil
}

func (s *State) fold(f Fact, illegal func(string, ...any) error) error {
	turn := func(run string) (*Turn, error) {
		if s.Turn == nil || s.Turn.Run != run {
			return nil, illegal("run %s is not the current one", run)
		}
		return s.Turn, nil
	}
	call := func(run, id string) (*Turn, *ToolCall, error) {
		t, err := turn(run)
		if err != nil {
			return nil, nil, err
		}
		c := t.tool(id)
		if c == nil {
			return nil, nil, illegal("call %s is not of the last answer", id)
		}
		if c.Status == ToolDone {
			return nil, nil, illegal("call %s has its result", id)
		}
		return t, c, nil
	}
	switch e := f.Event.(type) {
	case SessionCreated:
		s.Created, s.Secret, s.Owner, s.Workspace, s.Metadata = f.Time, e.Secret, e.Owner, e.Workspace, e.Metadata
		s.Agent, s.Model, s.AutoApproverContext, s.Compaction, s.SkipQuestions = e.Agent, e.Model, e.AutoApproverContext, e.Compaction, e.AutoSkipQuestions

	case HistoryImported:
		if s.Turn != nil || len(s.Queue) > 0 || s.Context.Size > 0 {
			return illegal("a conversation is imported before the first message")
		}
		s.Context.add(contextBytes(e))

	case TurnAccepted:
		if e.Rules > Rules {
			return illegal("it was accepted under rules %d, this build knows %d", e.Rules, Rules)
		}
		q := Queued{Run: e.Run, Accepted: f.Number, Rules: e.Rules, Model: e.Model, Limits: e.Limits,
			Compact: e.Compact, Guardrails: e.Guardrails, Addendum: len(e.Addendum), Bytes: contextBytes(e), Files: heldFiles(f.Number, e.Content), Inspects: e.Inspects, Refuses: e.Refuses}
		switch {
		case !e.Queued && (s.Turn != nil || len(s.Queue) > 0):
			return illegal("another run is under way or waits")
		case !e.Queued:
			s.begin(q)
		case e.Front:
			s.Queue = slices.Insert(s.Queue, 0, q)
		default:
			s.Queue = append(s.Queue, q)
		}

	case TurnStarted:
		if s.Turn != nil || len(s.Queue) == 0 || s.Queue[0].Run != e.Run {
			return illegal("run %s is not first in the queue of an idle session", e.Run)
		}
		q := s.Queue[0]
		s.Queue = slices.Delete(s.Queue, 0, 1)
		s.begin(q)

	case CancelRequested:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		t.Cancel = true

	case TurnEnded:
		if i := slices.IndexFunc(s.Queue, func(q Queued) bool { return q.Run == e.Run }); i >= 0 {
			s.Queue = slices.Delete(s.Queue, i, i+1)
			return nil
		}
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if t.open() || t.inFlight() {
			return illegal("a call of it has no outcome")
		}
		s.Turn = nil

	case ModelStarted:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if t.Call.Running || t.open() || e.Call != t.Calls+1 || e.Attempt != t.Call.Attempt+1 {
			return illegal("call %d attempt %d is not due", e.Call, e.Attempt)
		}
		if t.Compact || t.Compaction.Due {
			return illegal("older history is to be summarised first")
		}
		t.Call.Attempt, t.Call.Epoch, t.Call.Running, t.Call.Max, t.Call.Closing = e.Attempt, e.Epoch, true, e.Max, e.Closing
		s.Context.started(e.Size)
		t.Call.RetryAt, t.Stop = time.Time{}, ""

	case ModelFailed:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if !t.Call.Running || e.Attempt != t.Call.Attempt || e.Call != t.Calls+1 {
			return illegal("call %d attempt %d is not running", e.Call, e.Attempt)
		}
		s.charge(t, e.Usage)
		if e.Lost {
			t.Calls++
			t.Call = Call{RetryAt: e.RetryAt}
			return nil
		}
		t.Call.Running = false
		t.Call.Failures++
		t.Call.RetryAt = e.RetryAt
		if e.Compact {
			t.Call.Overflowed, t.Compaction.Due = true, true
			// Bytes teach nothing of the window, as long as files may be what is too much.
			if t.Compaction.Bare = e.Code == api.CodeRequestTooLarge && s.olderFiles(); !t.Compaction.Bare {
				s.Context.overflowed(t.Call.Max, e.Window)
			}
		}
		if e.Final {
			t.Call.Failure = &Failure{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
		}

	case ModelFinished:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if !t.Call.Running || e.Attempt != t.Call.Attempt || e.Call != t.Calls+1 {
			return illegal("call %d attempt %d is not running", e.Call, e.Attempt)
		}
		s.charge(t, e.Usage)
		s.Context.reported(e.Usage)
		s.Context.add(contextBytes(e))
		t.Calls++
		t.TakeOvers = 0
		t.Last, t.Stop = f.Number, e.Stop
		t.Tools = nil
		for i, it := range e.Items {
			switch it.Kind {
			case ItemText:
				t.Answer = f.Number
			case ItemCall:
				if t.tool(it.CallID) != nil {
					return illegal("call %s is there twice", it.CallID)
				}
				c := ToolCall{ID: it.CallID, Index: i}
				if known := s.Agent.byModelName(it.Name); known != nil {
					c.Name, c.Effect = known.Name, known.Effect
					c.Multiple = known.Question && ParseQuestion(it.Arguments).Multiple
				}
				switch {
				case it.Code != "":
					c.Status = ToolDone
				case it.Check:
					c.Status = ToolChecking
				default:
					s.ruled(t, &c, it.Approved, it.Review)
				}
				t.Tools = append(t.Tools, c)
			}
		}
		t.Call = Call{Closing: t.Call.Closing}

	case ToolChecked:
		t, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolChecking {
			return illegal("call %s is %s and not being checked", e.CallID, c.Status)
		}
		s.ruled(t, c, e.Approved, e.Review)

	case ReviewStarted:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolReviewing || c.Review.Running || e.Attempt != c.Review.Attempt+1 {
			return illegal("call %s attempt %d of a review is not due (it is %s)", e.CallID, e.Attempt, c.Status)
		}
		c.Review.Attempt, c.Review.Epoch, c.Review.Running = e.Attempt, e.Epoch, true

	case ReviewFinished:
		t, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolReviewing || !c.Review.Running || e.Attempt != c.Review.Attempt {
			return illegal("call %s attempt %d of a review is not running", e.CallID, e.Attempt)
		}
		s.chargeAside(t, e.Usage)
		c.Review.Running = false
		if !e.Lost {
			verdict := e.Review
			c.Status, c.Review.Verdict = ToolReviewed, &verdict
			t.TakeOvers = 0
		}

	case CompactionStarted:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if t.Compaction.Running || t.Call.Running || t.open() || e.Attempt != t.Compaction.Attempt+1 {
			return illegal("attempt %d of a compaction is not due", e.Attempt)
		}
		t.Compaction.Due, t.Compaction.Running, t.Compaction.RetryAt = true, true, time.Time{}
		t.Compaction.Attempt, t.Compaction.Epoch, t.Compaction.Plan = e.Attempt, e.Epoch, e.Plan

	case CompactionFailed:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		if !t.Compaction.Running || e.Attempt != t.Compaction.Attempt {
			return illegal("attempt %d of a compaction is not running", e.Attempt)
		}
		s.chargeAside(t, e.Usage)
		t.Compaction.Running, t.Compaction.RetryAt = false, e.RetryAt
		switch {
		case e.Lost:
		case e.Final:
			t.Call.Failure = &Failure{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
		case e.GivenUp:
			t.Compaction.GivenUp = true
		case e.Code == api.CodeContextExhausted:
			t.Compaction.Shrink++
		default:
			t.Compaction.Failures++
		}

	case CompactionFinished:
		t, err := turn(e.Run)
		if err != nil {
			return err
		}
		running := t.Compaction.Running
		if running != (e.Attempt > 0) || running && e.Attempt != t.Compaction.Attempt || t.Call.Running || t.open() {
			return illegal("attempt %d of a compaction is not running, or another one is", e.Attempt)
		}
		s.chargeAside(t, e.Usage)
		s.Context.compacted(e.Plan, t.Accepted, len(e.Summary))
		t.Compaction = t.Compaction.finished(e.More)
		t.TakeOvers = 0

	case GrantRevoked:
		s.Grants = slices.DeleteFunc(s.Grants, func(g api.Grant) bool { return g.Tool == e.Tool })
		if s.Turn != nil {
			for i := range s.Turn.Tools { // what has not begun, or has not acted, is asked about after all
				if c := &s.Turn.Tools[i]; c.Name == e.Tool && c.Approved == ApprovedByGrant && c.Status == ToolReady && !c.Doubt {
					c.Status, c.Approved = ToolAsked, ""
				}
			}
		}

	case ToolReturned:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolRunning || e.Attempt != c.Attempt {
			return illegal("call %s attempt %d is not running", e.CallID, e.Attempt)
		}
		c.Status, c.Failed = ToolScreening, e.Failed

	case ToolStarted:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolReady || e.Attempt != c.Attempt+1 {
			return illegal("call %s attempt %d is not ready (it is %s)", e.CallID, e.Attempt, c.Status)
		}
		c.Status, c.Attempt, c.Epoch = ToolRunning, e.Attempt, e.Epoch
		c.Inspections, c.Next = 0, time.Time{}

	case ToolFinished:
		t, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if e.Attempt != c.Attempt || s.asked(c.ID) {
			return illegal("call %s is at attempt %d, or a person is still asked about it", c.ID, c.Attempt)
		}
		if e.Code == api.CodeOutcomeUnknown {
			s.Unsettled = lastN(append(s.Unsettled, UnsettledCall{CallID: c.ID, Tool: c.Name, Run: t.Run, Attempt: c.Attempt, Epoch: c.Epoch}), maxUnsettled)
		} else if c.Attempt > 0 {
			t.TakeOvers = 0
		}
		c.Status, c.Next = ToolDone, time.Time{}
		s.Context.add(contextBytes(e))

	case ToolLost:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolRunning && c.Status != ToolScreening || e.Attempt != c.Attempt {
			return illegal("call %s attempt %d is not running", e.CallID, e.Attempt)
		}
		c.Status = ToolUnknown
		if e.Again {
			c.Status = ToolReady
		}
		// A side effect that may run again never started.
		c.Doubt = c.Doubt || c.Effect != api.ReadOnly && (!e.Again || c.Effect.Repeatable())

	case ToolInspected:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		if c.Status != ToolUnknown || e.Attempt != c.Attempt {
			return illegal("call %s attempt %d is not unknown", e.CallID, e.Attempt)
		}
		c.Inspections++
		c.Next = e.Again
		if e.Answer == InspectedNotStarted {
			c.Status, c.Doubt = ToolReady, false
		}

	case ToolLate:
		s.Unsettled = slices.DeleteFunc(s.Unsettled, func(u UnsettledCall) bool { return u.CallID == e.CallID })
		s.Notices += contextBytes(e)

	case InteractionRequired:
		_, c, err := call(e.Run, e.CallID)
		if err != nil {
			return err
		}
		from, to := ToolAsked, ToolAsked
		if e.Interaction == api.InteractionUnknownOutcome {
			from, to = ToolUnknown, ToolAsking
		}
		if c.Status == ToolReviewed && to == ToolAsked {
			from = ToolReviewed
		}
		if c.Status != from || s.asked(c.ID) {
			return illegal("call %s is %s, or a person is asked about it already", c.ID, c.Status)
		}
		c.Status = to
		s.Interactions = append(s.Interactions, Interaction{ID: e.ID, Number: f.Number, Kind: e.Interaction, CallID: e.CallID, Multiple: e.Question != nil && e.Question.Multiple})

	case InteractionResolved:
		in := s.interaction(e.ID)
		if in == nil {
			return illegal("interaction %s is not open", e.ID)
		}
		t, c, err := call(e.Run, in.CallID)
		if err != nil {
			return err
		}
		switch e.Decision {
		case api.AllowSession:
			if !s.granted(c.Name) {
				s.Grants = append(s.Grants, api.Grant{Tool: c.Name, Given: f.Time, By: e.By})
			}
			c.Status = ToolReady
		case api.AllowOnce, api.OutcomeRetry:
			c.Status = ToolReady
			c.Changed = c.Changed || e.Arguments != ""
			if e.By == ByGrant { // and ends with it, if it ends before the call has begun
				c.Approved = ApprovedByGrant
			}
		}
		t.TakeOvers = 0
		s.Context.add(contextBytes(e))
		s.Resolved = lastN(append(s.Resolved, Resolved{ID: e.ID, Answer: e.answer().key()}), maxResolved)
		s.Interactions = slices.DeleteFunc(s.Interactions, func(i Interaction) bool { return i.ID == e.ID })

	case TakenOver:
		// A turn that waits for people only cannot be what ended the process; where nobody held it, nobody ended.
		if s.Turn != nil && !Waiting(s) && e.From != "" {
			s.Turn.TakeOvers++
		}

	case SessionDeleted:
		s.Deleted, s.Turn, s.Queue, s.Interactions = true, nil, nil, nil

	default:
		return illegal("this build does not know the kind")
	}
	return nil
}

func (s *State) begin(q Queued) {
	s.Turn = &Turn{Run: q.Run, Accepted: q.Accepted, Rules: q.Rules, Model: q.Model, Limits: q.Limits,
		Bytes: q.Bytes, Compact: q.Compact, Guardrails: q.Guardrails, Addendum: q.Addendum}
	s.Context.turn(q.Model)
	s.Context.add(q.Bytes + s.Notices)
	s.Context.Files = slices.Concat(s.Context.Files, q.Files)
	s.Notices = 0
}

// ruled puts a ruling into effect: the call may run, the reviewer is asked, or a person is. A grant that was revoked
// while the answer was on its way covers nothing.
func (s *State) ruled(t *Turn, c *ToolCall, approved string, review bool) {
	if approved == ApprovedByGrant && !s.granted(c.Name) {
		approved = ""
	}
	c.Approved = approved
	switch {
	case review:
		c.Status = ToolReviewing
	case approved == "":
		c.Status = ToolAsked
	default:
		c.Status = ToolReady
	}
	if approved == ApprovedByPolicy {
		t.AutoApproved++
	}
}

// trail tells where a state stands, for error messages.
func (s *State) trail() string {
	if s.Turn == nil {
		return fmt.Sprintf("head %d, idle, %d queued", s.Head, len(s.Queue))
	}
	t := s.Turn
	text := fmt.Sprintf("head %d, run %s, calls %d, call %+v, cancel %t", s.Head, t.Run, t.Calls, t.Call, t.Cancel)
	for _, c := range t.Tools {
		text += fmt.Sprintf(", %s %s attempt %d", c.ID, c.Status, c.Attempt)
	}
	return text
}

func lastN[T any](s []T, n int) []T {
	if len(s) > n {
		return slices.Delete(s, 0, len(s)-n)
	}
	return s
}
