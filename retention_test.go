package openworker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

func TestOldIdleSessionsAreDeletedAndWaitingOnesAreKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	provider := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Call("pay", `{}`), scripted.Text("paid"))})
	harness, err := openworker.Open(ctx, openworker.Options{StateDir: t.TempDir() + "/state", ScratchDir: t.TempDir(), Providers: []openworker.Provider{provider}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = harness.Close(context.WithoutCancel(ctx)) }()
	pay, err := openworker.NewTool("pay", "Pays.", func(context.Context, openworker.ToolCall, struct{}) (string, error) { return "ok", nil })
	if err != nil {
		t.Fatal(err)
	}
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{Name: "payer", Tools: []openworker.Tool{pay},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	idle, err := agent.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := agent.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := waiting.Run(ctx, "pay"); err != nil || r.Status != openworker.StatusInterrupted {
		t.Fatalf("%+v %v", r, err)
	}
	if n, err := harness.DeleteIdleBefore(ctx, time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Fatalf("deleted %d young sessions, %v", n, err)
	}
	if n, err := harness.DeleteIdleBefore(ctx, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Fatalf("deleted %d sessions, %v", n, err)
	}
	if _, err := idle.State(ctx); !errors.Is(err, openworker.ErrSessionDeleted) {
		t.Errorf("the idle session answers %v", err)
	}
	var out bytes.Buffer
	if err := waiting.Export(ctx, &out); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	for i, line := range lines {
		var e openworker.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Number != uint64(i+1) {
			t.Errorf("line %d is %s (%v)", i+1, line, err)
		}
	}
	state, err := waiting.State(ctx)
	if err != nil || int(state.LastEvent) != len(lines) {
		t.Errorf("%d lines, the last event is %d, %v", len(lines), state.LastEvent, err)
	}
}
