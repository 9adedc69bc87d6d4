package openworker

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"reflect"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/sqlite"
)

// Options set up a harness. StateDir or Store is needed; whatever else is zero has its default.
type Options struct {
	// StateDir is the directory of the default store, SQLite; it is made with mode 0700 if it is not there.
	// Several processes of one machine may share it. No session's workspace may overlap it (SE5).
	StateDir string
	// Store is used instead of one in StateDir. Its owner closes it, after the harness.
	Store store.Store
	// Providers speak to the models that this process can use. Agents may also name OpenAI, Anthropic and
	// Google where they are not here: a session whose provider this process lacks waits, with
	// registration_missing in WaitingFor, for a process that has it.
	Providers []Provider
	// Credentials are asked for a provider's secret at each call. nil has none.
	Credentials Credentials
	// ScratchDir holds the private workspaces of sessions without one of their own, which are made with the
	// sessions. Defaults to the directory "openworker", and in it one named for the store, in the user's cache
	// directory: $XDG_CACHE_HOME or ~/.cache on Linux.
	ScratchDir string
	// Guardrails and Hooks are what agents and turns may name. A session whose agent or turn names one that is not here
	// waits, with registration_missing, and a message to it is refused with guardrail_missing. That is so for a name that
	// is misspelt too: an agent may name what only another process has.
	Guardrails []Guardrail
	Hooks      []Hook
	// Deny is the application's own hard check of each tool call: what it blocks is not run, whatever grants and
	// approvals say. It must be the same in every process of a store. nil checks nothing.
	Deny func(ctx context.Context, action ToolAction) (Verdict, error)
	// Logger gets what nobody is there to be told. Defaults to none.
	Logger *slog.Logger
	// Lease is how long this process may be silent before another takes over its sessions; one that is
	// known to have died is replaced at once. Defaults to 8 s.
	Lease time.Duration
	// ToolTimeout bounds one attempt of a tool that sets no bound itself. Defaults to 10 min.
	ToolTimeout time.Duration
	// CancelGrace is what the body of a cancelled tool gets to end. Defaults to 5 s.
	CancelGrace time.Duration
	// ToolParallel bounds the tool bodies of one session that run at once. Defaults to 8.
	ToolParallel int
}

// Harness runs sessions in this process. Close it when the program ends.
type Harness struct {
	service host
	store   store.Store // the one that Open opened, else nil
}

// host is what a harness needs of the service that it stands on.
type host interface {
	api.Service
	Bind(tools ...Tool) error
	BindGuards(guardrails []Guardrail, hooks []Hook) error
	ResultWhen(ctx context.Context, session, run string, ready func(ctx context.Context) error) (Result, error)
	Quiesce()
	Close(ctx context.Context) error
}

// Open opens the store and goes on with what its sessions had under way, as far as this process can run
// it: a session whose tools are not there yet waits until [Harness.Agent] or [Harness.Bind] brings them.
//
// Errors: invalid_request without a StateDir and a Store, for a provider that is nil, and for guardrails and hooks
// without a name, a function or a point, or of the same name; and the codes that begin with store_.
func Open(ctx context.Context, opts Options) (*Harness, error) {
	if opts.StateDir == "" && opts.Store == nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "Options need a StateDir, for example %q, or a Store", "./state")
	}
	for i, p := range opts.Providers {
		if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, api.Errorf(api.CodeInvalidRequest, "provider %d of %d is nil; leave it out, or look at the error of what was to make it", i+1, len(opts.Providers))
		}
	}
	if err := service.CheckGuards(opts.Guardrails, opts.Hooks); err != nil {
		return nil, err
	}
	if opts.StateDir != "" { // so that it stays the same directory, and workspaces can be compared with it
		dir, err := filepath.Abs(opts.StateDir)
		if err != nil {
			return nil, api.Errorf(api.CodeInvalidRequest, "StateDir %q: %w", opts.StateDir, err)
		}
		opts.StateDir = dir
	}
	h := &Harness{}
	if opts.Store == nil {
		opened, err := sqlite.Open(ctx, sqlite.Config{Dir: opts.StateDir})
		if err != nil {
			return nil, err
		}
		h.store, opts.Store = opened, opened
	}
	svc, err := service.New(ctx, service.Config{
		Store:        opts.Store,
		StateDir:     opts.StateDir,
		ScratchDir:   opts.ScratchDir,
		Providers:    opts.Providers,
		Credentials:  opts.Credentials,
		Guardrails:   opts.Guardrails,
		Hooks:        opts.Hooks,
		Deny:         opts.Deny,
		Logger:       opts.Logger,
		Lease:        opts.Lease,
		ToolTimeout:  opts.ToolTimeout,
		CancelGrace:  opts.CancelGrace,
		ToolParallel: opts.ToolParallel,
	})
	if err != nil {
		if h.store != nil {
			_ = h.store.Close() // nothing was written; the error above says more
		}
		return nil, err
	}
	h.service = svc
	return h, nil
}

// Close stops this process's work and closes the store that Open opened. Turns under way are left to
// recovery: the next process goes on with them. Tool bodies that run are told to stop by their context; ctx
// bounds the wait for them, which also ends a second after CancelGrace. Every later call of the harness and
// of what came from it fails with code closed, and so do those that wait: results, event streams.
func (h *Harness) Close(ctx context.Context) error {
	err := h.service.Close(ctx)
	if h.store == nil {
		return err
	}
	if closing := h.store.Close(); err == nil {
		err = closing
	}
	return err
}

// Quiesce is the first half of [Harness.Close], for a program that has requests to answer before it ends: what runs is told to
// stop, and nothing more is begun; messages and answers are still accepted, for the next process, and reads go on. It does
// not wait.
func (h *Harness) Quiesce() { h.service.Quiesce() }

// ResultWhen is [Run.Result] for a program that waits for many runs and passes their results on: each may have megabytes, and is
// made when ready has returned, which is called when the run has ended or waits, and perhaps again. An error of ready is returned.
func (h *Harness) ResultWhen(ctx context.Context, session, run string, ready func(ctx context.Context) error) (Result, error) {
	return h.service.ResultWhen(ctx, session, run, ready)
}

// Service is the contract under this package, with every paged read; for faces and tools.
func (h *Harness) Service() api.Service { return h.service }

// Bind makes tools available to sessions of agents that are in the store already, as a worker does
// that only goes on with what others began. [Harness.Agent] binds by itself. A later tool replaces an
// earlier one of its name if it declares the same; one that declares something else stands beside it, for
// the agents that declare that. A tool that is nil is invalid_tool.
func (h *Harness) Bind(tools ...Tool) error { return h.service.Bind(tools...) }

// BindGuards adds guardrails and hooks to those that [Open] was given, and sessions that waited for them go on. What is
// registered stays so until Close: a name that is there already is invalid_request, and so is what Open refuses; then
// nothing is added.
func (h *Harness) BindGuards(guardrails []Guardrail, hooks []Hook) error {
	return h.service.BindGuards(guardrails, hooks)
}

// Agent registers a definition and makes its tools available. The identical definition again is a no-op;
// a different one under the same name is definition_conflict, names the fields that differ and changes
// nothing (AG3): give a changed definition a new name, and the old one's sessions keep what they have.
func (h *Harness) Agent(ctx context.Context, def AgentDefinition) (*Agent, error) {
	for i, t := range def.Tools {
		if t == nil {
			return nil, api.Errorf(api.CodeInvalidTool, "tool %d of agent %q is nil; leave it out, or look at the error of NewTool", i+1, def.Name)
		}
	}
	ref, err := h.service.RegisterAgent(ctx, "", def.contract())
	if err != nil {
		return nil, err // and what was bound before is as it was
	}
	if err := h.service.Bind(def.Tools...); err != nil {
		return nil, err
	}
	return &Agent{harness: h, reference: ref}, nil
}

// StoredAgent finds an agent by name that is in the store, registered by whatever process, and makes its
// definition known to this one. Tools are not stored: without a [Harness.Bind] of those that the agent has,
// its sessions wait for them. agent_not_found.
func (h *Harness) StoredAgent(ctx context.Context, name string) (*Agent, error) {
	agents := pages("", func(cursor string) ([]api.AgentDefinition, string, error) {
		page, err := h.service.Agents(ctx, api.AgentQuery{Cursor: cursor, Limit: api.MaxPage})
		return page.Agents, page.Next, err
	})
	for def, err := range agents {
		if err != nil {
			return nil, err
		}
		if def.Name != name {
			continue
		}
		ref, err := h.service.RegisterAgent(ctx, "", def)
		if err != nil {
			return nil, err
		}
		return &Agent{harness: h, reference: ref}, nil
	}
	return nil, api.Errorf(api.CodeAgentNotFound, "no agent %q is in this store; register it with Agent", name)
}

// ResumeSession finds a session by its reference, whatever its agent, to look at it, to send and to answer;
// nothing is created (SE2). It goes on in the processes that have its agent, which this one may be.
//
// Errors: invalid_request for an incomplete reference, foreign_store, session_not_found, session_deleted,
// session_parked, wrong_agent.
func (h *Harness) ResumeSession(ctx context.Context, ref SessionReference) (*Session, error) {
	if err := complete(ref); err != nil {
		return nil, err
	}
	if err := h.service.ResumeSession(ctx, ref, ref.Agent); err != nil {
		return nil, err
	}
	return &Session{service: h.service, reference: ref}, nil
}

// Session is ResumeSession for a program that has only the session's ID, as a server with /sessions/{id}: it
// looks in the harness's own store, whatever the session's agent. An ID is no permission either.
//
// Errors: invalid_request, session_not_found, session_deleted, session_parked.
func (h *Harness) Session(ctx context.Context, id string) (*Session, error) {
	if id == "" {
		return nil, api.Errorf(api.CodeInvalidRequest, "the session's ID is empty; give what Session.ID returned")
	}
	host, err := h.service.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	page, err := h.service.Events(ctx, api.EventQuery{Session: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	ref := SessionReference{Store: host.Store, Session: id}
	for _, first := range page.Events { // session_created
		created, err := Data[SessionCreated](first)
		if err != nil {
			return nil, err
		}
		ref.Agent = created.Agent
	}
	return h.ResumeSession(ctx, ref)
}

// complete refuses a reference that is only a part of one.
func complete(ref SessionReference) error {
	switch {
	case ref.Session == "":
		return api.Errorf(api.CodeInvalidRequest, "the reference has no session; keep the whole value of Session.Reference, or find a session by its ID with Harness.Session")
	case ref.Store == "":
		return api.Errorf(api.CodeInvalidRequest, "the reference to session %s has no store; keep the whole value of Session.Reference, or find a session by its ID with Harness.Session", ref.Session)
	}
	return nil
}

// Sessions iterates over sessions, newest activity first, a page at a time. Limit is the size of a page.
// An error ends the iteration.
func (h *Harness) Sessions(ctx context.Context, query SessionQuery) iter.Seq2[SessionInfo, error] {
	return pages(query.Cursor, func(cursor string) ([]SessionInfo, string, error) {
		query.Cursor = cursor
		page, err := h.service.Sessions(ctx, query)
		return page.Sessions, page.Next, err
	})
}

// Interactions iterates over the open interactions of all sessions, oldest first (SE8).
func (h *Harness) Interactions(ctx context.Context, query InteractionQuery) iter.Seq2[SessionInteraction, error] {
	return pages(query.Cursor, func(cursor string) ([]SessionInteraction, string, error) {
		query.Cursor = cursor
		page, err := h.service.Interactions(ctx, query)
		return page.Interactions, page.Next, err
	})
}

// pages turns a paged read into an iteration.
func pages[T any](cursor string, read func(cursor string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := cursor; ; {
			items, after, err := read(next)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if after == "" {
				return
			}
			next = after
		}
	}
}

// one returns the only value of optional options, or the zero value.
func one[T any](name string, given []T) (T, error) {
	var options T
	switch len(given) {
	case 0:
		return options, nil
	case 1:
		return given[0], nil
	}
	return options, api.Errorf(api.CodeInvalidRequest, "%d values of %s are given; give none or one", len(given), name)
}
