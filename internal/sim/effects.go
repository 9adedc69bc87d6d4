package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
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
	case engine.CompactEffect:
		e.summarise(agent)
	case engine.ReviewEffect:
		e.review(agent)
	case engine.CheckEffect:
		e.check()
	case engine.ScreenEffect:
		e.screenOutput()
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
	if w.cfg.Plant == PlantApprovalShared {
		w.shareApproval(e, name, kind)
	}
	var timedOut time.Duration
	abandoned := false
	over := func(gone bool) engine.Command {
		return runtime.ToolOutcome(e.start, runtime.ToolEnd{Output: b.output, Err: b.err, Cause: e.cause, TimedOut: timedOut, Abandoned: gone})
	}
	returned := func() {
		cmd := over(false)
		out, ok := cmd.(engine.ToolOutcome)
		switch {
		case abandoned: // what it says in the end beats what anybody thinks of it until then
			if ok {
				w.after(p, w.looking(), "it is told late what came of "+e.key, func() { p.tell(e.c.session, runtime.Late{Outcome: e.screened(out)}) })
			}
		case !ok || !screens(e.start):
			e.end(cmd)
		case e.cause == nil:
			e.end(engine.Returned{CallID: out.CallID, Attempt: out.Attempt, Epoch: out.Epoch, Output: out.Output, Code: out.Code})
		default: // its turn ends: nothing is stored until hooks and guardrails have seen it
			w.after(p, w.looking(), "hooks and guardrails have seen the last of "+e.key, func() { e.end(e.screened(out)) })
		}
	}
	obeys := w.chance(0.7)
	waits := false // for a body that was told to stop, with or without a bound
	told := func() {
		if obeys {
			w.after(p, w.delay(), "the body notices "+e.key, func() {
				if b.stop() {
					returned()
				}
			})
		}
		if waits {
			return
		}
		waits = true
		if !runtime.WaitsForBody(e.cause) {
			w.after(p, cancelGrace, "the grace ends of "+e.key, func() {
				if !b.ended {
					abandoned = true
					e.end(over(true))
				}
			})
		}
	}
	b.onEnd = returned
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
		e.end(engine.Inspected{CallID: e.start.Effect.CallID, Attempt: e.start.Effect.Attempt, Answer: engine.InspectedNone, Arguments: e.start.Call.Arguments})
		return
	}
	p.call("inspect "+e.key, false, func() func() {
		found, err := w.ledger.inspect(e.start.Effect.CallID)
		return func() {
			if screens(e.start) {
				found.Output += " " + secret
			}
			cmd := runtime.InspectOutcome(e.start, found, err, e.cause)
			seen, ok := cmd.(engine.Inspected)
			if ok && screens(e.start) && (seen.Answer == engine.InspectedSucceeded || seen.Answer == engine.InspectedFailed) {
				code := api.Code("")
				if seen.Answer == engine.InspectedFailed {
					code = api.CodeToolFailed
				}
				seen.Output, seen.Code, seen.Checks = w.screen(seen.Output, code)
				if cmd = seen; e.cause != nil {
					cmd = nil
				}
			}
			e.end(cmd)
		}
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
	allowed  bool // the journal says who has let it run
	ended    bool // it has returned
	raw      bool // hooks and guardrails are to remove something from what it says
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
		case b.ended:
			return
		case b.applied:
			b.output = w.done(b.call)
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
		b.end()
	})
}

// stop is what a body does that heeds its context: it takes back what has not happened yet.
// It reports false where it has returned already.
func (b *body) stop() bool {
	if b.ended {
		return false
	}
	if !b.applied {
		b.over = true
	}
	if b.applied {
		b.output = b.w.done(b.call)
	} else {
		b.err = fmt.Errorf("stopped")
	}
	b.mark()
	return true
}

// end is when it returns.
func (b *body) end() {
	b.mark()
	b.onEnd()
}

// mark puts what is to be removed into what the body says.
func (b *body) mark() {
	if b.ended = true; !b.raw {
		return
	}
	if b.err != nil {
		b.err = fmt.Errorf("%w: %s", b.err, secret)
	} else {
		b.output += " " + secret
	}
}

// done is what the other side says of a call that took effect.
func (w *world) done(call string) string {
	if w.wordy {
		return "done " + call + strings.Repeat(" thing", w.rng.IntN(pick(w, []int{50, 200, 200, 2500})))
	}
	return "done " + call
}

// looking is how long what an application has registered takes to look at something.
func (w *world) looking() time.Duration {
	if w.faulty(0.25) {
		return w.upTo(w.lease)
	}
	return w.delay()
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
			return tool.Inspection{Outcome: tool.Succeeded, Output: w.done(call)}, nil
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
