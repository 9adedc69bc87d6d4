package stdio_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/transport/client"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// words makes each turn more live events than are read ahead for a subscription that nobody reads.
const words = 300

// acts is a world whose model calls act once a turn, and then says what came of it.
func acts(run func(ctx context.Context, c servicetest.ToolCall) (string, error)) servicetest.World {
	return servicetest.World{
		Model: func(p servicetest.Prompt) servicetest.Answer {
			if p.Round == 0 {
				return servicetest.Answer{Text: strings.Repeat("word ", words), Calls: []servicetest.Call{{Name: "act", Arguments: `{}`}}}
			}
			return servicetest.Answer{Text: p.Items[len(p.Items)-1].Output}
		},
		Tools: []servicetest.Tool{{ToolDeclaration: api.ToolDeclaration{Name: "act", Description: "Acts.", InputSchema: []byte(`{"type":"object"}`), Effect: api.SideEffect}, Run: run}},
	}
}

func agent(t *testing.T, s api.Service, name string, tools ...servicetest.Tool) api.AgentReference {
	t.Helper()
	def := api.AgentDefinition{Name: name, DefaultModel: api.ModelRef{Provider: servicetest.Provider, Name: "m"}, Approvals: api.Approvals{Mode: api.ApproveNever}}
	for _, tl := range tools {
		def.Tools = append(def.Tools, tl.ToolDeclaration)
	}
	ref, err := s.RegisterAgent(t.Context(), "", def)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// One connection carries 64 sessions, whose tools run in the client, with a subscription beside each that is never read and
// another that is, while requests are given up by the hundred. Each turn comes to its own end.
func TestManySessionsShareAConnection(t *testing.T) {
	t.Parallel()
	const sessions, turns = 64, 4
	var bodies atomic.Int64
	w := acts(func(_ context.Context, c servicetest.ToolCall) (string, error) {
		bodies.Add(1)
		return c.Session.Session, nil
	})
	var c *client.Client
	p := suitehost.InMemory(func(t *testing.T, cfg service.Config, w servicetest.World) suitehost.Running {
		r := start(t, cfg, w).(*runtime)
		c = r.Client
		return r
	}).Open(t, w)
	ref := agent(t, c, "busy", w.Tools...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range sessions {
		wg.Go(func() {
			if err := talkTo(ctx, c, ref, turns); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := bodies.Load(); n != sessions*turns {
		t.Errorf("%d bodies ran, want %d", n, sessions*turns)
	}
	p.Stop()
}

// talkTo has some turns in a new session of its own.
func talkTo(ctx context.Context, c *client.Client, ref api.AgentReference, turns int) error {
	session, err := c.CreateSession(ctx, ref, api.SessionOptions{})
	if err != nil {
		return err
	}
	for range 2 { // which nobody reads, and which Close need not wait for
		stalled, err := c.Follow(ctx, api.FollowQuery{Session: session.Session})
		if err != nil {
			return err
		}
		defer stalled.Close()
	}
	last := uint64(0)
	for range turns {
		run, err := c.Submit(ctx, api.Submission{Session: session.Session, Text: "go"})
		if err != nil {
			return err
		}
		var storm sync.WaitGroup
		for i := range 8 {
			storm.Go(func() {
				short, cancel := context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
				defer cancel()
				_, _ = c.Result(short, run.Session, run.Run) // it may be there in time
			})
		}
		stream, err := c.Follow(ctx, api.FollowQuery{Session: run.Session, Run: run.Run})
		if err != nil {
			return err
		}
		for ended := false; !ended; {
			e, err := stream.Next(ctx)
			if err != nil {
				return fmt.Errorf("after event %d: %w", last, err)
			}
			if e.Number > 0 && last > 0 && e.Number != last+1 {
				return fmt.Errorf("event %d stands behind %d", e.Number, last)
			}
			last, ended = max(last, e.Number), e.Type == api.EventTurnEnded
		}
		storm.Wait()
		if err := stream.Close(); err != nil {
			return err
		}
		r, err := c.Result(ctx, run.Session, run.Run)
		if err != nil || r.Status != api.StatusCompleted || r.Text != session.Session {
			return fmt.Errorf("%s came to %s %q, %w", run.Run, r.Status, r.Text, err)
		}
	}
	return nil
}

// AG4, AG6: two agents have tools of one name that declare different things, and each calls its own.
func TestTwoToolsOfOneNameStayApart(t *testing.T) {
	t.Parallel()
	first := acts(func(context.Context, servicetest.ToolCall) (string, error) { return "one", nil })
	second := first.Tools[0]
	second.Description, second.Run = "Acts otherwise.", func(context.Context, servicetest.ToolCall) (string, error) { return "two", nil }
	var c *client.Client
	suitehost.InMemory(func(t *testing.T, cfg service.Config, w servicetest.World) suitehost.Running {
		r := start(t, cfg, w).(*runtime)
		c = r.Client
		return r
	}).Open(t, first)
	if err := c.Bind(suitehost.Tool(second)); err != nil {
		t.Fatal(err)
	}
	a, b := agent(t, c, "first", first.Tools...), agent(t, c, "second", second)
	for _, want := range []struct {
		agent api.AgentReference
		text  string
	}{{a, "one"}, {b, "two"}, {a, "one"}} {
		session, err := c.CreateSession(t.Context(), want.agent, api.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := c.Submit(t.Context(), api.Submission{Session: session.Session, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Result(t.Context(), run.Session, run.Run); err != nil || r.Text != want.text {
			t.Errorf("%s: %s %q, %v", want.agent.Name, r.Status, r.Text, err)
		}
	}
}
