package main

import (
	"os"
	"strings"
	"testing"
)

// slowly makes the offline model take its time, so that there is something to interrupt.
const slowly = "count to 5000"

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
	c := newPlace(t).sit(nil, "run", "--approve", "always", "use current_time")
	c.see("[l] leave it open\n? ")
	c.interrupt()
	c.see("(cancelled)")
	c.leaves(exitCancelled)
}
