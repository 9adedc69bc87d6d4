package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// effect is one effect between its Start and its Done, as the runtime's executor runs it.
type effect struct {
	c       *cell
	start   runtime.Start
	key     string
	cause   error // why the host ended its context
	begun   bool
	ended   bool
	timeout *task
	// react is what the running body does when its context ends.
	react func()
}

// begin runs the effect. What is checked right before a body, and the body's start, are one step.
func (e *effect) begin() {
	e.begun = true
	agent, _ := e.c.p.w.stage.registry.Agent(e.start.State.Agent.Digest)
	switch e.start.Effect.Kind {
	case engine.ModelEffect:
		e.callModel(agent)
	case engine.ToolEffect:
		e.runTool()
	default:
		e.inspect()
	}
}

// stop ends the effect's context, once.
func (e *effect) stop(cause error) {
	if e.cause != nil {
		return
	}
	e.cause = cause
	if e.react != nil {
		e.react()
	}
}

// end brings the outcome.
func (e *effect) end(cmd engine.Command) {
	if e.ended {
		return
	}
	e.ended = true
	if e.timeout != nil {
		e.timeout.off = true
	}
	c := e.c
	delete(c.runs, e.start.Ticket)
	c.order = slices.DeleteFunc(c.order, func(o *effect) bool { return o == e })
	if c.p.w.cfg.Plant == PlantResultDropped && errors.Is(e.cause, runtime.ErrStopped) {
		cmd = nil
	}
	c.deliver(runtime.Done{Ticket: e.start.Ticket, Command: cmd})
}

func (e *effect) callModel(agent *runtime.Agent) {
	p, w := e.c.p, e.c.p.w
	req := runtime.BuildRequest(agent, e.start)
	if err := model.Check(req); err != nil {
		w.fail("%s: %v", e.key, err)
	}
	if w.cfg.Asked != nil {
		if err := w.cfg.Asked(req); err != nil {
			w.fail("%s: a server refuses it: %v", e.key, err)
		}
	}
	answer := func(resp model.Response, err error) {
		e.end(runtime.ModelOutcome(agent, e.start, resp, err, e.cause, req.MaxOutputTokens))
	}
	cancelled := func() {
		w.after(p, w.delay(), "the provider notices "+e.key, func() { answer(model.Response{}, &model.Error{Kind: model.KindCancelled, Message: "cancelled"}) })
	}
	if e.cause != nil {
		cancelled()
		return
	}
	w.ledger.ask(e.c, e.start, req)
	e.react = func() {
		if !w.chance(0.1) { // else the answer is on its way already
			cancelled()
		}
	}
	resp, err := w.think(req)
	w.after(p, w.thinking(), "the model answers "+e.key, func() { answer(resp, err) })
}

// runTool mirrors the executor: the last look, the body, its time, and the grace of one that does not stop.
func (e *effect) runTool() {
	p, w := e.c.p, e.c.p.w
	live := p.leaser.Live(e.start.Process, p.boot()) || w.cfg.Plant == PlantPausedOwnerStarts
	if no := runtime.NotStarted(e.start, live, e.cause); no != nil {
		w.saw("body not started")
		w.log("%s: %s may not start", p.name, e.key)
		e.end(no)
		return
	}
	name, kind := w.stage.kind(e.start.State.Agent, e.start.Call.Name)
	if name == "" {
		w.fail("%s: there is no tool %q", e.key, e.start.Call.Name)
	}
	b := w.ledger.run(p, e.start, name, kind)
	var timedOut time.Duration
	ended := func(abandoned bool) {
		e.end(runtime.ToolOutcome(e.start, runtime.ToolEnd{Output: b.output, Err: b.err, Cause: e.cause, TimedOut: timedOut, Abandoned: abandoned}))
	}
	obeys := w.chance(0.7)
	waits := false // for a body that was told to stop, with or without a bound
	told := func() {
		if obeys {
			w.after(p, w.delay(), "the body notices "+e.key, func() { b.stop(); ended(false) })
		}
		if waits {
			return
		}
		waits = true
		if !runtime.WaitsForBody(e.cause) {
			w.after(p, cancelGrace, "the grace ends of "+e.key, func() { ended(true) })
		}
	}
	b.onEnd = func() { ended(false) }
	e.react = told
	e.timeout = w.after(p, toolTimeout, "the time is over of "+e.key, func() {
		if e.cause == nil {
			timedOut = toolTimeout
			told()
		}
	})
	b.begin()
	if e.cause != nil {
		told()
	}
}

func (e *effect) inspect() {
	p, w := e.c.p, e.c.p.w
	_, kind := w.stage.kind(e.start.State.Agent, e.start.Call.Name)
	if !kind.inspects {
		e.end(engine.Inspected{CallID: e.start.Effect.CallID, Attempt: e.start.Effect.Attempt, Answer: engine.InspectedNone})
		return
	}
	p.call("inspect "+e.key, false, func() func() {
		found, err := w.ledger.inspect(e.start.Effect.CallID)
		return func() { e.end(runtime.InspectOutcome(e.start, found, err, e.cause)) }
	})
}

// body is one run of a tool's body, and what it does to the world.
type body struct {
	w        *world
	p        *process
	call     string
	attempt  int
	harmless bool // it changes nothing
	epoch    uint64
	effect   string // for the trace
	started  bool
	away     bool // it acts elsewhere: no matter what becomes of its process
	applied  bool // it took effect
	over     bool // it will not take effect any more, if it has not
	excused  bool // somebody who may has said that it can be run again
	output   string
	err      error
	onEnd    func()
}

// begin takes effect after a while, or not, and returns some time later. The effect may take place
// elsewhere, whatever becomes of the process.
func (b *body) begin() {
	w := b.w
	b.started = true
	takes := w.thinking()
	owner := b.p
	if w.chance(0.3) {
		owner, b.away = nil, true
	}
	fails := w.chance(0.15)
	w.after(owner, time.Duration(w.rng.Float64()*float64(takes)), b.effect+" acts", func() {
		switch {
		case b.over:
		case fails:
			b.over = true
		default:
			b.applied = true
		}
	})
	w.after(b.p, takes, b.effect+" returns", func() {
		switch {
		case b.applied:
			b.output = "done " + b.call
		case b.over && fails:
			_, b.err = runtime.Protect(func() (string, error) {
				if w.chance(0.3) {
					panic("broken")
				}
				return "", fmt.Errorf("refused")
			})
		case b.over:
			b.err = fmt.Errorf("stopped")
		default: // the other side has not answered: what this run does is settled later, and it says what it knows
			b.err = fmt.Errorf("no answer")
		}
		b.onEnd()
	})
}

// stop is what a body does that heeds its context: it takes back what has not happened yet.
func (b *body) stop() {
	if !b.applied {
		b.over = true
	}
	if b.applied {
		b.output = "done " + b.call
	} else {
		b.err = fmt.Errorf("stopped")
	}
}

// thinking is how long a model or a body takes: mostly moments, sometimes longer than a lease or its own bound.
func (w *world) thinking() time.Duration {
	switch {
	case w.faulty(0.03):
		return w.upTo(2 * toolTimeout)
	case w.faulty(0.3):
		return w.upTo(w.lease)
	case w.faulty(0.5):
		return w.upTo(500 * time.Millisecond)
	}
	return w.upTo(50 * time.Millisecond)
}

// found is what an inspection of a call says: the truth, as far as the other side knows it.
func (l *ledger) inspect(call string) (tool.Inspection, error) {
	w := l.w
	w.saw("inspection")
	if w.faulty(0.1) {
		return tool.Inspection{}, fmt.Errorf("no answer")
	}
	if w.faulty(0.05) {
		return tool.Inspection{Outcome: tool.Unknown}, nil
	}
	running, failed := false, false
	for _, b := range l.bodies[call] {
		switch {
		case b.applied:
			return tool.Inspection{Outcome: tool.Succeeded, Output: "done " + call}, nil
		case !b.over && b.started:
			running = true
		case !b.p.dead:
			failed = true
		}
	}
	switch {
	case running:
		return tool.Inspection{Outcome: tool.StillRunning}, nil
	case failed:
		return tool.Inspection{Outcome: tool.Failed, Output: "it did not happen"}, nil
	}
	// Nothing has begun, or what had begun died before it did anything.
	for _, b := range l.bodies[call] {
		b.excused = true
	}
	return tool.Inspection{Outcome: tool.NotStarted}, nil
}
