package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// application is what a scenario's tools, guardrails and hooks do, whichever face calls them. It outlives the processes that
// call it, as the world outside does. It is safe for concurrent use.
type application struct {
	scenario scenario

	mu     sync.Mutex
	change *sync.Cond
	gates  map[string]chan struct{} // closed: open
	tools  map[string]*toolRecord
}

// toolRecord is what happened to a tool, in the form that the step "tool" tells.
type toolRecord struct {
	Runs        int  `json:"runs"`
	Inspections int  `json:"inspections"`
	Cancelled   int  `json:"cancelled"`
	Last        call `json:"last"`
}

// call is what a body is told (AG7).
type call struct {
	Tool      string            `json:"tool"`
	Arguments json.RawMessage   `json:"arguments"`
	CallID    string            `json:"callId"`
	Attempt   int               `json:"attempt"`
	Session   string            `json:"session"`
	Run       string            `json:"run"`
	Agent     string            `json:"agent"`
	Workspace string            `json:"workspace"`
	Origin    string            `json:"origin"`
	Owner     string            `json:"owner,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// verdict is a guardrail's, a hook's or the hard check's: allow, redact with a text, block with a reason.
type verdict struct{ action, text, reason string }

func newApplication(s scenario) *application {
	a := &application{scenario: s, gates: map[string]chan struct{}{}, tools: map[string]*toolRecord{}}
	a.change = sync.NewCond(&a.mu)
	return a
}

// gate is closed once it is open.
func (a *application) gate(name string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gates[name] == nil {
		a.gates[name] = make(chan struct{})
	}
	return a.gates[name]
}

func (a *application) open(name string) {
	gate := a.gate(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (a *application) wait(ctx context.Context, gate string) error {
	select {
	case <-a.gate(gate):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note changes a tool's record.
func (a *application) note(tool string, change func(*toolRecord)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools[tool] == nil {
		a.tools[tool] = &toolRecord{}
	}
	change(a.tools[tool])
	a.change.Broadcast()
}

// record waits until a tool's body has begun so many times, and tells what happened to it.
func (a *application) record(ctx context.Context, tool string, runs int) (toolRecord, error) {
	stop := context.AfterFunc(ctx, func() { a.note(tool, func(*toolRecord) {}) })
	defer stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		var now toolRecord
		if r := a.tools[tool]; r != nil {
			now = *r
		}
		if now.Runs >= runs {
			return now, nil
		}
		if ctx.Err() != nil {
			return now, fmt.Errorf("%s has run %d times, not %d", tool, now.Runs, runs)
		}
		a.change.Wait()
	}
}

// run is a tool's body.
func (a *application) run(ctx context.Context, c call) (string, error) {
	t, ok := a.scenario.Tools[c.Tool]
	if !ok {
		return "", fmt.Errorf("the scenario has no tool %q", c.Tool)
	}
	a.note(c.Tool, func(r *toolRecord) { r.Runs, r.Last = r.Runs+1, c })
	if t.Does.Waits != "" {
		if err := a.wait(ctx, t.Does.Waits); err != nil {
			a.note(c.Tool, func(r *toolRecord) { r.Cancelled++ })
			return "", err
		}
	}
	switch returned := t.Does.Returns.(type) {
	case nil:
		if t.Does.Fails != "" {
			return "", errors.New(t.Does.Fails)
		}
		if t.Does.Echoes {
			return string(c.Arguments), nil
		}
		return "", nil
	case string:
		return returned, nil
	default:
		data, err := json.Marshal(returned)
		return string(data), err
	}
}

// inspect is a tool's inspection; it has one.
func (a *application) inspect(c call) inspection {
	a.note(c.Tool, func(r *toolRecord) { r.Inspections++ })
	return *a.scenario.Tools[c.Tool].Inspect
}

// judge applies the first rule that is about a text.
func (a *application) judge(ctx context.Context, rules []textRule, text string) (verdict, error) {
	for _, r := range rules {
		if !strings.Contains(text, r.Contains) {
			continue
		}
		switch {
		case r.Redact != nil:
			return verdict{action: "redact", text: strings.ReplaceAll(text, r.Contains, *r.Redact), reason: "redacted by the scenario"}, nil
		case r.Block != "":
			return verdict{action: "block", reason: r.Block}, nil
		case r.Fails != "":
			return verdict{}, errors.New(r.Fails)
		case r.Waits != "":
			if err := a.wait(ctx, r.Waits); err != nil {
				return verdict{}, err
			}
		}
	}
	return verdict{action: "allow"}, nil
}

// guards finds a guardrail's rules, and hooks finds a hook.
func (a *application) guards(name string) []textRule {
	for _, g := range a.scenario.Guardrails {
		if g.Name == name {
			return g.Rules
		}
	}
	return nil
}

func (a *application) hook(name string) hook {
	for _, h := range a.scenario.Hooks {
		if h.Name == name {
			return h
		}
	}
	return hook{}
}

// changed is what a hook makes of a tool's result.
func (a *application) changed(ctx context.Context, hook, output string) (string, error) {
	v, err := a.judge(ctx, a.hook(hook).ToolResult, output)
	if err == nil && v.action == "redact" {
		output = v.text
	}
	return output, err
}

// schema is a tool's input schema.
func (t tool) schema() json.RawMessage {
	if t.InputSchema != nil {
		return t.InputSchema
	}
	return json.RawMessage(`{"type":"object"}`)
}
