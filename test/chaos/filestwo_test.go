//go:build linux

package chaos_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// One process uploads and sends while another has the session and runs a turn in it. The first dies before its message is
// accepted, the second before it has the answer to it. A third one goes on with what they left.
func TestASenderAndAnExecutorDieAndAThirdProcessGoesOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, sender, executor, protocol string
	}{
		{"within an upload; before the files are read for the model", "upload.chunk.after#4", "file.before#1", "messages"},
		{"before the end of the last upload; while the files are read", "upload.commit.before#3", "file.before#3", "responses"},
		{"between the uploads and the message; before the request", "append.before/turn_accepted#1", "model.before#2", "chat"},
		{"before it heard that the message was accepted; before the answer is stored", "append.after/turn_accepted#1", "model.after#2", "gemini"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newFilesMessage(t, "say files")
			first := newWorld(t, "-face", "go", "-protocol", tt.protocol)
			first.model.sent = m
			gate := make(chan struct{})
			first.model.hold(gate)
			first.next = [][]string{{"-kill", tt.executor}}
			id := first.create("s")
			before := first.submit(id, "0", "say before", "")
			first.until("request", func() bool { return first.model.asked(question{Text: "say before"}) == 1 })

			second := first.second()
			second.next = [][]string{{"-kill", tt.sender}}
			if _, err := second.victim().do(chaos.Command{Op: "send", Session: id, Key: "1", Parts: m.parts, WhenBusy: api.BusyQueue}); !errors.Is(err, errDied) {
				t.Fatalf("the message: %v, want the sender's death", err)
			}
			second.buried(second.proc)

			third := first.second()
			third.runs = []api.RunReference{before}
			run := third.send(id, "1", api.BusyQueue, m.parts...)
			close(gate)
			<-first.proc.ended
			first.buried(first.proc)
			third.deaths, third.races = 2, 1
			if r := third.finish(run); r.Status != api.StatusCompleted {
				t.Errorf("the message's run: %+v", r)
			}
			third.check(id)
			third.checkMessage(id, m)
			third.close()
			third.checkFiles(id, m)
		})
	}
}

// A process is stopped within an upload, or within the admission of the message, for longer than its lease. Others go on
// in its session, also with the same message. When it goes on itself, it ends what it did or is told why not; the
// message is there once, with all files.
func TestAProcessStoppedWithinAnUploadBeyondItsLeaseKeepsNobodyAndLeavesNoPart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, at string
		same     bool // the other process sends the same message meanwhile
		secret   bool // of which a guardrail takes something
		within   bool // the files come within the other's message
	}{
		{name: "within an upload", at: "upload.chunk.after#3"},
		{name: "within an upload of what another one sends meanwhile", at: "upload.chunk.after#3", same: true},
		{name: "at the end of an upload of what another one sends meanwhile", at: "upload.commit.before#2", same: true},
		{name: "before it looks for a file of which another one has removed the original", at: "file.before#2", same: true, secret: true},
		{name: "before the message is stored of which another one has removed the original", at: "append.before/turn_accepted#1", same: true, secret: true},
		{name: "before the message is stored of which another one never stored the original", at: "append.before/turn_accepted#1", same: true, secret: true, within: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-face", "go", "-lease", "1s", "-protocol", "responses"}
			sent := newFilesMessage(t, "say files")
			kept := sent
			if tt.secret {
				sent, kept = newSecretMessage(t)
				args = append(args, "-guards", "secret")
			}
			first := newWorld(t, args...)
			first.model.sent = kept
			second := first.second()
			if tt.within {
				second.args = append(slices.Clone(first.args), "-face", "service")
			}
			stopped := first.victim()
			second.victim()
			id := first.create("s")
			gate := make(chan struct{})
			first.model.hold(gate)
			under := first.submit(id, "0", "say under", "")
			first.until("request", func() bool { return first.model.asked(question{Text: "say under"}) == 1 })
			message := chaos.Command{Op: "send", Session: id, Key: "1", Parts: sent.parts, WhenBusy: api.BusyQueue}
			var pending chan chaos.Reply
			stopped.stopAt(t, tt.at, func() { pending = stopped.send(message) })
			wait(t, "take-over", func() bool {
				return slices.ContainsFunc(second.events(id), func(e api.Event) bool { return e.Type == api.EventSessionTakenOver })
			})
			close(gate)
			second.deaths, second.races = 1, 1
			second.runs = []api.RunReference{under}
			if r := second.finish(under); r.Status != api.StatusCompleted {
				t.Errorf("the run that was taken over: %+v", r)
			}
			if r := second.finish(second.submit(id, "2", "say meanwhile", api.BusyQueue)); r.Status != api.StatusCompleted {
				t.Errorf("a message meanwhile: %+v", r)
			}
			if tt.same {
				if r := second.finish(second.send(id, "1", api.BusyQueue, sent.parts...)); r.Status != api.StatusCompleted {
					t.Errorf("the same message by another process: %+v", r)
				}
			}
			stopped.signal(t, syscall.SIGCONT)
			reply, err := stopped.wait(pending)
			run := second.send(id, "1", api.BusyQueue, sent.parts...)
			switch code := api.CodeOf(err); {
			case err == nil:
				var own api.RunReference
				if err := json.Unmarshal(reply.Value, &own); err != nil || own.Run != run.Run {
					t.Errorf("the message of the stopped process is %+v (%v), that of the other %+v", own, err, run)
				}
			case tt.same || !strings.HasPrefix(string(code), "store_"):
				t.Errorf("the message of the stopped process: %v", err)
			}
			if r := second.finish(run); r.Status != api.StatusCompleted {
				t.Errorf("the message's run: %+v", r)
			}
			second.check(id)
			second.checkMessage(id, kept)
			if tt.secret {
				wait(t, "state directory without the secret", func() bool { return len(holding(t, first.args[1], chaos.Secret)) == 0 })
			}
			first.close()
			second.close()
			second.checkFiles(id, kept)
		})
	}
}
