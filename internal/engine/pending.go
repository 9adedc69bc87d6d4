package engine

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openworkerai/openworker/api"
)

// EffectKind is the kind of an effect.
type EffectKind string

const (
	ModelEffect   EffectKind = "model"   // Begin first, then call the model
	ToolEffect    EffectKind = "tool"    // Begin first, then run the body
	InspectEffect EffectKind = "inspect" // repeatable: no intent
	CheckEffect   EffectKind = "check"   // repeatable: no intent. The application's own check of a call
	ReviewEffect  EffectKind = "review"  // Begin first, then ask the reviewer
	ScreenEffect  EffectKind = "screen"  // no intent: hooks and guardrails look at an output that this process has
	CompactEffect EffectKind = "compact" // [Compact] first, then ask for a summary
)

// Bare reports whether an effect has no intent of its own.
func (k EffectKind) Bare() bool { return k == InspectEffect || k == CheckEffect || k == ScreenEffect }

// Effect is something that has to happen in the world. A running one is named for as long as its outcome
// is wanted: a host cancels a running effect that Pending does not name any more.
type Effect struct {
	Kind      EffectKind
	Run       string
	Call      int // model: number in the turn
	CallID    string
	Attempt   int
	Started   bool   // its intent is recorded
	Epoch     uint64 // of the intent
	NotBefore time.Time
	// Repeatable effects may run again when their outcome was lost.
	Repeatable bool
	// Early effects may start before their intent is durable, since one that nobody remembers leaves nothing
	// behind. An idempotent action is not: what makes it so is its call ID, and one that was never stored is
	// another at the next try.
	Early bool
}

// Key identifies an attempt of an effect.
func (e Effect) Key() string {
	switch e.Kind {
	case ModelEffect:
		return "model/" + e.Run + "/" + strconv.Itoa(e.Call) + "/" + strconv.Itoa(e.Attempt)
	case CompactEffect:
		return "compact/" + e.Run + "/" + strconv.Itoa(e.Attempt)
	}
	return string(e.Kind) + "/" + e.CallID + "/" + strconv.Itoa(e.Attempt)
}

// Pending selects the effects that a state asks for, in the order in which they should start.
func Pending(s *State) []Effect {
	t := s.Turn
	if t == nil {
		return nil
	}
	var out []Effect
	for i := range t.Tools {
		c := &t.Tools[i]
		if c.Status == ToolScreening { // also of a cancelled turn: what was done is done
			out = append(out, Effect{Kind: ScreenEffect, Run: t.Run, CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch})
		}
		if t.Cancel {
			continue
		}
		switch c.Status {
		case ToolChecking:
			out = append(out, Effect{Kind: CheckEffect, Run: t.Run, CallID: c.ID, Repeatable: true, Early: true})
		case ToolReviewing:
			e := Effect{Kind: ReviewEffect, Run: t.Run, CallID: c.ID, Attempt: c.Review.Attempt + 1, Repeatable: true, Early: true}
			if c.Review.Running {
				e.Attempt, e.Started, e.Epoch = c.Review.Attempt, true, c.Review.Epoch
			}
			out = append(out, e)
		case ToolReady:
			if c.Changed { // what a person changed is checked by the one that starts it, at that moment
				out = append(out, Effect{Kind: CheckEffect, Run: t.Run, CallID: c.ID, Attempt: c.Attempt + 1, Repeatable: true})
				continue
			}
			out = append(out, Effect{Kind: ToolEffect, Run: t.Run, CallID: c.ID, Attempt: c.Attempt + 1, Repeatable: c.Effect.Repeatable(), Early: c.Effect == api.ReadOnly})
		case ToolRunning:
			out = append(out, Effect{Kind: ToolEffect, Run: t.Run, CallID: c.ID, Attempt: c.Attempt, Started: true, Epoch: c.Epoch, Repeatable: c.Effect.Repeatable(), Early: c.Effect == api.ReadOnly})
		case ToolUnknown:
			out = append(out, Effect{Kind: InspectEffect, Run: t.Run, CallID: c.ID, Attempt: c.Attempt, NotBefore: c.Next, Repeatable: true, Early: true})
		}
	}
	if t.Cancel || t.open() || Underived(s) {
		return out
	}
	if c := &t.Compaction; t.Compact || c.Due {
		e := Effect{Kind: CompactEffect, Run: t.Run, Attempt: c.Attempt + 1, NotBefore: c.RetryAt, Repeatable: true, Early: true}
		if c.Running {
			e.Attempt, e.Started, e.Epoch, e.NotBefore = c.Attempt, true, c.Epoch, time.Time{}
		}
		return append(out, e)
	}
	e := Effect{Kind: ModelEffect, Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt + 1, NotBefore: t.Call.RetryAt, Repeatable: true, Early: true}
	if t.Call.Running {
		e.Attempt, e.Started, e.Epoch, e.NotBefore = t.Call.Attempt, true, t.Call.Epoch, time.Time{}
	}
	return append(out, e)
}

// Begun lists the effects that have started and have no outcome. Unlike Pending it lists those of a
// cancelled turn too: the turn ends once each of them has come to something.
func Begun(s *State) []Effect {
	t := s.Turn
	if t == nil {
		return nil
	}
	going := *s
	live := *t
	live.Cancel, going.Turn = false, &live
	return slices.DeleteFunc(Pending(&going), func(e Effect) bool { return !e.Started })
}

// Underived reports whether [Advance] would derive events from the state: a bare outcome came in and
// nobody has drawn its consequences yet.
func Underived(s *State) bool {
	t := s.Turn
	switch {
	case s.Deleted:
		return false
	case t == nil:
		return len(s.Queue) > 0
	case t.Cancel:
		return !t.inFlight() || len(s.Interactions) > 0 ||
			slices.ContainsFunc(t.Tools, func(c ToolCall) bool { return c.Status != ToolDone && !c.inFlight() })
	case t.open():
		return slices.ContainsFunc(t.Tools, func(c ToolCall) bool {
			return c.Status == ToolAsked && !s.asked(c.ID) || c.Status == ToolReviewed
		})
	case t.Call.Running || t.Compaction.Running:
		return false
	case t.Compact:
		return t.Call.Failure != nil || t.Compaction.Done > 0
	}
	return t.Call.Failure != nil || nextCall(t).none || t.Stop == StopFiltered || t.Stop != "" && (len(t.Tools) == 0 || t.Call.Closing)
}

// Due says when the session next needs a process: the zero time for never by itself, otherwise the
// earliest time at which something can start or goes on.
func Due(s *State) time.Time {
	var due time.Time
	at := func(t time.Time) {
		if t.Before(s.Time) {
			t = s.Time
		}
		if due.IsZero() || t.Before(due) {
			due = t
		}
	}
	if Underived(s) || s.Turn != nil && s.Turn.Cancel {
		at(s.Time)
	}
	for _, e := range Pending(s) {
		at(e.NotBefore)
	}
	return due
}

// Activity of an index row.
const (
	ActivityIdle    = "idle"
	ActivityActive  = "active"
	ActivityWaiting = "waiting"
)

// Activity says whether the session is idle, needs a process, or waits for a person or a time.
func Activity(s *State) string {
	due := Due(s)
	switch {
	case s.Turn == nil && len(s.Queue) == 0:
		return ActivityIdle
	case due.IsZero() || due.After(s.Time):
		return ActivityWaiting
	}
	return ActivityActive
}

// Needs lists what a process must have to go on with the session, sorted.
func Needs(s *State) []string {
	if s.Turn == nil {
		return nil
	}
	needs := []string{NeedAgent(s.Agent.Digest)}
	guardrails := slices.Concat(s.Agent.Guardrails, s.Turn.Guardrails)
	slices.Sort(guardrails)
	for _, name := range slices.Compact(guardrails) {
		needs = append(needs, NeedGuardrail(name))
	}
	for _, name := range slices.Sorted(slices.Values(s.Agent.Hooks)) {
		needs = append(needs, NeedHook(name))
	}
	if len(s.Context.Files) > 0 {
		needs = append(needs, NeedContent)
	}
	return append(needs, NeedProvider(s.Turn.Model.Provider), NeedRules(s.Turn.Rules))
}

// NeedGuardrail and NeedHook are the needs of what an agent or a turn names (RE8).
func NeedGuardrail(name string) string { return "guardrail:" + name }
func NeedHook(name string) string      { return "hook:" + name }

// NeedAgent is the need of a registered agent with its tools bound; NeedProvider that of a provider with its credential.
func NeedAgent(digest string) string  { return "agent:" + digest }
func NeedProvider(name string) string { return "provider:" + name }

// NeedContent is the need of a build that knows messages with files: another would take them for texts (CL2).
const NeedContent = "content:1"

// NeedRules is the need of a build that knows the rules.
func NeedRules(n int) string { return fmt.Sprintf("rules:%d", n) }

// Waiting reports whether the current turn waits for people only.
func Waiting(s *State) bool { return s.Turn != nil && Due(s).IsZero() }

// Timers lists what will happen by itself later than the last event.
func Timers(s *State) []api.Timer {
	var out []api.Timer
	for _, e := range Pending(s) {
		if !e.Started && e.NotBefore.After(s.Time) {
			kind := "retry"
			if e.Kind == InspectEffect {
				kind = "inspect"
			}
			out = append(out, api.Timer{Kind: kind, Run: e.Run, At: e.NotBefore})
		}
	}
	return out
}

// UnknownActions lists started actions whose outcome nobody has settled (RE3).
func UnknownActions(s *State) []api.UnknownAction {
	var out []api.UnknownAction
	for _, u := range s.Unsettled {
		out = append(out, api.UnknownAction{CallID: u.CallID, Tool: u.Tool, Attempt: u.Attempt})
	}
	if s.Turn == nil {
		return out
	}
	for _, c := range s.Turn.Tools {
		if c.Status != ToolUnknown && c.Status != ToolAsking {
			continue
		}
		a := api.UnknownAction{CallID: c.ID, Tool: c.Name, Attempt: c.Attempt}
		for _, in := range s.Interactions {
			if in.CallID == c.ID {
				a.Interaction = in.ID
			}
		}
		out = append(out, a)
	}
	return out
}
