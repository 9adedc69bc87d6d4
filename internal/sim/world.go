package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openworkerai/openworker/store"
)

// world is everything of one history.
type world struct {
	stage *Stage
	cfg   Config
	rng   *rand.Rand
	now   time.Duration // since origin, on a clock that nobody sets

	lease, poll time.Duration
	fragile     float64 // how often the store fails
	crowd       float64 // how often somebody does something
	slow        float64 // how often something takes long
	hurry       float64 // how often many want something of one session at once
	calm        bool

	checks bool    // the application has a check of its own
	wordy  bool    // everybody talks a lot
	rate   float64 // tokens of a byte, as providers count
	honest float64 // the part of the small model's window that it really has
	large  int     // the window of the model whose window nobody knows

	blobs  []*blob         // what may be attached
	filed  float64         // how often something is
	quota  store.FileQuota // of each session
	most   int64           // bytes of files that a provider takes in a request
	lapses int             // days that may still pass

	tasks    []*task
	ready    []*task
	disk     *disk
	ledger   *ledger
	procs    []*process
	sessions map[string]*session
	order    []*session
	sent     []*submission
	ids      int

	steps, actorSteps int
	result            Result
}

// origin is the wall clock's time when a history begins.
var origin = time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)

// task is something that happens at a time or later.
type task struct {
	at   time.Duration
	p    *process // it happens in: not while that is paused, never once it is dead; nil: nobody stops it
	name string
	do   func()
	off  bool
	// forever marks what leases and polls do, which never ends and moves nothing.
	forever bool
	// outlives: a write that was handed over may land after its process has died.
	outlives bool
	call     bool // into the store, or its answer
}

// after makes a task of p that is ready once a time has passed.
func (w *world) after(p *process, d time.Duration, name string, do func()) *task {
	t := &task{at: w.now + d, p: p, name: name, do: do}
	w.tasks = append(w.tasks, t)
	return t
}

// step runs one of the tasks that are ready; if none is, time passes until one is. It reports false when
// there is nothing to wait for.
func (w *world) step() bool {
	for {
		w.ready = w.ready[:0]
		next := time.Duration(-1)
		keep := w.tasks[:0]
		for _, t := range w.tasks {
			if t.off || t.p != nil && t.p.dead {
				continue
			}
			keep = append(keep, t)
			at := t.at
			if t.p != nil {
				at = max(at, t.p.paused)
			}
			if at <= w.now {
				w.ready = append(w.ready, t)
			} else if next < 0 || at < next {
				next = at
			}
		}
		clear(w.tasks[len(keep):])
		w.tasks = keep
		if len(w.ready) > 0 {
			break
		}
		if next < 0 {
			return false
		}
		w.now = next
	}
	t := w.ready[w.rng.IntN(len(w.ready))]
	t.off = true
	w.steps++
	if w.cfg.Trace != nil {
		who := "-"
		if t.p != nil {
			who = t.p.name
		}
		w.log("%s: %s", who, t.name)
	}
	t.do()
	return true
}

// restless reports whether anything is left that moves a session.
func (w *world) restless() bool { return w.unrest() != "" }

func (w *world) unrest() string {
	for _, t := range w.tasks {
		if !t.off && !t.forever && (t.p == nil || !t.p.dead) {
			return "there is still the task " + t.name
		}
	}
	for _, s := range w.order {
		if !s.deleted && !s.row.Index.Due.IsZero() {
			return "session " + s.id + " is due"
		}
	}
	return ""
}

func (w *world) log(format string, args ...any) {
	if w.cfg.Trace != nil {
		w.cfg.Trace(fmt.Sprintf("%9.3fs ", w.now.Seconds()) + fmt.Sprintf(format, args...))
	}
}

// saw counts something that happened.
func (w *world) saw(what string) { w.result.Seen[what]++ }

// fail ends the history: a guarantee is broken.
func (w *world) fail(format string, args ...any) {
	v := violation(fmt.Sprintf(format, args...))
	w.log("VIOLATION %s", v)
	panic(v)
}

func (w *world) newID(kind string) string {
	w.ids++
	return fmt.Sprintf("%s%d", kind, w.ids)
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// faulty is chance while faults happen.
func (w *world) faulty(p float64) bool { return !w.calm && w.rng.Float64() < p }

func (w *world) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d/time.Millisecond)+1)) * time.Millisecond
}

// delay is what something usually takes, and sometimes much longer.
func (w *world) delay() time.Duration {
	switch {
	case w.faulty(w.slow / 8):
		return w.upTo(4 * w.lease)
	case w.faulty(w.slow):
		return w.upTo(w.lease / 2)
	}
	return w.upTo(3 * time.Millisecond)
}

func pick[T any](w *world, all []T) T { return all[w.rng.IntN(len(all))] }

// live lists the processes that are there.
func (w *world) live() []*process {
	var out []*process
	for _, p := range w.procs {
		if !p.dead {
			out = append(out, p)
		}
	}
	return out
}

// someone is a process that a caller may talk to now: not a paused one.
func (w *world) someone() *process { return w.anyone(func(*process) bool { return true }) }

// anyone is a process like someone, of those that are wanted.
func (w *world) anyone(wanted func(*process) bool) *process {
	var out []*process
	for _, p := range w.procs {
		if !p.dead && !p.closing && p.paused <= w.now && wanted(p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return pick(w, out)
}
