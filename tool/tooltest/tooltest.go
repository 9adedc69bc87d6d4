package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

// Subject is a tool and how to use it. The suite runs the tool for real, some ten times for each of Arguments,
// each time under another call ID.
type Subject struct {
	Tool tool.Tool
	// Arguments are calls that succeed. At least one.
	Arguments []json.RawMessage
	// Refused are arguments that the schema does not accept.
	Refused []json.RawMessage
	// Call is what the body is told besides ID, attempt, tool and arguments: a workspace, say.
	Call tool.Call
	// Grace is what the body gets to return after its context ended. Defaults to api.DefaultCancelGrace.
	Grace time.Duration
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, problem := range Check(t.Context(), s) {
		t.Error(problem)
	}
}

// Check runs the suite and returns what the tool breaks; nothing for a good one.
func Check(ctx context.Context, s Subject) []error {
	c := &checker{ctx: ctx, Subject: s}
	if c.Grace == 0 {
		c.Grace = api.DefaultCancelGrace
	}
	schema := c.declaration()
	if schema == nil {
		return c.problems // nothing else can be judged
	}
	c.arguments(schema)
	c.runs()
	c.sideBySide()
	c.cancelled()
	c.inspection()
	return c.problems
}

type checker struct {
	Subject
	ctx      context.Context
	calls    int
	problems []error
}

func (c *checker) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// call is a call with an ID of its own.
func (c *checker) call(args json.RawMessage) tool.Call {
	c.calls++
	call := c.Call
	call.ID = fmt.Sprintf("tooltest-%d", c.calls)
	call.Attempt = 1
	call.Tool = c.Tool.Declaration().Name
	call.Arguments = bytes.Clone(args)
	return call
}

func (c *checker) declaration() *tool.Schema {
	d := c.Tool.Declaration()
	if _, err := tool.ModelName(d.Name); err != nil {
		c.problem("the name: %w", err)
	}
	switch d.Effect {
	case "", api.SideEffect, api.Idempotent, api.ReadOnly:
	default:
		c.problem("the effect %q is none", d.Effect)
	}
	if c.Tool.Timeout() < 0 {
		c.problem("the time-out %s is negative", c.Tool.Timeout())
	}
	schema, err := tool.Compile(d.InputSchema)
	if err != nil {
		c.problem("the input schema: %w", err)
		return nil
	}
	before := bytes.Clone(d.InputSchema)
	clear(d.InputSchema)
	again := c.Tool.Declaration()
	if again.Name != d.Name || again.Description != d.Description || again.Effect != d.Effect || !bytes.Equal(again.InputSchema, before) {
		c.problem("the declaration changed from one call to the next, or through a copy of it")
	}
	return schema
}

func (c *checker) arguments(schema *tool.Schema) {
	if len(c.Arguments) == 0 {
		c.problem("the subject has no Arguments")
	}
	for _, args := range c.Arguments {
		if err := schema.Validate(args); err != nil {
			c.problem("the schema does not accept %s: %w", args, err)
		}
	}
	for _, args := range c.Refused {
		if schema.Validate(args) == nil {
			c.problem("the schema accepts %s", args)
		}
	}
}

func (c *checker) runs() {
	for _, args := range c.Arguments {
		call := c.call(args)
		attempts := 1
		if c.Tool.Declaration().Effect.Repeatable() {
			attempts = 3 // as after two crashes
		}
		for attempt := 1; attempt <= attempts; attempt++ {
			call.Attempt = attempt
			out, err := c.run(c.ctx, call)
			if err != nil {
				c.problem("attempt %d with %s: %w", attempt, args, err)
			}
			if !utf8.ValidString(out) {
				c.problem("the output for %s is not UTF-8", args)
			}
		}
		if !bytes.Equal(call.Arguments, args) {
			c.problem("the body changed its arguments from %s to %s", args, call.Arguments)
		}
	}
}

// run recovers a panic, as the runtime does.
func (c *checker) run(ctx context.Context, call tool.Call) (out string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return c.Tool.Run(ctx, call)
}

// panicked is a body's panic.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// sideBySide is for the race detector as much as for the errors.
func (c *checker) sideBySide() {
	const parallel = 4
	var wg sync.WaitGroup
	failures := make(chan error, parallel*len(c.Arguments))
	for _, args := range c.Arguments {
		for range parallel {
			call := c.call(args)
			wg.Go(func() {
				if _, err := c.run(c.ctx, call); err != nil {
					failures <- fmt.Errorf("side by side with others, %s: %w", args, err)
				}
			})
		}
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		c.problems = append(c.problems, err)
	}
}

// cancelled gives a body a context that has ended: it may fail or finish, but it has to return.
func (c *checker) cancelled() {
	for _, args := range c.Arguments {
		ctx, cancel := context.WithCancel(c.ctx)
		cancel()
		call := c.call(args)
		returned := make(chan error, 1)
		go func() {
			_, err := c.run(ctx, call)
			returned <- err
		}()
		timer := time.NewTimer(c.Grace)
		select {
		case err := <-returned:
			if p := new(panicked); errors.As(err, p) {
				c.problem("with an ended context: %w", err)
			}
		case <-timer.C:
			c.problem("with an ended context the body had not returned after %s", c.Grace)
		}
		timer.Stop()
	}
}

func (c *checker) inspection() {
	inspector, ok := c.Tool.(tool.Inspector)
	if !ok {
		return
	}
	for _, args := range c.Arguments {
		never := c.call(args)
		if got, err := inspector.Inspect(c.ctx, never); err == nil && got.Outcome == tool.Succeeded {
			c.problem("a call that never ran is said to have succeeded")
		}
		call := c.call(args)
		out, err := c.run(c.ctx, call)
		if err != nil {
			continue // told above
		}
		var first tool.Inspection
		for i := range 2 {
			got, err := inspector.Inspect(c.ctx, call)
			switch {
			case err != nil:
				c.problem("inspection %d of a call that succeeded: %w", i+1, err)
			case got.Outcome == tool.Failed || got.Outcome == tool.NotStarted:
				c.problem("a call that succeeded with %q is said to be %s", out, got.Outcome)
			case i == 1 && got != first:
				c.problem("the same inspection answers %v and then %v", first, got)
			}
			first = got
		}
	}
}
