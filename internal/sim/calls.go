package sim

import (
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// call is what a journal says of one tool call that is not refused: who has decided on it, and with which arguments.
type call struct {
	run, tool string
	arguments string // that it runs with
	changed   bool   // by a person
	asks      bool   // it is a question
	allowed   string // by whom it may run, "" while it may not
	denied    string // by whom
	verdict   api.ReviewVerdict
	returned  bool // its body has, and nobody has seen the output yet
	over      bool // it has its result
}

// byGrant is who allows what a session grant covers.
const byGrant = "grant"

// decide holds what a fact says of calls against what came before it, and notes it. It sees the fact before it is
// folded: what must not follow is told by what it breaks.
func (s *session) decide(f engine.Fact) {
	w := s.w
	switch e := f.Event.(type) {
	case engine.ModelFinished:
		for _, it := range e.Items {
			if it.Kind != engine.ItemCall || it.Code != "" {
				continue
			}
			if s.calls[it.CallID] != nil {
				w.fail("session %s: event %d makes call %s a second time", s.id, f.Number, it.CallID)
			}
			t := s.tool(func(t engine.Tool) bool { return t.ModelName == it.Name })
			c := &call{run: e.Run, tool: t.Name, arguments: it.Arguments, asks: t.Question}
			s.calls[it.CallID] = c
			if it.Check != w.checks {
				w.fail("session %s: event %d decides on %s, and the application's check comes first (%t): %t", s.id, f.Number, it.CallID, w.checks, it.Check)
			}
			if !it.Check {
				s.rule(f, it.CallID, it.Approved, it.Review)
			}
		}
	case engine.ToolChecked:
		c := s.open(f, e.CallID)
		if !slices.ContainsFunc(w.ledger.passed[e.CallID], func(p pass) bool { return p.attempt == 0 && p.arguments == c.arguments }) {
			w.fail("session %s: event %d says that %s was let pass, and nobody was asked", s.id, f.Number, e.CallID)
		}
		s.rule(f, e.CallID, e.Approved, e.Review)
	case engine.ReviewFinished:
		if !e.Lost {
			s.open(f, e.CallID).verdict = e.Review.Verdict
			said := w.ledger.verdicts[askKey(e.CallID, 0, e.Attempt, e.Epoch)]
			if e.Review.Verdict != api.ReviewUnsure && !slices.Contains(said, e.Review.Verdict) {
				w.fail("session %s: event %d says that the reviewer said %q of %s; it said %q", s.id, f.Number, e.Review.Verdict, e.CallID, said)
			}
			w.saw("reviewed as " + string(e.Review.Verdict))
		}
	case engine.InteractionRequired:
		c := s.open(f, e.CallID)
		s.asked = append(s.asked, e.ID)
		s.about[e.ID], s.kinds[e.ID] = e.CallID, e.Interaction
		if c.asks != (e.Interaction == api.InteractionQuestion) {
			w.fail("session %s: event %d asks about %s of tool %s by an interaction of kind %s", s.id, f.Number, e.CallID, c.tool, e.Interaction)
		}
		if q := e.Question; c.asks && (q == nil || q.Multiple != engine.ParseQuestion(c.arguments).Multiple) {
			w.fail("session %s: event %d asks %s as %+v", s.id, f.Number, c.arguments, q)
		}
	case engine.InteractionResolved:
		s.resolve(f, e)
	case engine.GrantRevoked:
		delete(s.grants, e.Tool)
		if s.state.Turn == nil {
			break
		}
		for _, t := range s.state.Turn.Tools {
			if c := s.calls[t.ID]; c != nil && c.tool == e.Tool && c.allowed == byGrant && t.Status == engine.ToolReady && !t.Doubt {
				c.allowed = "" // it has not begun, or has not acted
			}
		}
	case engine.ToolStarted:
		c := s.open(f, e.CallID)
		want := ""
		if c.changed {
			want = digest(c.arguments)
		}
		switch {
		case c.allowed == "":
			w.fail("session %s: event %d begins %s, which nobody has allowed", s.id, f.Number, e.CallID)
		case e.Digest != want:
			w.fail("session %s: event %d begins %s with other arguments than %s", s.id, f.Number, e.CallID, c.arguments)
		}
		c.returned = false
	case engine.ToolReturned:
		s.open(f, e.CallID).returned = true
	case engine.ToolFinished:
		s.finished(f, e)
	}
}

// open finds a call that a fact is about. It must not be denied.
func (s *session) open(f engine.Fact, id string) *call {
	c := s.calls[id]
	switch {
	case c == nil:
		s.w.fail("session %s: event %d %s is about call %s, which there is not", s.id, f.Number, f.Event.Kind(), id)
	case c.denied != "":
		s.w.fail("session %s: event %d %s goes on with %s, which %s has denied", s.id, f.Number, f.Event.Kind(), id, c.denied)
	}
	return c
}

func (s *session) tool(is func(engine.Tool) bool) engine.Tool {
	for _, t := range s.state.Agent.Tools {
		if is(t) {
			return t
		}
	}
	return engine.Tool{}
}

// rule holds a ruling against the agent's mode and the session's grants.
func (s *session) rule(f engine.Fact, id, approved string, review bool) {
	c, mode := s.calls[id], s.state.Agent.Mode
	t := s.tool(func(t engine.Tool) bool { return t.Name == c.tool })
	want := ""
	switch {
	case s.grants[t.Name]:
		want = engine.ApprovedByGrant
	case t.Question, mode == api.ApproveAuto:
	case mode == api.ApproveNever:
		want = engine.ApprovedByNever
	case !t.Ask:
		want = engine.ApprovedByPolicy
	}
	revoked := approved == engine.ApprovedByGrant && want != approved // while the answer was on its way: it covers nothing
	if approved != want && !revoked || review != (approved == "" && mode == api.ApproveAuto && !t.Question) {
		s.w.fail("session %s: event %d lets %s pass by %q (review: %t); the mode is %s, and a grant covers %s: %t",
			s.id, f.Number, id, approved, review, mode, t.Name, s.grants[t.Name])
	}
	switch {
	case revoked:
		s.w.saw("grant that was revoked in time")
	case approved == engine.ApprovedByGrant:
		c.allowed = byGrant
	default:
		c.allowed = approved
	}
	if approved == engine.ApprovedByPolicy {
		s.approved[c.run]++
	}
}

// resolve takes an answer to an interaction.
func (s *session) resolve(f engine.Fact, e engine.InteractionResolved) {
	w := s.w
	if before, twice := s.resolved[e.ID]; twice {
		w.fail("session %s: event %d resolves %s as %s, which was resolved as %s", s.id, f.Number, e.ID, e.Decision, before.Decision)
	}
	s.resolved[e.ID] = e
	c := s.open(f, s.about[e.ID])
	if e.By == engine.ByReviewer {
		if want := (map[api.Decision]api.ReviewVerdict{api.AllowOnce: api.ReviewAllow, api.Deny: api.ReviewDeny})[e.Decision]; want == "" || c.verdict != want {
			w.fail("session %s: event %d is the reviewer's %s, who said %q", s.id, f.Number, e.Decision, c.verdict)
		}
		w.saw("reviewer's " + string(e.Decision))
	} else {
		w.saw("answer " + string(e.Decision))
	}
	who := e.By
	if who == "" {
		who = "somebody"
	}
	switch e.Decision {
	case api.AllowOnce, api.AllowSession:
		c.allowed = who
		if e.Arguments != "" {
			c.arguments, c.changed = e.Arguments, true
			w.saw("changed arguments")
		}
		if e.Decision == api.AllowSession {
			s.grants[c.tool] = true
		}
	case api.Deny:
		c.denied, c.allowed = who, ""
		for _, b := range w.ledger.bodies[s.about[e.ID]] {
			if !b.allowed { // else under a grant that was revoked since
				w.fail("session %s: event %d denies %s, and attempt %d of it has run in %s", s.id, f.Number, b.call, b.attempt, b.p.name)
			}
		}
	case api.OutcomeRetry:
		w.ledger.allow(s.about[e.ID])
	}
}

// finished holds a result against what was decided.
func (s *session) finished(f engine.Fact, e engine.ToolFinished) {
	w, c := s.w, s.calls[e.CallID]
	switch {
	case c == nil:
		w.fail("session %s: event %d is the result of %s, which there is not", s.id, f.Number, e.CallID)
	case c.over:
		w.fail("session %s: event %d is a second result of %s (denied by %q)", s.id, f.Number, e.CallID, c.denied)
	case e.Code == api.CodeDenied && c.denied == "":
		if !w.checks || !forbidden(c.arguments) {
			w.fail("session %s: event %d says that %s was denied, and nobody did", s.id, f.Number, e.CallID)
		}
		c.denied = "the application"
	case e.Code == api.CodeOutputLost && !(c.returned && slices.ContainsFunc(w.ledger.bodies[e.CallID], func(b *body) bool { return b.applied })):
		w.fail("session %s: event %d says that the output of %s is lost, but no body of it has come to its end", s.id, f.Number, e.CallID)
	case e.Code == api.CodeOutputLost:
		w.saw("lost output")
	}
	c.over = true
}
