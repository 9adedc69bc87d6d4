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
	grants  map[string]bool
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
	compact     bool // it has no message
	summarises  bool
	overflowed  bool // the call that is due
	usage       api.Usage
	auxiliary   api.Usage         // of reviews and summaries
	interaction map[string]string // open: ID → call
	answered    []string          // calls
}

type callEntry struct {
	run       string
	tool      engine.Tool
	refused   bool
	denied    bool
	approved  bool
	byGrant   bool
	review    bool // the reviewer decides
	reviewing bool
	changed   bool
	starts    int
	mayStart  bool // again
	results   int
}

func newLedger(a engine.Agent) *ledger {
	l := &ledger{tools: map[string]engine.Tool{}, runs: map[string]*runEntry{}, calls: map[string]*callEntry{}, grants: map[string]bool{}}
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
		l.runs[e.Run] = &runEntry{limits: e.Limits, compact: e.Compact, interaction: map[string]string{}}
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
		if err := l.allDone(r); err != nil {
			return fmt.Errorf("a model call while %w", err)
		}
		switch {
		case r.compact:
			return fmt.Errorf("a model call of %s, which has no message", e.Run)
		case r.summarises:
			return fmt.Errorf("a model call of %s while older history is summarised", e.Run)
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
		r.usage = r.usage.Add(e.Usage)
		if e.Compact && r.overflowed {
			return fmt.Errorf("call %d of %s makes do with less twice", e.Call, e.Run)
		}
		r.overflowed = r.overflowed || e.Compact
		if e.Lost {
			r.calls, r.overflowed = r.calls+1, false
		}
	case engine.ModelFinished:
		return l.answered(e)
	case engine.ToolStarted:
		c := l.calls[e.CallID]
		switch {
		case c.refused:
			return fmt.Errorf("call %s was refused and starts", e.CallID)
		case c.denied:
			return fmt.Errorf("call %s was denied and starts", e.CallID)
		case c.reviewing:
			return fmt.Errorf("call %s starts while it is reviewed", e.CallID)
		case c.changed != (e.Digest != ""):
			return fmt.Errorf("call %s with changed arguments %t starts with the digest %q", e.CallID, c.changed, e.Digest)
		case !c.approved:
			return fmt.Errorf("call %s starts without approval", e.CallID)
		case c.results > 0:
			return fmt.Errorf("call %s starts behind its result", e.CallID)
		case c.starts > 0 && !c.mayStart && !c.tool.Effect.Repeatable():
			return fmt.Errorf("side effect %s starts again, and nobody said so", e.CallID)
		case e.Attempt != c.starts+1:
			return fmt.Errorf("attempt %d follows %d", e.Attempt, c.starts)
		}
		c.starts, c.mayStart = c.starts+1, false
		return intent(e.Run)
	case engine.ToolLost:
		c := l.calls[e.CallID]
		c.mayStart = l.notStarted == e.CallID
		if e.Again && !c.mayStart && !c.tool.Effect.Repeatable() {
			return fmt.Errorf("side effect %s is to run again, and nobody said so", e.CallID)
		}
	case engine.ToolInspected:
		l.calls[e.CallID].mayStart = e.Answer == engine.InspectedNotStarted
	case engine.ToolReturned:
		if c := l.calls[e.CallID]; c.starts != e.Attempt || c.results > 0 {
			return fmt.Errorf("attempt %d of call %s returns, which started %d times and has %d results", e.Attempt, e.CallID, c.starts, c.results)
		}
	case engine.ToolChecked:
		c := l.calls[e.CallID]
		c.review = e.Review
		return l.approve(c, e.Approved)
	case engine.ReviewStarted:
		c := l.calls[e.CallID]
		if !c.review || c.reviewing || c.starts > 0 || c.results > 0 || c.tool.Privilege != engine.Ordinary {
			return fmt.Errorf("a review of call %s begins: %+v", e.CallID, c)
		}
		c.reviewing = true
		return intent(e.Run)
	case engine.ReviewFinished:
		r := l.runs[e.Run]
		l.calls[e.CallID].reviewing = false
		r.usage, r.auxiliary = r.usage.Add(e.Usage), r.auxiliary.Add(e.Usage)
	case engine.CompactionStarted:
		r := l.runs[e.Run]
		if err := l.allDone(r); err != nil || r.running || r.summarises {
			return fmt.Errorf("a summary begins beside a call: %v, running %t, summarising %t", err, r.running, r.summarises)
		}
		r.summarises = true
		return intent(e.Run)
	case engine.CompactionFailed:
		r := l.runs[e.Run]
		r.summarises, r.usage, r.auxiliary = false, r.usage.Add(e.Usage), r.auxiliary.Add(e.Usage)
	case engine.CompactionFinished:
		r := l.runs[e.Run]
		if r.summarises != (e.Attempt > 0) {
			return fmt.Errorf("attempt %d of a summary ends, summarising %t", e.Attempt, r.summarises)
		}
		r.summarises, r.usage, r.auxiliary = false, r.usage.Add(e.Usage), r.auxiliary.Add(e.Usage)
	case engine.GrantRevoked:
		delete(l.grants, e.Tool)
		for _, c := range l.calls {
			if c.byGrant && c.tool.Name == e.Tool && c.starts == 0 {
				c.approved, c.byGrant = false, false
			}
		}
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
	if r.running || r.summarises || len(r.interaction) > 0 {
		return fmt.Errorf("run %s ends with a call, a summary or a question open", e.Run)
	}
	if e.Usage != r.usage || e.Auxiliary != r.auxiliary {
		return fmt.Errorf("run %s ends with the usage %+v, %+v, its journal holds %+v", e.Run, e.Usage, e.Auxiliary, r)
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
	r.usage, r.overflowed, r.answered = r.usage.Add(e.Usage), false, nil
	for _, it := range e.Items {
		if it.Kind != engine.ItemCall {
			continue
		}
		if l.calls[it.CallID] != nil {
			return fmt.Errorf("call ID %s is there twice", it.CallID)
		}
		tool, known := l.tools[it.Name]
		c := &callEntry{run: e.Run, tool: tool, refused: it.Code != "", review: it.Review}
		if c.refused {
			c.results = 1
		} else if !known || tool.Disabled || e.Stop == engine.StopOutputLimit || e.Stop == engine.StopFiltered {
			return fmt.Errorf("call of %q in an answer that stopped with %s is let pass", it.Name, e.Stop)
		}
		if it.Code == "" {
			if err := l.approve(c, it.Approved); err != nil {
				return err
			}
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
	c := l.calls[id]
	if e.By == engine.ByReviewer && !c.review {
		return fmt.Errorf("the reviewer resolves %s, about which it was not asked", e.ID)
	}
	switch e.Decision {
	case api.AllowOnce:
		c.approved, c.changed = true, e.Arguments != ""
	case api.AllowSession:
		c.approved, l.grants[c.tool.Name] = true, true
	case api.Deny:
		c.denied = true
	case api.OutcomeRetry:
		c.mayStart = true
	}
	return nil
}

// approve takes what lets a call pass without a person. A grant that is gone by then covers nothing.
func (l *ledger) approve(c *callEntry, by string) error {
	p := c.tool.Privilege
	switch {
	case p == engine.PrivilegeDenied, p != engine.Ordinary && (c.review || by == engine.ApprovedByPolicy), p != engine.PrivilegeUnattended && by == engine.ApprovedByPermission:
		return fmt.Errorf("a call of %s, whose privilege is %q, is let pass by %q, review %t", c.tool.Name, p, by, c.review)
	case c.tool.Question && by != "":
		return fmt.Errorf("a question is let pass by %q", by)
	}
	c.byGrant = by == engine.ApprovedByGrant
	c.approved = by != "" && (!c.byGrant || l.grants[c.tool.Name])
	return nil
}

// allDone tells which call of the last answer has no result.
func (l *ledger) allDone(r *runEntry) error {
	for _, id := range r.answered {
		if l.calls[id].results == 0 {
			return fmt.Errorf("call %s has no result", id)
		}
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
		item := model.Item{Text: e.Described()}
		switch e.Kind {
		case engine.EntryUser, engine.EntryNotice, engine.EntrySummary:
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
