package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

// ledger follows a journal without the engine's fold and tells what it must never hold.
type ledger struct {
	tools   map[string]engine.Tool // by the model's name
	runs    map[string]*runEntry
	calls   map[string]*callEntry
	order   []string // runs as they were accepted
	current string
	queue   []string
	deleted bool
	// notStarted is the call of which the host says that its body was never entered.
	notStarted string
}

type runEntry struct {
	limits      engine.Limits
	ended       int
	cancelled   bool
	calls       int // answered or lost
	output      int
	running     bool
	interaction map[string]string // open: ID → call
	answered    []string          // calls
}

type callEntry struct {
	run      string
	effect   api.Effect
	refused  bool
	approved bool
	starts   int
	mayStart bool // again
	results  int
}

func newLedger(a engine.Agent) *ledger {
	l := &ledger{tools: map[string]engine.Tool{}, runs: map[string]*runEntry{}, calls: map[string]*callEntry{}}
	for _, tool := range a.Tools {
		l.tools[tool.ModelName] = tool
	}
	return l
}

// follow takes an event and returns what is wrong with it, or nil.
func (l *ledger) follow(event engine.Event) error {
	if l.deleted {
		return fmt.Errorf("%s follows the deletion", event.Kind())
	}
	intent := func(run string) error {
		r := l.runs[run]
		switch {
		case run != l.current:
			return fmt.Errorf("intent of %s, which is not the current run", run)
		case r.cancelled:
			return fmt.Errorf("intent of %s after its cancel", run)
		}
		return nil
	}
	switch e := event.(type) {
	case engine.TurnAccepted:
		if l.runs[e.Run] != nil {
			return fmt.Errorf("run %s is accepted twice", e.Run)
		}
		l.runs[e.Run] = &runEntry{limits: e.Limits, interaction: map[string]string{}}
		l.order = append(l.order, e.Run)
		switch {
		case !e.Queued && l.current != "":
			return fmt.Errorf("run %s begins beside %s", e.Run, l.current)
		case !e.Queued:
			l.current = e.Run
		case e.Front:
			l.queue = append([]string{e.Run}, l.queue...)
		default:
			l.queue = append(l.queue, e.Run)
		}
		if len(l.queue) > api.MaxQueuedTurns {
			return fmt.Errorf("%d runs are queued", len(l.queue))
		}
	case engine.TurnStarted:
		if l.current != "" || len(l.queue) == 0 || l.queue[0] != e.Run {
			return fmt.Errorf("run %s starts out of turn: current %q, queue %v", e.Run, l.current, l.queue)
		}
		l.current, l.queue = e.Run, l.queue[1:]
	case engine.CancelRequested:
		l.runs[e.Run].cancelled = true
	case engine.TurnEnded:
		return l.ended(e)
	case engine.ModelStarted:
		r := l.runs[e.Run]
		for _, id := range r.answered {
			if l.calls[id].results == 0 {
				return fmt.Errorf("a model call while call %s has no result", id)
			}
		}
		switch {
		case r.running:
			return fmt.Errorf("two model calls of %s run at once", e.Run)
		case r.calls+1 > r.limits.Calls:
			return fmt.Errorf("call %d of %d", r.calls+1, r.limits.Calls)
		case e.Max < 1 || e.Max > r.limits.PerCall:
			return fmt.Errorf("a call asks for %d, %d is the most per call", e.Max, r.limits.PerCall)
		case r.limits.Output > 0 && r.output+e.Max > r.limits.Output:
			return fmt.Errorf("a call asks for %d where %d of %d are used", e.Max, r.output, r.limits.Output)
		case !e.Closing && r.limits.Output > 0 && r.output+e.Max+r.limits.Summary > r.limits.Output:
			return fmt.Errorf("a working call asks for %d, which cuts into the summary reserve", e.Max)
		case !e.Closing && r.calls+1 == r.limits.Calls:
			return fmt.Errorf("the last call is not a closing one")
		}
		r.running = true
		return intent(e.Run)
	case engine.ModelFailed:
		r := l.runs[e.Run]
		r.running = false
		r.output += int(max(e.Usage.OutputTokens, 0))
		if e.Lost {
			r.calls++
		}
	case engine.ModelFinished:
		return l.answered(e)
	case engine.ToolStarted:
		c := l.calls[e.CallID]
		switch {
		case c.refused:
			return fmt.Errorf("call %s was refused and starts", e.CallID)
		case !c.approved:
			return fmt.Errorf("call %s starts without approval", e.CallID)
		case c.results > 0:
			return fmt.Errorf("call %s starts behind its result", e.CallID)
		case c.starts > 0 && !c.mayStart && !c.effect.Repeatable():
			return fmt.Errorf("side effect %s starts again, and nobody said so", e.CallID)
		case e.Attempt != c.starts+1:
			return fmt.Errorf("attempt %d follows %d", e.Attempt, c.starts)
		}
		c.starts, c.mayStart = c.starts+1, false
		return intent(e.Run)
	case engine.ToolLost:
		c := l.calls[e.CallID]
		c.mayStart = l.notStarted == e.CallID
		if e.Again && !c.mayStart && !c.effect.Repeatable() {
			return fmt.Errorf("side effect %s is to run again, and nobody said so", e.CallID)
		}
	case engine.ToolInspected:
		l.calls[e.CallID].mayStart = e.Answer == engine.InspectedNotStarted
	case engine.ToolFinished:
		c := l.calls[e.CallID]
		if c.results++; c.results > 1 {
			return fmt.Errorf("call %s has a second result", e.CallID)
		}
	case engine.InteractionRequired:
		l.runs[e.Run].interaction[e.ID] = e.CallID
	case engine.InteractionResolved:
		return l.resolved(e)
	case engine.SessionDeleted:
		l.deleted = true
	}
	return nil
}

func (l *ledger) ended(e engine.TurnEnded) error {
	r := l.runs[e.Run]
	if r.ended++; r.ended > 1 {
		return fmt.Errorf("run %s ends twice", e.Run)
	}
	for _, id := range r.answered {
		if l.calls[id].results != 1 {
			return fmt.Errorf("run %s ends with %d results of call %s", e.Run, l.calls[id].results, id)
		}
	}
	if r.running || len(r.interaction) > 0 {
		return fmt.Errorf("run %s ends with a call or a question open", e.Run)
	}
	if l.current == e.Run {
		l.current = ""
		return nil
	}
	for i, run := range l.queue {
		if run == e.Run {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("run %s ends and was neither current nor queued", e.Run)
}

func (l *ledger) answered(e engine.ModelFinished) error {
	r := l.runs[e.Run]
	r.running = false
	r.calls++
	r.output += int(max(e.Usage.OutputTokens, 0))
	r.answered = nil
	for _, it := range e.Items {
		if it.Kind != engine.ItemCall {
			continue
		}
		if l.calls[it.CallID] != nil {
			return fmt.Errorf("call ID %s is there twice", it.CallID)
		}
		tool, known := l.tools[it.Name]
		c := &callEntry{run: e.Run, effect: tool.Effect, refused: it.Code != "", approved: it.Approved != ""}
		if c.refused {
			c.results = 1
		} else if !known || tool.Disabled || e.Stop == engine.StopOutputLimit || e.Stop == engine.StopFiltered {
			return fmt.Errorf("call of %q in an answer that stopped with %s is let pass", it.Name, e.Stop)
		}
		l.calls[it.CallID] = c
		r.answered = append(r.answered, it.CallID)
	}
	return nil
}

func (l *ledger) resolved(e engine.InteractionResolved) error {
	r := l.runs[e.Run]
	id, ok := r.interaction[e.ID]
	if !ok {
		return fmt.Errorf("interaction %s is resolved and was not open", e.ID)
	}
	delete(r.interaction, e.ID)
	switch e.Decision {
	case api.AllowOnce, api.AllowSession:
		l.calls[id].approved = true
	case api.OutcomeRetry:
		l.calls[id].mayStart = true
	}
	return nil
}

// settled tells what is wrong with a journal behind which nothing is to be done: each run has its one end.
func (l *ledger) settled(idle bool) error {
	for _, run := range l.order {
		if l.runs[run].ended == 0 && !l.deleted && (idle || run != l.current && !strings.Contains(strings.Join(l.queue, " "), run)) {
			return fmt.Errorf("run %s has no end", run)
		}
	}
	return nil
}

// request maps a conversation as a host does, leaving out and making up nothing but what it may: a refused
// call's arguments and name are whatever the model gave.
func request(entries []engine.Entry) model.Request {
	req := model.Request{Model: "m"}
	for _, e := range entries {
		item := model.Item{Text: e.Text}
		switch e.Kind {
		case engine.EntryUser, engine.EntryNotice:
			item.Kind = model.UserItem
		case engine.EntryText:
			item.Kind = model.AssistantItem
		case engine.EntryReasoning:
			item.Kind = model.ReasoningItem
		case engine.EntryCall:
			item = model.Item{Kind: model.ToolCallItem, CallID: e.CallID, Name: e.Name, Arguments: json.RawMessage(e.Arguments)}
			if !model.ValidName(e.Name) {
				item.Name = "unknown"
			}
			if !strings.HasPrefix(e.Arguments, "{") || !json.Valid(item.Arguments) {
				item.Arguments = json.RawMessage("{}")
			}
		case engine.EntryResult:
			item = model.Item{Kind: model.ToolResultItem, CallID: e.CallID, Output: e.Text, Failed: e.Code != ""}
			if e.Open {
				item.CallID = "" // not to be sent
			}
		}
		req.Items = append(req.Items, item)
	}
	return req
}

// paired checks a conversation that may have open results: each answer's calls are followed by their
// results, in call order, one each, and no call ID recurs.
func paired(entries []engine.Entry) error {
	seen := map[string]bool{}
	var due []string
	for i, e := range entries {
		switch e.Kind {
		case engine.EntryCall:
			if seen[e.CallID] {
				return fmt.Errorf("entry %d: call %s is there twice", i, e.CallID)
			}
			seen[e.CallID] = true
			due = append(due, e.CallID)
		case engine.EntryResult:
			if len(due) == 0 || due[0] != e.CallID {
				return fmt.Errorf("entry %d: result of %s where %v are due", i, e.CallID, due)
			}
			due = due[1:]
		case engine.EntryUser, engine.EntryNotice:
			if len(due) > 0 {
				return fmt.Errorf("entry %d: a user's entry before the results of %v", i, due)
			}
		case engine.EntryText, engine.EntryReasoning:
		default:
			return fmt.Errorf("entry %d is of kind %q", i, e.Kind)
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("%v have no place for their results", due)
	}
	return nil
}
