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

// RE4: what a check let pass under a claim that is lost while its append is under way begins nothing under the next claim:
// the call would be begun in the name of the claim before, and nobody would start it (simulation, seed 9664).
func TestWhatWasDecidedUnderALostClaimIsNotDecidedUnderTheNext(t *testing.T) {
	t.Parallel()
	r := rigOf(t, engine.Agent{Name: "a", Digest: "d", Model: api.ModelRef{Provider: "P", Name: "m"}, Mode: api.ApproveAlways, UnknownOutcome: api.OutcomeAsk,
		Tools: []engine.Tool{{Name: "app.pay", ModelName: "app__pay", Effect: api.SideEffect, Ask: true}}})
	r.send("hello")
	r.answer(pay)
	asked := r.actor.State().Interactions
	if len(asked) != 1 {
		t.Fatalf("asked: %+v", asked)
	}
	r.step(runtime.Submit{Command: engine.Answer{Interaction: asked[0].ID, Answer: api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":1}`)}}})
	check, _ := r.begun()
	if check.Effect.Kind != engine.CheckEffect {
		t.Fatalf("begun: %+v", check.Effect)
	}
	r.slow = true
	r.step(runtime.Done{Ticket: check.Ticket, Command: engine.Checked{CallID: check.Effect.CallID, Attempt: check.Effect.Attempt, Epoch: check.Epoch, Digest: "d", Arguments: `{"n":1}`}})
	if len(r.held) != 1 {
		t.Fatalf("under way: %+v", r.held)
	}
	row, err := r.mem.Session(t.Context(), "s")
	if err == nil {
		err = r.mem.Register(t.Context(), store.Process{ID: "p2", LeaseUntil: r.now.Add(3 * time.Hour)})
	}
	if err == nil {
		_, err = r.mem.Fence(t.Context(), "p2", r.now.Add(2*time.Hour), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.process, r.slow = "p2", false
	r.step(runtime.LeaseLost{})
	r.step(runtime.Appended{ID: r.held[0].ID, Err: store.ErrFenced, Result: store.Appended{Head: row.Head, Epoch: row.Epoch, Holder: "p"}})
	r.step(runtime.Wake{})
	again, _ := r.begun()
	if !r.actor.Owns() || again.Epoch != check.Epoch+1 || again.Effect.Kind != engine.CheckEffect {
		t.Fatalf("owned %t, begun %+v in epoch %d; the journal: %v", r.actor.Owns(), again.Effect, again.Epoch, r.kinds())
	}
	r.step(runtime.Done{Ticket: again.Ticket, Command: engine.Checked{CallID: again.Effect.CallID, Attempt: again.Effect.Attempt, Epoch: again.Epoch, Digest: "d", Arguments: `{"n":1}`}})
	if body, _ := r.begun(); body.Effect.Kind != engine.ToolEffect || body.Effect.Epoch != again.Epoch {
		t.Errorf("begun: %+v", body.Effect)
	}
}
