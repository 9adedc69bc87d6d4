package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/tool"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

func provider(url string) (*openaichat.Provider, error) {
	return openaichat.New(openaichat.Config{Name: "OpenAI", BaseURL: url, KeyOptional: true})
}

// subject is OpenWorker on SQLite, counted from outside.
type subject struct {
	harness *openworker.Harness
	agent   *openworker.Agent
	store   *counted
	model   *counting
}

func openSubject(ctx context.Context, dir, url string) (*subject, error) {
	p, err := provider(url)
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(dir, "state")})
	if err != nil {
		return nil, err
	}
	sub := &subject{model: &counting{Provider: p}}
	sub.store = &counted{Store: s, model: sub.model}
	sub.harness, err = openworker.Open(ctx, openworker.Options{Store: sub.store, StateDir: filepath.Join(dir, "state"), ScratchDir: filepath.Join(dir, "scratch"),
		Providers: []openworker.Provider{sub.model}})
	if err != nil {
		return nil, err
	}
	add, err := openworker.NewTool("add", "Adds two numbers.", func(_ context.Context, _ tool.Call, in addArgs) (string, error) {
		return fmt.Sprint(in.A + in.B), nil
	})
	if err != nil {
		return nil, err
	}
	sub.agent, err = sub.harness.Agent(ctx, openworker.AgentDefinition{
		Name: "bench", Instructions: "Answer briefly.", Tools: []openworker.Tool{add},
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "bench-model"},
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever},
	})
	return sub, err
}

func (s *subject) close(ctx context.Context) error {
	if err := s.harness.Close(ctx); err != nil {
		return err
	}
	return s.store.Close()
}

// counting notes when model calls start.
type counting struct {
	model.Provider
	starts atomic.Int64
	flying atomic.Int64
	first  atomic.Int64 // unix nanoseconds of the first start since it was reset
}

func (c *counting) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	c.starts.Add(1)
	c.flying.Add(1)
	defer c.flying.Add(-1)
	c.first.CompareAndSwap(0, time.Now().UnixNano())
	return c.Provider.Stream(ctx, req, emit)
}

// counted counts appends, and those during which no model call ran: a turn waited for those alone. With many
// sessions at once some call always runs, so the figure means something at one session.
type counted struct {
	store.Store
	model          *counting
	appends, waits atomic.Int64
	mu             sync.Mutex
	bytes          int64
}

func (c *counted) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	before, flying := c.model.starts.Load(), c.model.flying.Load() > 0
	n := int64(0)
	for _, r := range a.Records {
		n += int64(len(r.Data))
	}
	r, err := c.Store.Append(ctx, a)
	c.appends.Add(1)
	if !flying && c.model.starts.Load() == before {
		c.waits.Add(1)
	}
	c.mu.Lock()
	c.bytes += n
	c.mu.Unlock()
	return r, err
}

type counts struct{ appends, waits, bytes int64 }

func (s *subject) counts() counts {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return counts{appends: s.store.appends.Load(), waits: s.store.waits.Load(), bytes: s.store.bytes}
}
