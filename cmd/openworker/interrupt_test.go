package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// slowly makes the offline model take its time, so that there is something to interrupt.
const slowly = "count to 5000"

func TestCtrlCCancelsTheTurnAndKeepsTheSession(t *testing.T) {
	t.Parallel()
	c := newPlace(t).sit(nil, "chat")
	c.see("> ")
	c.enter(slowly)
	c.see("1, 2, 3")
	c.interrupt()
	c.see("(cancelling the turn; Ctrl-C again leaves)")
	if text := c.see("(cancelled)\n"); strings.Contains(text, "failed") {
		t.Errorf("a cancellation looks like a failure: %q", text)
	}
	c.see("> ")
	c.enter("count to 2")
	c.see("1, 2.\n")
	c.see("> ")
	_ = c.keys.Close()
	c.leaves(exitOK)
}

func TestCtrlCTwiceLeavesATurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sit(nil, "run", slowly)
	c.see("openworker: session ")
	session := strings.TrimSpace(c.see("\n"))
	c.see("1, 2, 3")
	c.interrupts <- os.Interrupt
	c.interrupts <- os.Interrupt
	c.leaves(exitInterrupt)
	if events := p.ok("", "events", session).out; !strings.Contains(events, "turn_cancel_requested") {
		t.Errorf("the cancellation is not stored: %s", events)
	}
}

func TestCtrlCCancelsTheOneTurnOfRun(t *testing.T) {
	t.Parallel()
	c := newPlace(t).sit(nil, "run", slowly)
	c.see("1, 2, 3")
	c.interrupt()
	c.leaves(exitCancelled)
}

func TestCtrlCWithdrawsAQuestion(t *testing.T) {
	t.Parallel()
	c := newPlace(t).sit(nil, "chat", "--approve", "ask")
	c.see("> ")
	c.enter("use current_time")
	c.see("[l] leave it open\n? ")
	c.interrupt()
	c.see("(cancelled)")
	c.see("> ")
	_ = c.keys.Close()
	c.leaves(exitOK)
}

func TestCtrlCAtThePromptLeavesWhenItComesTwiceInTwoSeconds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pass := make(chan time.Duration, 1) // time that passes before the clock is read again
	c := newPlace(t).sit(func(m *Main) {
		m.Now = func() time.Time { now = now.Add(<-pass); return now }
	}, "chat")
	for _, wait := range []time.Duration{0, 3 * time.Second, 2 * time.Second} {
		c.see("> ")
		pass <- wait
		c.interrupt()
		c.see("(Ctrl-C again, or Ctrl-D, leaves)")
	}
	c.see("> ")
	pass <- time.Second
	c.interrupt()
	c.leaves(exitOK)
}
