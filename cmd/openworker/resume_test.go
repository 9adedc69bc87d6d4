package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// What a session was doing when it was named is told, however fast it ends once the program has opened it.
func TestATurnThatEndsWhileItsSessionIsJoinedIsTold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		queued string // a message behind it
		cancel bool
		agent  string // beside the name, the model and the tool
		out    string
		code   exitStatus
	}{
		{name: "a turn that completes", out: "calculate returned “42”\n"},
		{name: "a turn that completes, and one that was queued", queued: "count to 3", out: "calculate returned “42”\n1, 2, 3.\n"},
		{name: "a turn that reaches its limit", agent: "limits: {maxModelCalls: 2}\n", out: "calculate returned “42”\n", code: exitLimit},
		{name: "a turn that is cancelled", cancel: true, code: exitCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			session, asked := p.waits(asksToCalculate, "--agent", p.file("clerk.yaml", "name: clerk\ndefaultModel: Scripted/demo\ntools: [calculate]\n"+tt.agent))
			var out, errs bytes.Buffer
			m := p.main(strings.NewReader(""), &out, &errs)
			m.stateDir, m.usualDir = p.env["OPENWORKER_STATE_DIR"], p.env["OPENWORKER_STATE_DIR"]
			ends := 1
			if tt.queued != "" {
				ends++
				h, err := m.openToRead(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := h.Service().Submit(t.Context(), api.Submission{Session: session, Text: tt.queued, Options: api.TurnOptions{WhenBusy: openworker.BusyQueue}}); err != nil {
					t.Fatal(err)
				}
				if err := h.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !tt.cancel {
				p.ok("", "approvals", "allow", asked.ID)
			}
			chat, err := m.talk(t.Context(), settings{session: session[:8]})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = chat.harness.Close(t.Context()) }()
			if err := chat.join(t.Context()); err != nil {
				t.Fatal(err)
			}
			if tt.cancel {
				if err := chat.session.Cancel(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for e, err := range chat.session.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Type == api.EventTurnEnded {
					ends--
				}
				if ends == 0 {
					break
				}
			}
			if state, err := chat.session.State(t.Context()); err != nil || state.Run != "" {
				t.Fatalf("it has not ended: %+v, %v", state, err)
			}
			err = chat.resume(t.Context())
			var code exitStatus
			if err != nil && !errors.As(err, &code) {
				t.Fatal(err)
			}
			if out.String() != tt.out || code != tt.code {
				t.Errorf("exit code %d and %q, want %d and %q\n%s", code, out.String(), tt.code, tt.out, errs.String())
			}
		})
	}
}

func TestACommandOfAChatThatIsPipedInIsToldToBeAMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for line, command := range map[string]string{"/compact": "/compact", " /grants revoke pay": "/grants", "/etc/passwd": "", "compact /compact": ""} {
		got := p.ok(line, "chat")
		want := ""
		if command != "" {
			want = "openworker: " + command + " is sent to the model as a message"
		}
		if said := strings.Contains(got.err, " is sent to the model as a message"); said != (command != "") || !strings.Contains(got.err, want) || got.out == "" {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
