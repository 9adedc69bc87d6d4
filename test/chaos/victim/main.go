package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/google"
	"github.com/openworkerai/openworker/model/openai"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/test/chaos"
)

type settings struct {
	dir, scratch, ledger, model string
	protocol                    string
	kill, once, trace           string
	approvals, guards, face     string
	window                      int
	lease, poll, busy           time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.dir, "dir", "", "state directory")
	flag.StringVar(&s.scratch, "scratch", "", "directory of the sessions' workspaces")
	flag.StringVar(&s.ledger, "ledger", "", "file that the tools write their effects to")
	flag.StringVar(&s.model, "model", "", "base URL of the model server")
	flag.StringVar(&s.protocol, "protocol", "chat", "what it speaks: chat, responses, messages or gemini")
	flag.StringVar(&s.kill, "kill", "", "point at which to end, as name#n or name#n+delay")
	flag.StringVar(&s.once, "once", "", "file that is made by the one that ends there, of several victims")
	flag.StringVar(&s.trace, "trace", "", "file that each point is written to")
	flag.StringVar(&s.approvals, "approvals", "never", "approval mode of the agent")
	flag.StringVar(&s.guards, "guards", "", "what the application adds, by comma: deny, mark, veil, secret")
	flag.StringVar(&s.face, "face", "service", "what clients call: service, or go for the Go package")
	flag.IntVar(&s.window, "window", 0, "window of the model in tokens, with the protocol chat; 0 is unknown")
	flag.DurationVar(&s.lease, "lease", 8*time.Second, "lease")
	flag.DurationVar(&s.poll, "poll", time.Second, "time between looks for work")
	flag.DurationVar(&s.busy, "busy", 5*time.Second, "how long a write waits for another process")
	flag.Parse()
	out := &output{w: json.NewEncoder(os.Stdout)}
	if err := run(s, out); err != nil {
		out.reply(0, nil, err)
		os.Exit(1)
	}
}

// output writes replies, one at a time.
type output struct {
	mu sync.Mutex
	w  *json.Encoder
}

func (o *output) reply(id int, value any, err error) {
	r := chaos.Reply{ID: id}
	if err == nil {
		r.Value, err = json.Marshal(value)
	}
	if err != nil {
		e := api.AsError(err)
		r.Code, r.Message = e.Code, e.Error()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.w.Encode(r) != nil {
		os.Exit(1) // nobody listens any more
	}
}

// provider is the one of the protocol, and a model of it that reasons.
func (s settings) provider() (p model.Provider, name string, err error) {
	switch s.protocol {
	case "chat":
		facts := map[string]model.Facts{"m": {Window: s.window}}
		p, err = openaichat.New(openaichat.Config{BaseURL: s.model, KeyOptional: true, Facts: facts})
		return p, "m", err
	case "responses":
		p, err = openai.New(openai.Config{BaseURL: s.model, KeyOptional: true})
		return p, "gpt-5-mini", err
	case "messages":
		p, err = anthropic.New(anthropic.Config{BaseURL: s.model, KeyOptional: true})
		return p, "claude-opus-4-5", err
	case "gemini":
		p, err = google.New(google.Config{BaseURL: s.model, KeyOptional: true})
		return p, "gemini-3-pro-preview", err
	}
	return nil, "", api.Errorf(api.CodeInvalidRequest, "there is no protocol %q", s.protocol)
}

// open makes what clients call.
func (s settings) open(ctx context.Context, st *sqlite.Store, provider model.Provider, add guards, points *points) (face, error) {
	const grace = 500 * time.Millisecond
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if s.face == "go" {
		harness, err := openworker.Open(ctx, openworker.Options{
			Guardrails: add.guardrails, Hooks: add.hooks, Deny: add.deny,
			Store: tap{st, points.reach}, StateDir: s.dir, ScratchDir: s.scratch, Providers: []model.Provider{tappedProvider{provider, points.reach}},
			Lease: s.lease, CancelGrace: grace, Logger: logger,
		})
		if err != nil {
			return nil, err
		}
		return goFace{harness.Service(), harness}, nil
	}
	return service.New(ctx, service.Config{
		Guardrails: add.guardrails, Hooks: add.hooks, Deny: add.deny,
		Store: st, StateDir: s.dir, ScratchDir: s.scratch, Providers: []model.Provider{provider}, Lease: s.lease, Poll: s.poll,
		CancelGrace: grace, Failpoint: points.reach, Logger: logger,
	})
}

func run(s settings, out *output) error {
	ctx := context.Background()
	began := time.Now()
	points, err := newPoints(s)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: s.dir, BusyTimeout: s.busy, Failpoint: points.reach})
	if err != nil {
		return err
	}
	provider, name, err := s.provider()
	if err != nil {
		return err
	}
	add, err := newGuards(s.guards, points.reach)
	if err != nil {
		return err
	}
	svc, err := s.open(ctx, st, provider, add, points)
	if err != nil {
		return err
	}
	tools := ledger{path: s.ledger}.tools()
	agent := api.AgentDefinition{
		Name: "victim-" + s.approvals, Guardrails: add.names(), Hooks: add.hookNames(), Instructions: "Work.", DefaultModel: api.ModelRef{Provider: provider.Name(), Name: name},
		Approvals: api.Approvals{Mode: api.ApprovalMode(s.approvals)},
	}
	if agent.Approvals.Mode == api.ApproveAuto {
		agent.Approvals.ReviewerModel = &agent.DefaultModel
	}
	for _, t := range tools {
		agent.Tools = append(agent.Tools, t.Declaration())
	}
	if err := svc.Bind(tools...); err != nil {
		return err
	}
	v := &victim{service: svc, out: out, points: points, close: st.Close}
	// A store that cannot be written still answers what it is asked.
	if v.agent, err = svc.RegisterAgent(ctx, "", agent); err != nil {
		v.unregistered = err
	}
	out.reply(0, chaos.Opened{Store: st.ID(), Began: began.UnixNano()}, nil)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var c chaos.Command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		go v.serve(ctx, c)
	}
	return lines.Err()
}
