//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// stopAt makes a victim stop at a point, which counts from now, and waits until do has brought it there.
func (p *process) stopAt(t *testing.T, at string, do func()) {
	t.Helper()
	if _, err := p.do(chaos.Command{Op: "stop", Text: at}); err != nil {
		t.Fatal(err)
	}
	do()
	wait(t, "stop at "+at, func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		return err == nil && strings.Contains(string(status), "\nState:\tT")
	})
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %s", what, patience)
		}
	}
}

// An owner is stopped for longer than its lease. Another process takes over, and when the owner goes on it
// neither starts the body that it was about to start nor stores the outcome of one that had ended.
func TestAnOwnerStoppedBeyondItsLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, at, text string
		did            int // effects before the stop
	}{
		{"right before the body of an action that nobody can inspect", "append.after/model_finished#1", "mail letter", 0},
		{"right after the body of an action that nobody can inspect", "tool.after#1", "mail letter", 1},
		{"before the body of an action that can be inspected", "append.after/model_finished#1", "pay bill", 0},
		{"after the answer of a model", "model.after#1", "mail letter", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := newWorld(t, "-lease", "1s", "-poll", "100ms")
			second := first.second()
			owner := first.victim()
			second.victim()
			id := first.create("s")
			// The message is acknowledged before the model answers.
			gate := make(chan struct{})
			first.model.hold(gate)
			run := first.submit(id, "1", tt.text, "")
			owner.stopAt(t, tt.at, func() { close(gate) })
			if got := len(first.ledger()); got != tt.did {
				t.Fatalf("%d effects before the stop, want %d", got, tt.did)
			}
			wait(t, "take-over", func() bool {
				for _, e := range second.events(id) {
					if e.Type == api.EventSessionTakenOver {
						return true
					}
				}
				return false
			})
			// The take-over is seen, an answer is not given yet: that would be a guess about a living process.
			second.result(run)
			owner.signal(t, syscall.SIGCONT)
			wait(t, "word of the owner that it was taken for dead", func() bool { return strings.Contains(owner.stderr.String(), "taken for dead") })
			// It registers anew and works again. Until it has, the other process does what it accepts.
			for n := 0; !slices.ContainsFunc(first.ledger(), func(e chaos.Entry) bool {
				return e.PID == owner.cmd.Process.Pid && strings.Contains(e.Arguments, "mine")
			}); n++ {
				if n == 100 {
					t.Fatal("the owner did not work again")
				}
				mine := first.submit(first.create(fmt.Sprint(n)), "1", fmt.Sprintf("mail mine%d", n), "")
				if r := first.finish(mine); r.Status != api.StatusCompleted {
					t.Errorf("the owner's next run: %+v", r)
				}
			}
			second.runs = append(second.runs, run)
			// One model call began while nobody could store that it had.
			second.deaths = 1
			if r := second.finish(run); r.Status != api.StatusCompleted {
				t.Errorf("the run that was taken over: %+v", r)
			}
			for _, e := range second.ledger() {
				if byOwner := e.PID == owner.cmd.Process.Pid; !strings.Contains(e.Arguments, "mine") && byOwner != (tt.did > 0) {
					t.Errorf("effect %+v by the owner: %t", e, byOwner)
				}
			}
			again := first.submit(id, "2", "say again", "")
			second.runs = append(second.runs, again)
			if r := first.finish(again); r.Status != api.StatusCompleted {
				t.Errorf("the owner's run in the session that it had lost: %+v", r)
			}
			second.check(id)
			first.close()
			second.close()
		})
	}
}

// A process that is stopped within a commit holds the write lock: others are told so, and can read.
func TestAProcessStoppedWithinACommitKeepsOthersFromWritingOnly(t *testing.T) {
	t.Parallel()
	first := newWorld(t, "-lease", "1s", "-poll", "100ms", "-busy", "300ms")
	second := first.second()
	stopped, other := first.victim(), second.victim()
	id := first.create("s")
	done := first.submit(id, "0", "mail before", "")
	first.finish(done)
	var pending chan chaos.Reply
	stopped.stopAt(t, "commit.before#1", func() {
		pending = stopped.send(chaos.Command{Op: "submit", Session: id, Key: "1", Text: "mail first", WhenBusy: api.BusyQueue})
	})
	for range 4 { // together longer than either's lease
		began := time.Now()
		_, err := other.do(chaos.Command{Op: "submit", Session: id, Key: "2", Text: "mail second", WhenBusy: api.BusyQueue})
		if api.CodeOf(err) != api.CodeStoreBusy {
			t.Fatalf("a write while another process is within a commit: %v, want store_busy", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("store_busy took %s", took)
		}
		for _, op := range []string{"state", "events", "history"} {
			if _, err := other.do(chaos.Command{Op: op, Session: id}); err != nil {
				t.Errorf("%s while another process is within a commit: %v", op, err)
			}
		}
		if r := second.result(done); r.Status != api.StatusCompleted {
			t.Errorf("the result of an earlier run: %+v", r)
		}
	}
	stopped.signal(t, syscall.SIGCONT)
	if _, err := stopped.wait(pending); err != nil && api.CodeOf(err) != api.CodeStoreBusy {
		t.Errorf("the message that was being stored: %v", err)
	}
	one := first.submit(id, "1", "mail first", api.BusyQueue)
	two := second.submit(id, "2", "mail second", api.BusyQueue)
	first.races, first.runs = 1, append(first.runs, two)
	for _, run := range []api.RunReference{one, two} {
		if r := first.finish(run); r.Status != api.StatusCompleted {
			t.Errorf("run %s: %+v", run.Run, r)
		}
	}
	first.check(id)
	if n := len(first.ledger()); n != 3 {
		t.Errorf("%d effects of 3 messages", n)
	}
	first.close()
	second.close()
}
