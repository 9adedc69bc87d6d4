package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/content"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/store"
)

// CreateSession implements api.Service (SE1, SE5).
func (s *Service) CreateSession(ctx context.Context, ref api.AgentReference, opts api.SessionOptions) (api.SessionReference, error) {
	if err := s.usable(); err != nil {
		return api.SessionReference{}, err
	}
	none := api.SessionReference{}
	key, history, given := opts.IdempotencyKey, opts.InitialHistory, opts
	opts, err := definition.NormalizeSession(opts, s.providers())
	if err != nil {
		return none, err
	}
	row, def, err := s.agent(ctx, opts.Owner, ref)
	if err != nil {
		return none, err
	}
	groups, err := content.Import(history, false)
	if err != nil {
		return none, err
	}
	fingerprint := fingerprintOf([]byte(s.store.ID()), creationFields(given))
	if key != "" {
		if found, err := s.repeatedCreation(ctx, opts.Owner, row.Name, key, fingerprint); found != none || err != nil {
			return found, err
		}
	}
	if s.inspected(def) { // behind the key: which guardrails are registered here may have changed since
		if groups, err = content.Import(history, true); err != nil {
			return none, err
		}
	}
	agent, err := agentFacts(row.Digest, def)
	if err != nil {
		return none, err
	}
	id := newSessionID()
	workspace, made, err := s.workspace(id, opts.Workspace)
	if err != nil {
		return none, err
	}
	e := engine.SessionCreated{Owner: opts.Owner, Workspace: workspace, Metadata: opts.Metadata, Secret: make([]byte, 32), Agent: agent,
		AutoApproverContext: opts.AutoApproverContext, AutoSkipQuestions: opts.AutoSkipQuestions}
	if opts.Model != nil {
		e.Model = *opts.Model
	}
	if opts.Compaction != nil {
		e.Compaction = opts.Compaction.AdditionalInstructions
	}
	if _, err := rand.Read(e.Secret); err != nil {
		return none, api.Errorf(api.CodeInternal, "no randomness for the session's key: %w", err)
	}
	text, _ := json.Marshal(fingerprint)
	err = s.runtime.Create(ctx, id, engine.Create{Event: e, History: engine.Imported(id, groups)}, store.Creation{Owner: opts.Owner, Agent: row.Name, Digest: row.Digest, Metadata: opts.Metadata, Key: key, Fingerprint: string(text)})
	if err != nil {
		if made && api.CodeOf(err) != api.CodeCancelled { // then it may be stored all the same
			_ = os.Remove(workspace)
		}
		if errors.Is(err, store.ErrExists) && key != "" {
			if found, err := s.repeatedCreation(ctx, opts.Owner, row.Name, key, fingerprint); found != none || err != nil {
				return found, err
			}
			return s.CreateSession(ctx, ref, given) // the one that had the key was deleted meanwhile
		}
		return none, s.translate(ctx, "", err)
	}
	return api.SessionReference{Store: s.store.ID(), Session: id, Agent: row.Name}, nil
}

// inspected reports whether an agent has a guardrail that looks at what models are sent. One that is not registered here
// may do so.
func (s *Service) inspected(def api.AgentDefinition) bool {
	found, missing := s.registry.Guardrails(def.Guardrails, nil)
	return len(missing) > 0 || policy.Has(found, guard.ModelInput)
}

// creationFields are the options of a creation as they were given, by name.
func creationFields(opts api.SessionOptions) map[string]any {
	fields := map[string]any{}
	data, _ := json.Marshal(opts)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // two large numbers are not one
	_ = decoder.Decode(&fields)
	delete(fields, "idempotencyKey")
	return fields
}

func (s *Service) repeatedCreation(ctx context.Context, owner, agent, key string, fingerprint map[string]string) (api.SessionReference, error) {
	id, stored, err := s.store.CreationKey(ctx, owner, agent, key)
	if errors.Is(err, store.ErrNotFound) {
		return api.SessionReference{}, nil
	}
	if err != nil {
		return api.SessionReference{}, s.translate(ctx, "", err)
	}
	var before map[string]string
	if err := json.Unmarshal([]byte(stored), &before); err != nil {
		return api.SessionReference{}, api.Errorf(api.CodeStoreCorrupt, "the creation record of session %s cannot be read: %w", id, err)
	}
	if fields := different(before, fingerprint); len(fields) > 0 {
		return api.SessionReference{}, api.Errorf(api.CodeSubmissionConflict, "the idempotency key %q made session %s with other options; what differs: %s", key, id, strings.Join(fields, ", ")).
			With("fields", strings.Join(fields, ", "))
	}
	return api.SessionReference{Store: s.store.ID(), Session: id, Agent: agent}, nil
}

// fingerprintOf is one keyed digest a field, so that it betrays nothing of a text and tells which field differs.
func fingerprintOf(key []byte, fields map[string]any) map[string]string {
	out := make(map[string]string, len(fields))
	for name, value := range fields {
		data, _ := json.Marshal(value) // maps come out sorted
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(name))
		mac.Write([]byte{0})
		mac.Write(data)
		out[name] = hex.EncodeToString(mac.Sum(nil)[:16])
	}
	return out
}

// different names the fields in which two fingerprints differ, sorted.
func different(a, b map[string]string) []string {
	var out []string
	for name := range a {
		if a[name] != b[name] {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// workspace settles the working directory: the one given, checked, or a new private one.
func (s *Service) workspace(session, given string) (dir string, made bool, err error) {
	if given == "" {
		root, err := s.scratchRoot()
		if err != nil {
			return "", false, err
		}
		dir := filepath.Join(root, session)
		if err := s.apart(dir); err != nil {
			return "", false, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", false, api.Errorf(api.CodeInvalidWorkspace, "no scratch directory can be made at %s: %w; name a workspace, or configure another scratch directory", dir, err)
		}
		return dir, true, nil
	}
	abs, err := filepath.Abs(given)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", false, api.Errorf(api.CodeInvalidWorkspace, "workspace %q cannot be used: %w", given, err)
	}
	info, err := os.Stat(abs)
	if err != nil || !info.IsDir() {
		return "", false, api.Errorf(api.CodeInvalidWorkspace, "workspace %q is not a directory", given)
	}
	if err := s.apart(abs); err != nil {
		return "", false, err
	}
	return abs, false, nil
}

// apart refuses a working directory that holds, or lies inside, the state directory (SE5).
func (s *Service) apart(dir string) error {
	if s.cfg.StateDir == "" {
		return nil
	}
	state, err := resolve(s.cfg.StateDir)
	if err != nil {
		return api.Errorf(api.CodeInvalidWorkspace, "the state directory %q cannot be compared with the workspace: %w", s.cfg.StateDir, err)
	}
	real, err := resolve(dir)
	if err != nil {
		return api.Errorf(api.CodeInvalidWorkspace, "workspace %q cannot be used: %w", dir, err)
	}
	if within(state, real) || within(real, state) {
		return api.Errorf(api.CodeInvalidWorkspace, "workspace %q holds, or lies inside, the state directory %q; tools must not reach it: keep them apart", dir, s.cfg.StateDir)
	}
	return nil
}

// resolve is a path without links; what is not there yet is taken as it stands.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if parent := filepath.Dir(abs); errors.Is(err, fs.ErrNotExist) && parent != abs {
		real, err = resolve(parent)
		return filepath.Join(real, filepath.Base(abs)), err
	}
	return real, err
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (s *Service) scratchRoot() (string, error) {
	if s.cfg.ScratchDir != "" {
		return filepath.Abs(s.cfg.ScratchDir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", api.Errorf(api.CodeInvalidWorkspace, "the system has no cache directory for scratch workspaces: %w; configure a scratch directory, or name a workspace", err)
	}
	return filepath.Join(cache, "openworker", s.store.ID()), nil
}

// ResumeSession implements api.Service (SE2).
func (s *Service) ResumeSession(ctx context.Context, ref api.SessionReference, agent string) error {
	if err := s.usable(); err != nil {
		return err
	}
	if ref.Session == "" {
		return api.Errorf(api.CodeInvalidRequest, "the reference names no session")
	}
	if ref.Store != s.store.ID() {
		return api.Errorf(api.CodeForeignStore, "the reference belongs to store %q, this is store %q; open the state directory in which the session was made", ref.Store, s.store.ID())
	}
	row, err := s.store.Session(ctx, ref.Session)
	if err != nil {
		return s.translate(ctx, ref.Session, err)
	}
	switch {
	case row.Deleted:
		return api.Errorf(api.CodeSessionDeleted, "session %s was deleted", ref.Session)
	case agent != "" && row.Agent != agent || ref.Agent != "" && row.Agent != ref.Agent:
		return api.Errorf(api.CodeWrongAgent, "session %s belongs to agent %q; resume it with that one", ref.Session, row.Agent).With("agent", row.Agent)
	case row.ParkedFor(build()) != "":
		return api.Errorf(api.CodeSessionParked, "session %s is set aside: %s", ref.Session, row.Parked)
	}
	return nil
}

// Sessions implements api.Service (SE6, SE8).
func (s *Service) Sessions(ctx context.Context, q api.SessionQuery) (api.SessionPage, error) {
	if err := s.usable(); err != nil {
		return api.SessionPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return api.SessionPage{}, err
	}
	sq := store.SessionQuery{Owner: q.Owner, Agent: q.Agent, Before: q.Before, Cursor: q.Cursor, Limit: limit}
	switch q.Activity {
	case "":
	case api.Idle:
		sq.Activity = engine.ActivityIdle
	case api.Waiting:
		sq.Activity = engine.ActivityWaiting
	case api.Running, api.Recovering:
		sq.Activity = engine.ActivityActive
	default:
		return api.SessionPage{}, api.Errorf(api.CodeInvalidRequest, "activity %q is not one of idle, running, waiting and recovering", q.Activity)
	}
	rows, next, err := s.store.Sessions(ctx, sq)
	if err != nil {
		return api.SessionPage{}, s.translate(ctx, "", err)
	}
	page := api.SessionPage{Sessions: []api.SessionInfo{}, Next: next}
	for _, row := range rows {
		info := api.SessionInfo{
			Reference: api.SessionReference{Store: s.store.ID(), Session: row.ID, Agent: row.Agent}, Activity: activityOf(row, time.Now()),
			Owner: row.Owner, Metadata: maps.Clone(row.Metadata), Created: row.Created, Updated: row.Updated, LastEvent: row.Head, Parked: row.ParkedFor(build()),
		}
		if q.Activity == "" || q.Activity == info.Activity {
			page.Sessions = append(page.Sessions, info)
		}
	}
	return page, nil
}

// activityOf tells what a session does by its row alone.
func activityOf(row store.Session, now time.Time) api.Activity {
	switch row.Index.Activity {
	case engine.ActivityIdle:
		return api.Idle
	case engine.ActivityWaiting:
		return api.Waiting
	}
	if row.Holder != "" && !row.HolderGone && row.LeaseUntil.After(now) {
		return api.Running
	}
	return api.Recovering
}

// DeleteSession implements api.Service (SE6). It returns once the deletion is durable; rows and the scratch
// directory are removed behind it.
func (s *Service) DeleteSession(ctx context.Context, session string, opts api.DeleteOptions) error {
	_, err := s.runtime.Submit(ctx, session, engine.Delete{IdleBefore: opts.IdleBefore})
	switch {
	case errors.Is(err, &api.Error{Code: api.CodeSessionParked}):
		if opts.IdleBefore.IsZero() {
			err = s.deleteParked(ctx, session)
		}
	case errors.Is(err, api.ErrSessionDeleted):
		return nil // deleting again changes nothing
	}
	if err != nil {
		return s.translate(ctx, session, err)
	}
	s.forget(session)
	s.wg.Go(func() { s.clean(s.ctx, session) })
	return nil
}

// deleteParked deletes a session that cannot be folded: its row is enough for that.
func (s *Service) deleteParked(ctx context.Context, session string) error {
	e, err := engine.Encode(engine.SessionDeleted{})
	if err != nil {
		return err
	}
	for {
		row, err := s.store.Session(ctx, session)
		if err != nil {
			return err
		}
		_, err = s.store.Append(ctx, store.Append{
			ID: newSessionID(), Session: session, Known: row.Head, Time: time.Now(), Delete: true, Index: store.Index{Activity: engine.ActivityIdle},
			Records: []store.Record{{Kind: string(e.Kind), Version: e.Version, Data: e.Data}},
		})
		if !errors.Is(err, store.ErrHeadMoved) && !errors.Is(err, store.ErrFateUnknown) {
			if errors.Is(err, store.ErrDeleted) {
				return nil
			}
			return err
		}
	}
}
