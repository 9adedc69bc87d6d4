//go:build linux

package chaos_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// second is another victim's client in the same world.
func (w *world) second() *world {
	v := *w
	v.proc, v.runs, v.next = nil, nil, nil
	return &v
}

func TestTwoProcessesOnOneStateDirectoryRunEachTurnOnce(t *testing.T) {
	t.Parallel()
	const sessions, messages = 8, 3
	first := newWorld(t)
	first.races = 1 // a call whose intent meets another process's input on its way to the store is made again
	both := []*world{first, first.second()}
	for _, w := range both {
		w.victim()
	}
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = both[i%2].create(fmt.Sprint(i))
	}
	// Each session gets from both processes: messages that both send under one submission ID, and messages of
	// each one's own, with and without an ID.
	type sent struct {
		text string
		run  api.RunReference
		err  error
	}
	results := make([][]sent, 2)
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, w := range both {
		for n, id := range ids {
			for m := range messages {
				for _, kind := range []string{"both", "own", "bare"} {
					text := fmt.Sprintf("mail %s-%d-%d", kind, n, m)
					key := text
					if kind != "both" {
						text, key = fmt.Sprintf("%s-%d", text, i), fmt.Sprintf("%s-%d", key, i)
					}
					if kind == "bare" {
						key = ""
					}
					group.Go(func() {
						run, err := call[api.RunReference](w.proc, chaos.Command{Op: "submit", Session: id, Key: key, Text: text, WhenBusy: api.BusyQueue})
						mu.Lock()
						defer mu.Unlock()
						results[i] = append(results[i], sent{text, run, err})
					})
				}
			}
		}
	}
	group.Wait()
	runs := [2]map[string]string{{}, {}} // text → run
	for i := range results {
		for _, s := range results[i] {
			if s.err != nil {
				t.Fatalf("process %d: %q: %v", i, s.text, s.err)
			}
			runs[i][s.text] = s.run.Run
			both[i].runs = append(both[i].runs, s.run)
		}
	}
	for text, run := range runs[0] {
		if other, ok := runs[1][text]; ok && other != run {
			t.Errorf("%q, sent under one submission ID, is run %s and run %s", text, run, other)
		}
	}
	for _, w := range both {
		for _, run := range w.runs {
			group.Go(func() {
				if r, err := call[api.Result](w.proc, chaos.Command{Op: "result", Session: run.Session, Run: run.Run}); err != nil || r.Status != api.StatusCompleted {
					t.Errorf("run %s: %+v, %v", run.Run, r, err)
				}
			})
		}
	}
	group.Wait()
	turns := 0
	for _, id := range ids {
		both[0].check(id)
		both[1].check(id)
		one, other := both[0].events(id), both[1].events(id)
		if diff := cmp.Diff(one, other); diff != "" {
			t.Errorf("session %s: the processes see different journals:\n%s", id, diff)
		}
		for _, e := range one {
			if e.Type == api.EventTurnAccepted {
				turns++
			}
		}
	}
	if want := sessions * messages * 5; turns != want {
		t.Errorf("%d turns were accepted, %d messages were sent", turns, want)
	}
	if n := len(first.ledger()); n != sessions*messages*5 {
		t.Errorf("%d effects of %d turns", n, sessions*messages*5)
	}
	for _, w := range both {
		w.close()
	}
}
