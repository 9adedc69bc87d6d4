package providers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/google"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openai"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// subject is a provider under test. Its models reason.
type subject struct {
	name     string
	protocol modeltestserver.Protocol
	model    string
	other    string // another of its models
	open     func(http.RoundTripper) (model.Provider, error)
}

func subjects() []subject {
	client := func(t http.RoundTripper) *http.Client { return &http.Client{Transport: t} }
	return []subject{
		{"OpenAI", modeltestserver.Responses, "gpt-5-mini", "o4-mini", func(t http.RoundTripper) (model.Provider, error) {
			return openai.New(openai.Config{BaseURL: "http://model.test/v1", HTTPClient: client(t), KeyOptional: true})
		}},
		{"Chat", modeltestserver.Chat, "llama", "qwen", func(t http.RoundTripper) (model.Provider, error) {
			return openaichat.New(openaichat.Config{Name: "Chat", BaseURL: "http://model.test/v1", HTTPClient: client(t), KeyOptional: true})
		}},
		{"Anthropic", modeltestserver.Messages, "claude-opus-4-5", "claude-sonnet-4-5", func(t http.RoundTripper) (model.Provider, error) {
			return anthropic.New(anthropic.Config{BaseURL: "http://model.test", HTTPClient: client(t), KeyOptional: true})
		}},
		{"Google", modeltestserver.Gemini, "gemini-3-pro-preview", "gemini-2.5-flash", func(t http.RoundTripper) (model.Provider, error) {
			return google.New(google.Config{BaseURL: "http://model.test", HTTPClient: client(t), KeyOptional: true})
		}},
	}
}

// eachSubject runs a test for each provider, at once.
func eachSubject(t *testing.T, run func(t *testing.T, s subject)) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			run(t, s)
		})
	}
}

// clock is the test's own: under synctest the machine's boot clock would stand still.
type clock struct{ started time.Time }

func (c clock) Now() time.Time      { return time.Now() }
func (c clock) Boot() time.Duration { return time.Since(c.started) }

// host is a service with all providers at one server.
type host struct {
	*service.Service
	t       *testing.T
	server  *modeltestserver.Server
	session string

	mu  sync.Mutex
	ran map[string]int // executions of the tools, by call ID
}

// open starts a service over a store. The agent has the tools get_weather and get_time.
func open(t *testing.T, st store.Store, handler func(modeltestserver.Request) modeltestserver.Reply) *host {
	t.Helper()
	h := &host{t: t, ran: map[string]int{}, server: modeltestserver.NewInMemory(modeltestserver.Config{Handler: handler})}
	var list []model.Provider
	for _, s := range subjects() {
		provider, err := s.open(h.server.Transport())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, provider)
	}
	var err error
	if h.Service, err = service.New(t.Context(), service.Config{
		Store: st, ScratchDir: t.TempDir(), Providers: list, Clock: clock{time.Now()},
		CheckRequest: func(r model.Request) {
			if err := model.Check(r); err != nil {
				t.Errorf("a request breaks the rules: %v", err)
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	return h
}

// begin registers the agent and makes the session.
func (h *host) begin(s subject, limits api.Limits) {
	h.t.Helper()
	session, err := h.CreateSession(h.t.Context(), h.register(s, limits), api.SessionOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.session = session.Session
}

// register binds the tools and registers the agent.
func (h *host) register(s subject, limits api.Limits) api.AgentReference {
	h.t.Helper()
	tools := h.tools()
	def := api.AgentDefinition{
		Name: "assistant", Instructions: "Help.", DefaultModel: api.ModelRef{Provider: s.name, Name: s.model}, Limits: limits,
		Approvals: api.Approvals{Mode: api.ApproveNever},
	}
	if err := h.Bind(tools...); err != nil {
		h.t.Fatal(err)
	}
	for _, tl := range tools {
		def.Tools = append(def.Tools, tl.Declaration())
	}
	ref, err := h.RegisterAgent(h.t.Context(), "", def)
	if err != nil {
		h.t.Fatal(err)
	}
	return ref
}

func (h *host) tools() []tool.Tool {
	h.t.Helper()
	type city struct {
		City string `json:"city"`
	}
	var out []tool.Tool
	for _, name := range []string{"get_weather", "get_time"} {
		tl, err := tool.New(name, "Tells something of a city.", func(_ context.Context, c tool.Call, in city) (string, error) {
			h.mu.Lock()
			h.ran[c.ID]++
			h.mu.Unlock()
			if in.City == "Atlantis" {
				return "", fmt.Errorf("there is no such city")
			}
			return name + " of " + in.City, nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
		out = append(out, tl)
	}
	return out
}

// close ends the service. Under synctest it must happen before the test returns.
func (h *host) close() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		h.t.Error(err)
	}
}

// turn sends a message and waits for its end.
func (h *host) turn(text string, options api.TurnOptions) (api.Result, api.RunReference) {
	h.t.Helper()
	run, err := h.Submit(h.t.Context(), api.Submission{Session: h.session, Text: text, Options: options})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Hour)
	defer cancel()
	result, err := h.Result(ctx, run.Session, run.Run)
	if err != nil {
		h.t.Fatal(err)
	}
	return result, run
}

// events are those of the session, of one type.
func events[T any](h *host, kind api.EventType) []T {
	h.t.Helper()
	var out []T
	for after, more := uint64(0), true; more; {
		page, err := h.Events(h.t.Context(), api.EventQuery{Session: h.session, After: after, Limit: api.MaxPage})
		if err != nil {
			h.t.Fatal(err)
		}
		for _, e := range page.Events {
			after = e.Number
			if e.Type != kind {
				continue
			}
			var data T
			if err := json.Unmarshal(e.Data, &data); err != nil {
				h.t.Fatal(err)
			}
			out = append(out, data)
		}
		more = page.More
	}
	return out
}

// refusals fails the test where the server refused a request for its form.
func (h *host) refusals() {
	h.t.Helper()
	for _, refused := range h.server.Refusals() {
		h.t.Errorf("refused: %s", refused)
	}
	for id, times := range h.ran {
		if times != 1 {
			h.t.Errorf("call %s ran %d times", id, times)
		}
	}
}

func newStore() store.Store { return memstore.New(memstore.Config{}) }

func weather(city string) modeltestserver.Call {
	return modeltestserver.Call{ID: "call_" + strings.ToLower(city), Name: "get_weather", Arguments: fmt.Sprintf(`{"city":%q}`, city)}
}

// deltas listens to the session; the function that it returns tells what text came live, and in how many pieces.
func (h *host) deltas() func() (text string, pieces int) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	stream, err := h.Follow(ctx, api.FollowQuery{Session: h.session})
	if err != nil {
		h.t.Fatal(err)
	}
	var (
		text   string
		pieces int
		done   = make(chan struct{})
	)
	go func() {
		defer close(done)
		for {
			e, err := stream.Next(ctx)
			if err != nil {
				return
			}
			var d api.Delta
			if e.Type != api.EventTextDelta {
				continue
			}
			if err := json.Unmarshal(e.Data, &d); err != nil || d.From > len(text) {
				h.t.Errorf("delta %s: %v", e.Data, err)
				return
			}
			text = text[:d.From] + d.Text
			pieces++
		}
	}()
	return func() (string, int) {
		cancel()
		<-done
		_ = stream.Close()
		return text, pieces
	}
}
