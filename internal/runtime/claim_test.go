package runtime_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// RE4: a row and the records behind it are two reads. A take-over between them is folded with the row of before, and the
// claim that is gone is given up all the same (simulation, seed 4893: the session looked every second for ever).
func TestAClaimThatWasTakenOverBetweenTwoReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("hello")
	before, err := r.mem.Session(t.Context(), "s")
	if err != nil || !r.actor.Owns() {
		t.Fatalf("%v, owned %t", err, r.actor.Owns())
	}
	if err := r.mem.Register(t.Context(), store.Process{ID: "q", LeaseUntil: r.now.Add(3 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if fenced, err := r.mem.Fence(t.Context(), "q", r.now.Add(2*time.Hour), 0); err != nil || len(fenced) != 1 {
		t.Fatalf("fenced %v, %v", fenced, err)
	}
	r.dead = true
	taken, err := engine.Encode(engine.TakenOver{Epoch: before.Epoch + 1, From: "p", Process: "q"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.mem.Append(t.Context(), store.Append{
		ID: "theirs", Session: "s", Known: before.Head, Time: r.now, Claim: &store.Claim{Process: "q", Claim: "c", Epoch: before.Epoch, From: "p"},
		Records: []store.Record{{Kind: string(taken.Kind), Version: taken.Version, Data: taken.Data}}, Index: store.Index{Activity: "active"},
	}); err != nil {
		t.Fatal(err)
	}
	records, err := r.mem.Records(t.Context(), store.RecordQuery{Session: "s", After: before.Head})
	if err != nil {
		t.Fatal(err)
	}
	r.step(runtime.Tail{Session: before, Records: records})
	if !r.actor.Owns() {
		t.Fatal("the row of before says that the claim stands")
	}
	r.wait(time.Second)
	if r.actor.Owns() {
		t.Error("the claim is kept")
	}
	r.send("once more")
	if r.reply == nil || api.CodeOf(r.reply.Err) != api.CodeSessionBusy {
		t.Errorf("the next message: %+v", r.reply)
	}
}
