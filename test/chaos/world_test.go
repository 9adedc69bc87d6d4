//go:build linux

package chaos_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/test/chaos"
)

// world is a state directory with its ledger, its model server, and a client that starts the next victim when
// one has died and sends again what was not acknowledged.
type world struct {
	// races is how many calls of one prompt may have been made again, before any answer to it was recorded,
	// because the append with their intent met an input of another process.
	races int

	t      *testing.T
	dir    string
	model  *script
	args   []string
	next   [][]string // more arguments of the next victims, in order
	proc   *process
	deaths int
	// suicides are the deaths at a point.
	suicides int
	runs     []api.RunReference // acknowledged
	// decide is how a person answers an approval or a question; nil allows all and answers each question.
	decide func(api.Interaction) api.Answer
	// buries, unless nil, looks at what a dead victim left behind.
	buries func(*process)
	// atEnd, unless nil, looks at the state directory once the last victim has ended.
	atEnd func()
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir(), args...)
}

// newWorldIn makes a world whose state directory stands in dir.
func newWorldIn(t *testing.T, dir string, args ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), model: newScript(t)}
	protocol := modeltestserver.Chat
	if i := slices.Index(args, "-protocol"); i >= 0 {
		protocol = modeltestserver.Protocol(args[i+1])
	}
	w.args = append([]string{"-dir", filepath.Join(dir, "state"), "-scratch", filepath.Join(w.dir, "scratch"), "-ledger", w.ledgerPath(),
		"-model", w.model.server.Base(protocol)}, args...)
	return w
}

func (w *world) ledgerPath() string { return filepath.Join(w.dir, "ledger") }

// ledger reads what happened in the world.
func (w *world) ledger() []chaos.Entry {
	w.t.Helper()
	f, err := os.Open(w.ledgerPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	var out []chaos.Entry
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e chaos.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			w.t.Fatalf("the ledger has the line %q: %v", lines.Text(), err)
		}
		out = append(out, e)
	}
	return out
}

// victim returns the running victim; the next one when there is none.
func (w *world) victim() *process {
	w.t.Helper()
	for w.proc == nil {
		args := w.args
		if len(w.next) > 0 {
			args = append(args[:len(args):len(args)], w.next[0]...)
			w.next = w.next[1:]
		}
		p, err := start(w.t, args...)
		if errors.Is(err, errDied) {
			w.buried(p)
			continue
		}
		if err != nil {
			w.t.Fatalf("start a victim: %v\n%s", err, p.stderr)
		}
		w.proc = p
	}
	return w.proc
}

// buried counts a death, which must be a kill.
func (w *world) buried(p *process) {
	w.t.Helper()
	if how := p.exit(); how != "killed" {
		w.t.Fatalf("the victim ended by itself: %s\n%s", how, p.stderr)
	}
	w.proc = nil
	w.deaths++
	w.suicides++
	if w.buries != nil {
		w.buries(p)
	}
}

// crash kills the running victim.
func (w *world) crash() {
	w.t.Helper()
	p := w.victim()
	select {
	case <-p.ended:
		w.buried(p) // it was faster
		return
	default:
	}
	p.kill()
	w.buried(p)
	w.suicides--
}

// try sends a command until some victim lives to answer it.
func (w *world) try(c chaos.Command) (json.RawMessage, error) {
	w.t.Helper()
	for {
		p := w.victim()
		value, err := p.do(c)
		if errors.Is(err, errDied) {
			w.buried(p)
			continue
		}
		return value, err
	}
}

// do is try for commands that must succeed; the reply's value is decoded.
func do[T any](w *world, c chaos.Command) T {
	w.t.Helper()
	var out T
	value, err := w.try(c)
	if err == nil {
		err = json.Unmarshal(value, &out)
	}
	if err != nil {
		w.t.Fatalf("%s %s %s: %v\n%s%s", c.Op, c.Run, c.Interaction, err, w.timeline(c.Session), w.proc.stderr)
	}
	return out
}

func (w *world) create(key string) string {
	w.t.Helper()
	return do[api.SessionReference](w, chaos.Command{Op: "create", Key: key}).Session
}

func (w *world) submit(session, key, text string, busy api.WhenBusy) api.RunReference {
	w.t.Helper()
	run := do[api.RunReference](w, chaos.Command{Op: "submit", Session: session, Key: key, Text: text, WhenBusy: busy})
	w.runs = append(w.runs, run)
	return run
}

// send sends a message of parts.
func (w *world) send(session, key string, busy api.WhenBusy, parts ...chaos.Part) api.RunReference {
	w.t.Helper()
	run := do[api.RunReference](w, chaos.Command{Op: "send", Session: session, Key: key, Parts: parts, WhenBusy: busy})
	w.runs = append(w.runs, run)
	return run
}

func (w *world) result(run api.RunReference) api.Result {
	w.t.Helper()
	return do[api.Result](w, chaos.Command{Op: "result", Session: run.Session, Run: run.Run})
}

// finish answers what a run asks, until it has ended.
func (w *world) finish(run api.RunReference) api.Result {
	w.t.Helper()
	for {
		r := w.result(run)
		if r.Status != api.StatusInterrupted {
			return r
		}
		for _, in := range r.Interactions {
			w.answer(run.Session, in)
		}
	}
}

// compact asks for a summary of older history, as a run of its own.
func (w *world) compact(session, key string) api.RunReference {
	w.t.Helper()
	run := do[api.RunReference](w, chaos.Command{Op: "compact", Session: session, Key: key})
	w.runs = append(w.runs, run)
	return run
}

// answer allows what needs an approval or does what the test decides, and tells the truth about an unknown outcome: whoever started the
// action is dead, so what is not in the ledger will never be.
func (w *world) answer(session string, in api.Interaction) {
	w.t.Helper()
	a := api.Answer{Decision: api.AllowOnce}
	switch {
	case in.Kind == api.InteractionUnknownOutcome:
		a.Decision = api.OutcomeRetry
		for _, e := range w.ledger() {
			if e.Call == in.Call.CallID {
				a = api.Answer{Decision: api.OutcomeSucceeded, Output: e.Output}
			}
		}
	case w.decide != nil:
		a = w.decide(in)
	case in.Kind == api.InteractionQuestion && in.Question.Multiple:
		a = api.Answer{Decision: api.Answered, Answers: []string{in.Question.Choices[1].Label, "and blue"}}
	case in.Kind == api.InteractionQuestion:
		a = api.Answer{Decision: api.Skipped, Reason: "no time"}
	}
	if err := w.resolve(session, in.ID, a); err != nil {
		w.t.Fatalf("answer %s: %v\n%s", in.ID, err, w.timeline(session))
	}
}

// resolve gives an answer until a victim lives to say what became of it.
func (w *world) resolve(session, interaction string, a api.Answer) error {
	w.t.Helper()
	_, err := w.try(chaos.Command{Op: "resolve", Session: session, Interaction: interaction, Answer: a})
	return err
}

// cancel cancels a run.
func (w *world) cancel(run api.RunReference) {
	w.t.Helper()
	if _, err := w.try(chaos.Command{Op: "cancel", Session: run.Session, Run: run.Run}); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for a condition while victims live, and may die.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			w.t.Fatalf("no %s within %s", what, patience)
		}
		p := w.victim()
		select {
		case <-p.ended:
			w.buried(p)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// close ends the victim cleanly, or buries one that dies of it.
func (w *world) close() {
	w.t.Helper()
	p := w.victim()
	switch _, err := p.do(chaos.Command{Op: "close"}); {
	case errors.Is(err, errDied):
		w.buried(p)
	case err != nil:
		w.t.Fatalf("close: %v\n%s", err, p.stderr)
	}
	<-p.ended
	w.proc = nil
	if w.atEnd != nil {
		w.atEnd()
	}
}

func (w *world) events(session string) []api.Event {
	w.t.Helper()
	return do[api.EventPage](w, chaos.Command{Op: "events", Session: session}).Events
}

// timeline shows a journal to the person who reads a failure.
func (w *world) timeline(session string) string {
	if session == "" || w.proc == nil {
		return ""
	}
	value, err := w.proc.do(chaos.Command{Op: "events", Session: session})
	var page api.EventPage
	if err != nil || json.Unmarshal(value, &page) != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range page.Events {
		data, _ := json.Marshal(e)
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}
