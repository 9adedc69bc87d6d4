package chatui

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/tty/screen"
)

// fake is a conversation whose other side is the test.
type fake struct {
	mu      sync.Mutex
	id      string
	log     []api.Event
	number  uint64
	changed chan struct{}
	state   api.SessionState
	stands  *api.Result // what Result returns at once
	refuse  error       // what Send returns

	unanswered error // what Answer returns

	sent    chan Message
	answers chan answered
	cancels chan struct{}
	revoked chan string
	compact chan string
}

type answered struct {
	interaction string
	answer      api.Answer
}

func newFake(id string) *fake {
	return &fake{id: id, changed: make(chan struct{}), sent: make(chan Message, 10), answers: make(chan answered, 10), cancels: make(chan struct{}, 10), revoked: make(chan string, 10), compact: make(chan string, 10)}
}

// tell lets an event happen. Deltas have no number.
func (f *fake) tell(run string, kind api.EventType, data any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	e := api.Event{Type: kind, Run: run, Data: encoded, Time: time.Now()}
	if kind != api.EventTextDelta && kind != api.EventReasoningDelta {
		f.number++
		e.Number = f.number
	}
	f.log = append(f.log, e)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) ID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.id
}

func (f *fake) State(context.Context) (api.SessionState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := f.state
	state.Session, state.LastEvent = f.id, f.number
	return state, nil
}

func (f *fake) Recent(_ context.Context, limit int) ([]api.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var stored []api.Event
	for _, e := range f.log {
		if e.Number > 0 {
			stored = append(stored, e)
		}
	}
	return stored[max(0, len(stored)-limit):], nil
}

func (f *fake) Events(ctx context.Context, after uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		f.mu.Lock()
		at := 0
		for at < len(f.log) && f.log[at].Number <= after {
			at++
		}
		f.mu.Unlock()
		for {
			f.mu.Lock()
			events, changed := f.log[at:], f.changed
			f.mu.Unlock()
			for _, e := range events {
				at++
				if !yield(e, nil) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(api.Event{}, api.Errorf(api.CodeCancelled, "%w", context.Cause(ctx)))
				return
			}
		}
	}
}

func (f *fake) Send(_ context.Context, m Message) (api.RunReference, error) {
	f.mu.Lock()
	err := f.refuse
	if err == nil && f.id == "" {
		f.id = "s1"
	}
	f.mu.Unlock()
	f.sent <- m
	return api.RunReference{}, err
}

func (f *fake) Result(ctx context.Context, _ string) (api.Result, error) {
	f.mu.Lock()
	stands := f.stands
	f.mu.Unlock()
	if stands != nil {
		return *stands, nil
	}
	<-ctx.Done()
	return api.Result{}, api.Errorf(api.CodeCancelled, "%w", context.Cause(ctx))
}

func (f *fake) Cancel(context.Context) error { f.cancels <- struct{}{}; return nil }

func (f *fake) Answer(_ context.Context, interaction string, answer api.Answer) error {
	f.answers <- answered{interaction, answer}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unanswered
}

func (f *fake) Revoke(_ context.Context, tool string) error { f.revoked <- tool; return nil }

func (f *fake) Compact(_ context.Context, submission string, _ *api.ModelRef) error {
	f.compact <- submission
	return nil
}

// desk is a terminal with a person at it, whom the test plays, and the program.
type desk struct {
	t *testing.T
	*screen.Screen
	fake       *fake
	keys       *io.PipeWriter
	interrupts chan os.Signal
	leave      context.CancelFunc
	notes      *Notes
	left       chan Left
	err        error // once left
}

// sit runs the program over a conversation. change, unless nil, adjusts the options first.
func sit(t *testing.T, f *fake, width, height int, change func(*Options)) *desk {
	t.Helper()
	in, keys := io.Pipe()
	ctx, leave := context.WithCancel(context.Background())
	d := &desk{t: t, Screen: screen.New(width, height, keys), fake: f, keys: keys, interrupts: make(chan os.Signal, 1), leave: leave,
		notes: NewNotes(io.Discard), left: make(chan Left, 1)}
	ids := 0
	opt := Options{
		Conversation: f, Model: api.ModelRef{Provider: "Test", Name: "model"}, Person: "ada", Colors: true,
		NewID: func() string { ids++; return "id" + strconv.Itoa(ids) },
		Input: in, Output: cooked{d.Screen}, Environment: []string{"TERM=xterm-256color"}, Width: width, Height: height,
	}
	if change != nil {
		change(&opt)
	}
	go func() {
		left, err := Run(ctx, opt, d.interrupts, d.notes)
		d.err = err
		d.left <- left
	}()
	t.Cleanup(func() {
		leave()
		_ = in.Close()
		d.Close()
	})
	return d
}

// cooked begins a line anew at each line end, as a terminal does for a program that has not taken it.
type cooked struct{ io.Writer }

func (c cooked) Write(data []byte) (int, error) {
	_, err := c.Writer.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	return len(data), err
}

// press types keys as a terminal sends them.
func (d *desk) press(keys string) {
	d.t.Helper()
	if _, err := io.WriteString(d.keys, keys); err != nil {
		d.t.Fatal(err)
	}
}

// say types a message, sees it in the input, and sends it.
func (d *desk) say(text string) Message {
	d.t.Helper()
	d.press(text)
	d.See(d.t, "> "+text)
	d.press("\r")
	return get(d.t, d.fake.sent)
}

// get takes from a channel what the program did.
func get[T any](t *testing.T, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(screen.Patience):
		t.Fatalf("no %T came", got)
	}
	return got
}

// out waits for the program's end.
func (d *desk) out() Left {
	d.t.Helper()
	return get(d.t, d.left)
}

// unreadable is a session that is broken.
type unreadable struct{ *fake }

func (unreadable) State(context.Context) (api.SessionState, error) {
	return api.SessionState{}, api.Errorf(api.CodeStoreCorrupt, "it cannot be read")
}

func testModels(context.Context) ([]string, error) { return []string{"Test/tiny", "Test/huge"}, nil }
