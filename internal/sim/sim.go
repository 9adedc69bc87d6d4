package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// Config is one history.
type Config struct {
	Seed  uint64
	Plant Plant
	// Asked, unless nil, is shown each model request; its error breaks the history.
	Asked func(model.Request) error
	// Trace, unless nil, gets a line for each thing that happens.
	Trace func(line string)
}

// Result is how a history went.
type Result struct {
	Violation string // the first broken guarantee, "" if none
	Steps     int    // tasks that ran
	// Seen counts what happened: events by kind, and what the world did.
	Seen map[string]int
}

// violation is what a broken guarantee panics with, so that the history ends where it happened.
type violation string

// Run plays a history. Equal configurations play equally.
func (s *Stage) Run(cfg Config) (result Result) {
	w := &world{stage: s, cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x0f1e2d3c)), sessions: map[string]*session{}}
	w.disk = &disk{w: w, bare: map[string]bool{}, fenced: map[string]bool{}, pending: map[string][]change{}, broken: brokenDisk{gone: map[string]bool{}}}
	w.disk.mem = memstore.New(memstore.Config{Fault: w.disk.fault})
	w.ledger = newLedger(w)
	w.result.Seen = map[string]int{}
	defer func() {
		result = w.result
		result.Steps = w.steps
		if x := recover(); x != nil {
			v, ok := x.(violation)
			if !ok {
				panic(fmt.Sprintf("seed %d: %v", cfg.Seed, x))
			}
			result.Violation = string(v)
		}
	}()
	w.setUp()
	w.chaos()
	w.calmDown()
	w.settle()
	w.stayIdle()
	w.oneMore()
	w.begunAnew()
	w.finish()
	return w.result
}

// Bounds of a history.
const (
	maxCalmSteps = 30_000
	maxCalmTime  = time.Hour
)

// setUp makes processes and sessions.
func (w *world) setUp() {
	w.lease = pick(w, []time.Duration{time.Second, 4 * time.Second, 8 * time.Second})
	w.poll = pick(w, []time.Duration{200 * time.Millisecond, time.Second})
	w.fragile = pick(w, []float64{0, 0.02, 0.08})
	w.crowd = pick(w, []float64{0.03, 0.06, 0.1, 0.2})
	w.slow = pick(w, []float64{0.002, 0.01, 0.05})
	w.hurry = pick(w, []float64{0, 0, 0, 0.02})
	w.checks = w.chance(0.5)
	w.wordy = w.chance(0.5)
	w.rate = pick(w, []float64{0.2, 0.25, 0.33})
	w.honest = pick(w, []float64{1, 1, 0.7})
	w.large = pick(w, []int{5_000, 1_000_000})
	w.blobs = w.stage.blobs
	if !w.chance(0.2) {
		w.blobs = w.blobs[:large]
	}
	w.filed = pick(w, []float64{0, 0.3, 0.7})
	w.quota = pick(w, []store.FileQuota{{Files: 3, Bytes: 1 << 20}, {Files: 100, Bytes: 8_000}, {Files: 100, Bytes: 1 << 20}})
	w.most = pick(w, []int64{4_000, 1 << 30, 1 << 30})
	w.lapses = pick(w, []int{0, 1, 3})
	for n := range 1 + w.rng.IntN(3) {
		w.newSession(fmt.Sprintf("s%d", n+1))
	}
	for range 1 + w.rng.IntN(3) {
		w.newProcess()
	}
}

// chaos is the part in which everything goes wrong.
func (w *world) chaos() {
	rounds := 300 + w.rng.IntN(2200)
	for range rounds {
		if w.chance(w.crowd) {
			w.disturb()
		}
		if w.chance(w.hurry) {
			w.burst()
		}
		if !w.step() || w.chance(0.005) {
			w.now += w.upTo(2 * time.Second)
		}
	}
}

// disturb does one thing that a process, a machine or a user may do at any time.
func (w *world) disturb() {
	switch n := w.rng.IntN(115); {
	case n >= 100:
		w.disturbFiles(n)
	case n < 20:
		w.send()
	case n < 22:
		w.compact()
	case n < 30:
		w.cancel()
	case n < 52:
		w.answer()
	case n < 53:
		w.delete()
	case n < 55:
		w.revoke()
	case n < 57:
		w.burst()
	case n < 66:
		w.crash()
	case n < 76:
		w.pause()
	case n < 82:
		w.newProcess()
	case n < 84:
		w.closeOne()
	case n < 87:
		w.disk.land()
	case n < 90:
		w.forget()
	case n < 93:
		w.change()
	case n < 94:
		w.disk.outage()
	default:
		w.followers()
	}
}

// disturbFiles does one thing to the files of a session.
func (w *world) disturbFiles(n int) {
	switch {
	case w.filed == 0: // nobody has any
	case n < 110:
		w.upload()
	case n < 113:
		w.discard()
	default:
		w.lapse()
	}
}

// calmDown ends every fault and leaves at least one process that can run everything.
func (w *world) calmDown() {
	w.calm = true
	w.log("--- faults stop")
	w.disk.heal()
	for _, t := range w.tasks {
		if t.call {
			t.at = min(t.at, w.now+w.delay())
		}
	}
	var able, any *process
	for _, p := range w.live() {
		p.paused = 0
		p.learn()
		if !p.closing {
			any = p
			if !p.poor && p.guards {
				able = p
			}
		}
	}
	switch {
	case able != nil:
	case any != nil:
		any.poor, any.guards = false, true
		any.kick()
	default:
		w.startProcess()
	}
	w.disk.land()
}

// settle lets everything come to its end, answers what is asked, and again until nothing is left.
func (w *world) settle() {
	for round := 0; ; round++ {
		w.quiet()
		asked := false
		for _, s := range w.order {
			if s.deleted || s.state.Turn == nil && len(s.state.Queue) == 0 {
				continue
			}
			if len(s.state.Interactions) == 0 {
				w.fail("session %s: run %s neither ended nor waits for anything that has a name: %s", s.id, s.state.Turn.Run, s.describe())
			}
			asked = true
			w.answerOne(s, s.state.Interactions[0].ID)
		}
		if !asked {
			return
		}
		if round > 400 {
			w.fail("after %d rounds of answers there are still questions", round)
		}
	}
}

// quiet runs until only what goes on for ever is left: leases and polls. Each session must then be at rest.
func (w *world) quiet() {
	steps, until := 0, w.now+maxCalmTime
	for w.restless() {
		if steps++; steps > maxCalmSteps || w.now > until {
			for _, s := range w.order {
				if !s.deleted {
					w.log("%s", s.describe())
				}
			}
			w.fail("no rest after %d steps and %v: %s", steps, w.now-until+maxCalmTime, w.unrest())
		}
		w.step()
	}
}

// oneMore sends a last message to each session: whatever happened before, it runs.
func (w *world) oneMore() {
	for _, s := range w.order {
		if s.deleted {
			continue
		}
		sub := &submission{session: s, text: w.newID("m")}
		w.sent = append(w.sent, sub)
		w.submit(w.anyone(func(p *process) bool { return p.guards }), sub, engine.Message{Text: sub.text})
		w.settle()
		if sub.run == "" {
			w.fail("session %s is at rest and takes no message", s.id)
		}
	}
	w.catchUp()
}

// catchUp lets everybody who watches see what came last.
func (w *world) catchUp() {
	for range 3 {
		until := w.now + 2*w.poll + 100*time.Millisecond
		for w.step() && w.now < until {
		}
		w.followers()
		w.quiet()
	}
}

// stayIdle holds that sessions at rest cost nothing.
func (w *world) stayIdle() {
	w.catchUp()
	actors, appends := w.actorSteps, w.disk.appends
	idle := w.lease + 3*w.poll
	for until := w.now + idle; w.now < until; {
		if !w.step() {
			break
		}
	}
	if w.actorSteps != actors || w.disk.appends != appends {
		w.fail("idle sessions took %d steps and %d appends in %v", w.actorSteps-actors, w.disk.appends-appends, idle)
	}
}
