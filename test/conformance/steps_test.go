package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// patience is how long a step may take before it counts as hanging.
const patience = 60 * time.Second

// Steps that are no methods of the protocol. run and compact wait for the result, upload sends a whole file, follow reads
// events from a stream. The others are about the process, the tools and the model.
const (
	doRun     = "run"
	doCompact = "compact"
	doUpload  = "upload"
	doFollow  = "follow"
	doOpen    = "open"
	doClose   = "close"
	doKill    = "kill"
	doJoin    = "join"
	doGate    = "gate"
	doTool    = "tool"
	doModel   = "model"
)

// face is a way to the product. Its calls may be made at once.
type face interface {
	// open starts a process on a state directory, and register makes tools, guardrails and hooks available in it.
	open(ctx context.Context, h host) error
	register(what registration) error
	// call does what a method of the protocol does, with its arguments and its result in the protocol's form.
	call(ctx context.Context, method string, with any) (any, error)
	// follow gives events to until, until it says so or the stream ends.
	follow(ctx context.Context, q api.FollowQuery, until func(api.Event) bool) error
	// close stops the process's work; calls that follow are refused. kill ends it without a word to it, as far as the face
	// can. end is called at last, whatever came before.
	close(ctx context.Context) error
	kill() error
	end() error
}

// host is what a process is opened with.
type host struct {
	state, scratch string
	providers      []provider // complete
}

// registration is what a process is given to work with.
type registration struct {
	tools      map[string]tool
	guardrails []guardrail
	hooks      []hook
}

// message is a submission with files behind its text, which a face sends as its callers would.
type message struct {
	Session string             `json:"session"`
	Text    string             `json:"text,omitempty"`
	Content []api.ContentBlock `json:"content,omitempty"`
	Attach  []upload           `json:"attach,omitempty"`
	Options api.TurnOptions    `json:"options,omitzero"`
}

// upload is a whole file.
type upload struct {
	Session   string `json:"session,omitempty"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType,omitempty"`
	Data      string `json:"data"` // base64
}

// play is one run of a scenario through a face.
type play struct {
	t      *testing.T
	app    *application
	model  *modelProcess
	face   face
	values values
	host   host
	behind map[string]chan outcome // by the names of steps in the background
}

// outcome is what came of a step.
type outcome struct {
	result any
	err    error
}

// run plays a scenario through a face.
func run(t *testing.T, s scenario, through func(*application) face) {
	dir := t.TempDir()
	app := newApplication(s)
	p := &play{t: t, app: app, model: startModel(t, s.Model), face: through(app), behind: map[string]chan outcome{}}
	p.host = host{state: filepath.Join(dir, "state"), scratch: filepath.Join(dir, "scratch")}
	p.values = values{named: map[string]any{}, dir: dir, state: p.host.state}
	for _, path := range []string{p.host.scratch, p.host.state} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own := s.Providers
	if own == nil {
		own = []provider{{Name: standard.Provider, KeyOptional: true}}
	}
	for _, given := range own {
		if given.Protocol == "" {
			given.Protocol = "openai-chat"
		}
		if given.BaseURL == "" {
			given.BaseURL = p.model.openAI
		}
		p.host.providers = append(p.host.providers, given)
	}
	t.Cleanup(func() { // before the model ends
		if err := p.face.end(); err != nil {
			t.Errorf("the end: %v", err)
		}
	})
	for i, st := range s.Steps {
		if i == 0 && st.Do != doOpen {
			if _, err := p.do(t.Context(), step{Do: doOpen}, nil); err != nil {
				t.Fatalf("open: %v", err)
			}
		}
		for n := range max(st.Times, 1) {
			p.values.named["index"] = n
			if fault := p.step(st); fault != "" {
				t.Fatalf("step %d, %s: %s", i+1, st.Do, fault)
			}
		}
	}
}

// step does a step and holds what comes out against what is expected.
func (p *play) step(st step) string {
	with, err := p.values.eval(map[string]any(st.With))
	if err != nil {
		return err.Error()
	}
	if st.Background {
		done := make(chan outcome, 1)
		p.behind[st.As] = done
		go func() {
			result, err := p.do(context.WithoutCancel(p.t.Context()), st, with)
			done <- outcome{result, err}
		}()
		return ""
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	result, err := p.do(ctx, st, with)
	if st.Error != nil {
		return p.refused(st, result, err)
	}
	if err != nil {
		return "it failed: " + err.Error()
	}
	value, err := generic(result)
	if err != nil {
		return err.Error()
	}
	if st.As != "" {
		p.values.named[st.As] = value
	}
	want, err := p.values.eval(st.Expect)
	if err != nil {
		return err.Error()
	}
	if want == nil {
		return ""
	}
	return match(want, value, "the result")
}

// refused holds an error against the one that is expected.
func (p *play) refused(st step, result any, err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("it should fail with %s; its result is %s, its error %v", brief(st.Error), brief(result), err)
	}
	want := st.Error
	if code, ok := want.(string); ok {
		want = map[string]any{"code": code}
	}
	got, err := generic(e)
	if err == nil {
		want, err = p.values.eval(want)
	}
	if err != nil {
		return err.Error()
	}
	return match(want, got, "the error")
}

// do does a step with evaluated arguments.
func (p *play) do(ctx context.Context, st step, with any) (any, error) {
	args, _ := with.(map[string]any)
	text := func(name string) string { s, _ := args[name].(string); return s }
	switch st.Do {
	case doOpen:
		return nil, p.open(ctx, args["register"] != false)
	case doClose:
		if err := p.face.close(ctx); api.CodeOf(err) != api.CodeClosed {
			return nil, err
		}
		return nil, nil // again
	case doKill:
		return nil, p.face.kill()
	case doJoin:
		select {
		case done := <-p.behind[text("step")]:
			return done.result, done.err
		case <-ctx.Done():
			return nil, fmt.Errorf("the step %q in the background does not end", text("step"))
		}
	case doGate:
		p.app.open(text("open"))
		return nil, p.model.open(text("open"))
	case doTool:
		q, err := into[struct {
			Name string `json:"name"`
			Runs int    `json:"runs"` // waits until it has begun so often
		}](with)
		if err != nil {
			return nil, err
		}
		return p.app.record(ctx, q.Name, q.Runs)
	case doModel:
		q, err := into[struct {
			Arrived int `json:"arrived"` // waits until so many requests have come
		}](with)
		if err != nil {
			return nil, err
		}
		return p.model.requests(q.Arrived)
	case doFollow:
		return p.follow(ctx, args)
	case doRun:
		accepted, err := p.face.call(ctx, rpc.MethodSubmit, with)
		if err != nil {
			return nil, err
		}
		value, err := generic(accepted)
		if err != nil {
			return nil, err
		}
		run, err := into[api.RunReference](value)
		if err != nil {
			return nil, err
		}
		return p.face.call(ctx, rpc.MethodResult, map[string]any{"session": run.Session, "run": run.Run})
	case rpc.MethodRegisterAgent:
		return p.agent(ctx, args)
	}
	return p.face.call(ctx, st.Do, with)
}

// open starts a process, and registers what the scenario has unless it is to know nothing.
func (p *play) open(ctx context.Context, registers bool) error {
	if err := p.face.open(ctx, p.host); err != nil {
		return err
	}
	if !registers {
		return nil
	}
	s := p.app.scenario
	if err := p.face.register(registration{s.Tools, s.Guardrails, s.Hooks}); err != nil {
		return err
	}
	for _, d := range s.Agents {
		given, err := generic(d)
		if err != nil {
			return err
		}
		made, err := p.agent(ctx, map[string]any{"definition": given})
		if err != nil {
			return err
		}
		if p.values.named[d.Name], err = generic(made); err != nil {
			return err
		}
	}
	return nil
}

// agent registers a definition whose tools are names.
func (p *play) agent(ctx context.Context, args map[string]any) (any, error) {
	d, err := into[definition](args["definition"])
	if err != nil {
		return nil, err
	}
	full := d.AgentDefinition
	for _, name := range d.Tools {
		t, ok := p.app.scenario.Tools[name]
		if !ok {
			return nil, fmt.Errorf("the scenario has no tool %q", name)
		}
		full.Tools = append(full.Tools, api.ToolDeclaration{Name: name, Description: t.Description, InputSchema: t.schema(), Effect: t.Effect})
	}
	if full.DefaultModel.IsZero() {
		full.DefaultModel = standard
	}
	with, err := generic(rpc.RegisterAgent{Definition: full})
	if err != nil {
		return nil, err
	}
	return p.face.call(ctx, rpc.MethodRegisterAgent, with)
}

// followed is what a follow gives: the numbered events, and the text that came live.
type followed struct {
	Events []api.Event `json:"events"`
	Live   string      `json:"live"`
}

// follow reads a stream to its end, or to the first event that fits until. A session's events have no gap (RU3).
func (p *play) follow(ctx context.Context, args map[string]any) (any, error) {
	until := args["until"]
	delete(args, "until")
	q, err := into[api.FollowQuery](args)
	if err != nil {
		return nil, err
	}
	got := followed{Events: []api.Event{}}
	last := q.After
	var fault error
	err = p.face.follow(ctx, q, func(event api.Event) bool {
		value, err := generic(event)
		if err != nil {
			fault = err
			return true
		}
		if event.Number == 0 {
			if delta, err := into[api.Delta](value.(map[string]any)["data"]); err == nil && event.Type == api.EventTextDelta {
				got.Live += delta.Text
			}
			return until != nil && match(until, value, "") == ""
		}
		if q.Run == "" && event.Number != last+1 || event.Number <= last {
			fault = fmt.Errorf("event %d follows event %d", event.Number, last)
			return true
		}
		last = event.Number
		got.Events = append(got.Events, event)
		return until != nil && match(until, value, "") == ""
	})
	return got, errors.Join(err, fault)
}
