package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/tool"
)

// Version is the release that this source becomes.
const Version = "0.1.0-dev"

// build is what this build can read: sessions are set aside for it, and not for builds of the same version that read more.
func build() string { return Version + "/" + engine.SnapshotSchema() }

// cleanEvery is how often a process looks for sessions that another one deleted and did not clean.
const cleanEvery = 5 * time.Second

// Credentials give secrets for providers (RE5). Credential is called concurrently, at each model call.
type Credentials interface {
	Credential(ctx context.Context, provider string) (secret string, ok bool, err error)
}

// Config configures a Service. Only Store is required.
type Config struct {
	Store store.Store
	// StateDir is checked against workspaces (SE5); "" where the store has no directory.
	StateDir string
	// ScratchDir holds private scratch directories. Defaults to "openworker" in the system's cache directory.
	ScratchDir  string
	Providers   []model.Provider
	Credentials Credentials
	// Guardrails, Hooks and Deny are the application's own checks (GR, AP2).
	Guardrails []guard.Guardrail
	Hooks      []guard.Hook
	Deny       guard.Deny
	Logger     *slog.Logger // defaults to none
	// Lease is how long the process may be silent before another takes its sessions over. Defaults to 8 s.
	Lease        time.Duration
	Poll         time.Duration // between looks for work; defaults to 1 s
	ToolTimeout  time.Duration // defaults to api.DefaultToolTimeout
	CancelGrace  time.Duration // defaults to api.DefaultCancelGrace
	ToolParallel int           // defaults to api.DefaultToolParallel
	Clock        runtime.Clock // of leases; defaults to the system's
	// Failpoint and CheckRequest are for tests; see runtime.Config.
	Failpoint    func(point string)
	CheckRequest func(model.Request)
}

// Service implements api.Service in this process.
type Service struct {
	cfg      Config
	store    store.Store
	log      *slog.Logger
	registry *runtime.Registry
	runtime  *runtime.Runtime

	mu    sync.Mutex
	facts map[string]*facts // immutable facts of sessions, by id

	open   context.Context // ends when Close begins
	close  context.CancelFunc
	ctx    context.Context // of cleaning: ends a little later
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var _ api.Service = (*Service)(nil)

// New starts a service. It registers the process and begins to go on with what has work.
func New(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "a service needs a store")
	}
	for name, value := range map[string]int64{"Lease": int64(cfg.Lease), "Poll": int64(cfg.Poll), "ToolTimeout": int64(cfg.ToolTimeout),
		"CancelGrace": int64(cfg.CancelGrace), "ToolParallel": int64(cfg.ToolParallel)} {
		if value < 0 {
			return nil, api.Errorf(api.CodeInvalidRequest, "%s is negative; leave it out for its default", name)
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	names := map[string]bool{}
	for i, p := range cfg.Providers {
		if p == nil {
			return nil, api.Errorf(api.CodeInvalidRequest, "provider %d of %d is nil; leave it out, or look at the error of what was to make it", i+1, len(cfg.Providers))
		}
		if name := strings.ToLower(p.Name()); names[name] || name == "" {
			return nil, api.Errorf(api.CodeInvalidRequest, "two providers are named %q, without case, or one has no name; give each its own", p.Name())
		} else {
			names[name] = true
		}
	}
	if err := CheckGuards(cfg.Guardrails, cfg.Hooks); err != nil {
		return nil, err
	}
	// What is registered does not change: neither do the points, which the caller has a slice of.
	cfg.Guardrails = slices.Clone(cfg.Guardrails)
	for i := range cfg.Guardrails {
		cfg.Guardrails[i].Points = slices.Clone(cfg.Guardrails[i].Points)
	}
	guards := runtime.Guards{Guardrails: cfg.Guardrails, Hooks: slices.Clone(cfg.Hooks), Deny: cfg.Deny}
	registry := runtime.NewRegistry(cfg.Providers, cfg.Credentials, guards, time.Now)
	host, _ := os.Hostname()
	s := &Service{cfg: cfg, store: cfg.Store, log: cfg.Logger, registry: registry, facts: map[string]*facts{}}
	registry.Bind(historyTool{s})
	rt, err := runtime.New(ctx, runtime.Config{
		Store: cfg.Store, Registry: registry, Logger: cfg.Logger, Lease: cfg.Lease, Poll: cfg.Poll, ToolTimeout: cfg.ToolTimeout,
		CancelGrace: cfg.CancelGrace, Parallel: cfg.ToolParallel, Build: build(), Host: host, PID: os.Getpid(),
		Failpoint: cfg.Failpoint, CheckRequest: cfg.CheckRequest, Clock: cfg.Clock,
	})
	if err != nil {
		return nil, err
	}
	s.runtime = rt
	s.open, s.close = context.WithCancel(context.Background())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.cleanLoop)
	return s, nil
}

// CheckGuards refuses guardrails and hooks that cannot be registered. Errors are invalid_request.
func CheckGuards(guardrails []guard.Guardrail, hooks []guard.Hook) error {
	if err := policy.CheckGuardrails(guardrails); err != nil {
		return err
	}
	return policy.CheckHooks(hooks)
}

// Bind makes tool bodies available in this process under their catalogue names; sessions that waited for
// them go on (RE8). A later tool replaces an earlier one that declares the same; one of the same name that
// declares something else stands beside it, for the agents that declare that.
func (s *Service) Bind(tools ...tool.Tool) error {
	if err := s.usable(); err != nil {
		return err
	}
	for i, t := range tools {
		if t == nil {
			return api.Errorf(api.CodeInvalidTool, "tool %d of %d is nil; leave it out, or look at the error of what was to make it", i+1, len(tools))
		}
		d := t.Declaration()
		if _, err := tool.ModelName(d.Name); err != nil {
			return err
		}
		if definition.IsBuiltin(d.Name) {
			return api.Errorf(api.CodeInvalidTool, "the name %q belongs to a built-in tool; choose another", d.Name)
		}
	}
	s.registry.Bind(tools...)
	s.runtime.Kick()
	return nil
}

// BindGuards adds guardrails and hooks to those of Config; agents and turns that name them go on (RE8). Names must be new.
// Errors are invalid_request, and then none is added.
func (s *Service) BindGuards(guardrails []guard.Guardrail, hooks []guard.Hook) error {
	if err := s.usable(); err != nil {
		return err
	}
	guardrails = slices.Clone(guardrails)
	for i := range guardrails {
		guardrails[i].Points = slices.Clone(guardrails[i].Points)
	}
	if err := s.registry.BindGuards(guardrails, hooks, CheckGuards); err != nil {
		return err
	}
	s.runtime.Kick()
	return nil
}

// Close stops cleanly: running effects are told to stop and what they report is stored; what does not end
// while ctx lasts is recovered by whoever opens the store next. Sessions that this process deleted are cleaned until ctx
// ends, or for the time that a cancelled body gets, and then by others. The store stays open.
func (s *Service) Close(ctx context.Context) error {
	s.close()
	grace, cancel := context.WithTimeout(ctx, cmp.Or(s.cfg.CancelGrace, api.DefaultCancelGrace))
	defer cancel()
	defer context.AfterFunc(grace, s.cancel)()
	err := s.runtime.Close(ctx)
	s.wg.Wait()
	s.cancel()
	return err
}

// Quiesce ends what runs in this process, to be gone on with elsewhere or later, and begins nothing more. Messages,
// answers and reads go on until Close.
func (s *Service) Quiesce() { s.runtime.Quiesce() }

// usable refuses what comes after Close.
func (s *Service) usable() error {
	if s.open.Err() != nil {
		return api.Errorf(api.CodeClosed, "the harness was closed; open the store again to go on")
	}
	return nil
}

// Capabilities tell what this host can do (FA9).
func (s *Service) Capabilities(context.Context) (api.Capabilities, error) {
	if err := s.usable(); err != nil {
		return api.Capabilities{}, err
	}
	guardrails, hooks := s.registry.GuardNames()
	return api.Capabilities{Version: Version, Store: s.store.ID(), Options: options(), Providers: s.providers(), Guardrails: guardrails, Hooks: hooks}, nil
}

// options are the optional fields that this host accepts.
func options() []string {
	return []string{
		"agent.approvals.always", "agent.approvals.auto", "agent.approvals.never", "agent.approvals.only", "agent.autoApproverContext", "agent.autoSkipQuestions",
		"agent.builtinTools.askUser", "agent.builtinTools.readHistory", "agent.compaction", "agent.guardrails", "agent.hooks", "agent.limits",
		"agent.unknownOutcome", "session.autoApproverContext", "session.autoSkipQuestions", "session.compaction", "session.idempotencyKey", "session.initialHistory", "session.metadata",
		"session.model", "session.owner", "session.scratch", "session.workspace",
		"submission.attachments", "submission.content", "turn.autoApproverContext", "turn.compaction", "turn.guardrails", "turn.instructionAddendum", "turn.limits", "turn.model", "turn.submissionId", "turn.whenBusy",
	}
}

// providers are the names that a definition may use: those that every host knows, in the spelling that is one on
// all hosts whatever a host's configuration says, and those configured here.
func (s *Service) providers() []string {
	names := []string{"OpenAI", "Anthropic", "Google"}
	for _, own := range s.registry.Providers() {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, own) }) {
			names = append(names, own)
		}
	}
	slices.Sort(names)
	return names
}

// facts are what never changes of a session.
type facts struct {
	secret    []byte
	agent     engine.Agent
	model     api.ModelRef
	workspace string
	owner     string
	metadata  map[string]string
}

// copyMetadata is a copy that a callback may change.
func (f *facts) copyMetadata() map[string]string { return maps.Clone(f.metadata) }

// maxFacts bounds the cache of facts; it is emptied when full.
const maxFacts = 8192

// session finds what never changes of a session.
func (s *Service) session(ctx context.Context, id string) (*facts, error) {
	s.mu.Lock()
	f := s.facts[id]
	s.mu.Unlock()
	if f != nil {
		return f, nil
	}
	records, err := s.store.Records(ctx, store.RecordQuery{Session: id, Until: 1, Limit: 1})
	if err != nil || len(records) == 0 {
		if err == nil {
			err = store.ErrNotFound
		}
		return nil, s.translate(ctx, id, err)
	}
	e, err := engine.Decode(engine.Kind(records[0].Kind), records[0].Version, records[0].Data)
	if err != nil {
		return nil, api.Errorf(api.CodeSessionParked, "session %s cannot be read by this build: %w", id, err)
	}
	c, ok := e.(engine.SessionCreated)
	if !ok {
		return nil, api.Errorf(api.CodeStoreCorrupt, "the journal of session %s begins with %s", id, e.Kind())
	}
	f = &facts{secret: c.Secret, agent: c.Agent, model: c.Model, workspace: c.Workspace, owner: c.Owner, metadata: c.Metadata}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.facts) >= maxFacts {
		clear(s.facts)
	}
	s.facts[id] = f
	return f, nil
}

func (s *Service) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.facts, id)
}

// translate turns a store's error into one of ours. session may be "".
func (s *Service) translate(ctx context.Context, session string, err error) error {
	var known *api.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known) && !errors.Is(err, store.ErrFateUnknown):
		if known.Code == api.CodeStoreUnavailable && ctx.Err() != nil { // a store's word for a caller who left
			return stoppedWaiting(ctx)
		}
		return known
	case errors.Is(err, store.ErrDeleted):
		return api.Errorf(api.CodeSessionDeleted, "session %s was deleted", session)
	case errors.Is(err, store.ErrNotFound):
		if session != "" {
			if row, rowErr := s.store.Session(ctx, session); rowErr == nil && row.Deleted {
				return api.Errorf(api.CodeSessionDeleted, "session %s was deleted", session)
			}
		}
		return api.Errorf(api.CodeSessionNotFound, "there is no session %.300q in this store; list the sessions that it has", session)
	case errors.Is(err, store.ErrClosed):
		return api.Errorf(api.CodeClosed, "the store was closed")
	case ctx.Err() != nil:
		return stoppedWaiting(ctx)
	}
	return api.Errorf(api.CodeStoreUnavailable, "the store failed: %w", err)
}

// stoppedWaiting is the error of a call whose caller left while the store was asked: what was done then is not known.
func stoppedWaiting(ctx context.Context) error {
	return api.Errorf(api.CodeCancelled, "the caller stopped waiting; the same again tells what became of it, a message under the same SubmissionID, a session under the same IdempotencyKey: %w", context.Cause(ctx))
}

// newSessionID is 100 random bits, so that ids, and call ids that begin with them, are unique across stores.
func newSessionID() string {
	var b [13]byte
	_, _ = rand.Read(b[:])
	return "s" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))[:20]
}

// cleanLoop cleans what others deleted: a process that dies or closes leaves its cleaning to those that live.
func (s *Service) cleanLoop() {
	ticks := time.NewTicker(cleanEvery)
	defer ticks.Stop()
	for {
		s.cleanDeleted(s.open)
		select {
		case <-s.open.Done():
			return
		case <-ticks.C:
		}
	}
}

// cleanDeleted finishes what a process left between a deletion and the end of its clean-up.
func (s *Service) cleanDeleted(ctx context.Context) {
	for ctx.Err() == nil {
		ids, err := s.store.Deleted(ctx, 64)
		if err != nil || len(ids) == 0 {
			return
		}
		for _, id := range ids {
			if !s.clean(ctx, id) {
				return
			}
		}
	}
}

// clean removes a deleted session's rows in bounded steps, and its scratch directory.
func (s *Service) clean(ctx context.Context, id string) bool {
	if dir, err := s.scratchRoot(); err == nil {
		if err := os.RemoveAll(filepath.Join(dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("a scratch directory could not be removed", "session", id, "error", err)
		}
	}
	for {
		if ctx.Err() != nil {
			return false
		}
		more, err := s.store.Clean(ctx, id, 500)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("a deleted session could not be cleaned; it is tried again", "session", id, "error", err)
			}
			return false
		}
		if !more {
			return true
		}
	}
}
