package service

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// Submit implements api.Service (RU1, RU4).
func (s *Service) Submit(ctx context.Context, sub api.Submission) (api.RunReference, error) {
	return s.accept(ctx, sub, false)
}

// Compact implements api.Service (CO1).
func (s *Service) Compact(ctx context.Context, session string, opts api.TurnOptions) (api.RunReference, error) {
	for name, given := range map[string]bool{"instructionAddendum": opts.InstructionAddendum != "", "limits": opts.Limits != (api.Limits{}), "autoApproverContext": opts.AutoApproverContext != nil} {
		if given {
			return api.RunReference{}, api.Errorf(api.CodeInvalidRequest, "a compaction takes no %s; give submissionId, model, whenBusy, compaction or guardrails", name)
		}
	}
	return s.accept(ctx, api.Submission{Session: session, Options: opts}, true)
}

// RevokeGrant implements api.Service (AP4).
func (s *Service) RevokeGrant(ctx context.Context, session, tool, by string) error {
	if err := checkText("by", by, api.MaxSubmissionIDBytes); err != nil {
		return err
	}
	_, err := s.runtime.Submit(ctx, session, engine.Revoke{Tool: tool, By: by})
	return s.translate(ctx, session, err)
}

// accept takes a message, or the wish to have older history summarised. A file that is within the message is at hand, so
// it is stored again where another caller's refusal took what the two had stored together.
func (s *Service) accept(ctx context.Context, sub api.Submission, compact bool) (ref api.RunReference, err error) {
	within := slices.ContainsFunc(sub.Content, func(b api.ContentBlock) bool { return b.Source != nil && b.Source.Type != api.SourceAttachment })
	for tries := 1; tries == 1 || tries <= maxStored && within && errors.Is(err, api.ErrAttachmentNotFound); tries++ {
		ref, err = s.acceptOnce(ctx, sub, compact)
	}
	return ref, err
}

// maxStored bounds how often a message's files are stored.
const maxStored = 3

func (s *Service) acceptOnce(ctx context.Context, sub api.Submission, compact bool) (api.RunReference, error) {
	if err := s.usable(); err != nil {
		return api.RunReference{}, err
	}
	none := api.RunReference{}
	f, err := s.session(ctx, sub.Session)
	if err != nil {
		return none, err
	}
	key, err := definition.SubmissionKey(sub.Options)
	if err != nil {
		return none, err
	}
	blocks, err := contentOf(sub.Session, f, sub)
	if err != nil {
		return none, err
	}
	fingerprint := map[string]string(nil)
	if key != "" {
		// Before every other check: what was accepted once is found again, whatever has become of limits,
		// models or the session's queue since.
		fingerprint = fingerprintOf(f.secret, submissionFields(sub, blocks, compact))
		if ref, err := s.repeated(ctx, sub.Session, key, fingerprint); ref != none || err != nil {
			if err == nil {
				blocks.forget(ctx, s, sub.Session)
			}
			return ref, err
		}
	}
	var reply runtime.Reply
	msg, files, err := s.message(ctx, f, sub, blocks, compact)
	if err == nil {
		msg.Fingerprint = fingerprint
		reply, err = s.runtime.SubmitWith(ctx, sub.Session, msg, files)
	}
	if err != nil && key != "" {
		// Somebody may have been faster with the same key: what then refuses this one (a busy session, a full
		// queue, a file whose original went with the other's acceptance) comes behind the receipt.
		if ref, err := s.repeated(ctx, sub.Session, key, fingerprint); ref != none || api.CodeOf(err) == api.CodeSubmissionConflict {
			if err == nil {
				blocks.forget(ctx, s, sub.Session)
			}
			return ref, err
		}
	}
	if err != nil {
		blocks.withdraw(ctx, s, sub.Session, err)
	}
	if errors.Is(err, store.ErrReceiptTaken) {
		err = api.Errorf(api.CodeStoreUnavailable, "the submission %q was stored by another caller and cannot be read yet; send it again", key)
	}
	if err != nil {
		return none, s.translateFile(ctx, sub.Session, blocks.names(), err)
	}
	for _, fact := range reply.Facts {
		if e, ok := fact.Event.(engine.TurnAccepted); ok {
			return api.RunReference{Session: sub.Session, Run: e.Run, Accepted: fact.Number}, nil
		}
	}
	return none, api.Errorf(api.CodeInternal, "session %s took the message and recorded no turn", sub.Session)
}

// message checks a submission and puts it into the engine's form, with what becomes of the session's files.
func (s *Service) message(ctx context.Context, f *facts, sub api.Submission, blocks *given, compact bool) (msg engine.Message, files runtime.Files, err error) {
	opts, err := definition.NormalizeTurn(sub.Options, s.providers())
	if err != nil {
		return msg, files, err
	}
	if blocks == nil && !compact {
		if err := checkMessage(sub.Text); err != nil {
			return msg, files, err
		}
	}
	msg = engine.Message{Text: sub.Text, Compact: compact, Guardrails: opts.Guardrails, SubmissionID: opts.SubmissionID, Limits: opts.Limits, Addendum: opts.InstructionAddendum,
		WhenBusy: opts.WhenBusy, AutoApproverContext: opts.AutoApproverContext}
	if opts.Compaction != nil {
		msg.Compaction = opts.Compaction.AdditionalInstructions
	}
	chosen := f.agent.Model
	if !f.model.IsZero() {
		chosen = f.model
	}
	if opts.Model != nil {
		chosen, msg.Model = *opts.Model, *opts.Model
	}
	var known model.Facts
	if p, ok := s.registry.Provider(chosen.Provider); ok {
		known, _ = p.Facts(chosen.Name)
		msg.ModelMax, msg.Refuses = known.MaxOutputTokens, known.Refused
	}
	if blocks != nil {
		if err := blocks.find(ctx, s, sub.Session, chosen, known); err != nil {
			return msg, files, err
		}
	}
	// Last, so that what is refused for another reason costs no check.
	in, err := s.inForce(f, opts.Guardrails)
	if err != nil || compact {
		return msg, files, err
	}
	msg.Inspects, _ = policy.Inspects(in)
	if blocks != nil {
		msg.Content, msg.Checks, files, err = blocks.screen(ctx, s, sub.Session, f, in)
		return msg, files, err
	}
	if msg.Text, msg.Checks, err = in.screen(ctx, s.about(sub.Session, f), "the message", msg.Text, api.MaxMessageBytes); err != nil {
		return msg, files, err
	}
	return msg, files, in.sendable("the message", msg.Text)
}

func checkMessage(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return api.Errorf(api.CodeInvalidRequest, "the message is empty; send at least one character that is not white space")
	case len(text) > api.MaxMessageBytes:
		return api.Errorf(api.CodeInvalidRequest, "the message has %d bytes; at most %d are taken", len(text), api.MaxMessageBytes)
	case !utf8.ValidString(text):
		return api.Errorf(api.CodeInvalidRequest, "the message is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		return api.Errorf(api.CodeInvalidRequest, "the message holds a NUL character at byte %d; leave it out", strings.IndexByte(text, 0))
	}
	return nil
}

// submissionFields is what a repeat must have in common with the first: what was sent, by name. What it
// inherits and whenBusy are no part of it.
func submissionFields(sub api.Submission, blocks *given, compact bool) map[string]any {
	o := sub.Options
	fields := map[string]any{"message": sub.Text}
	switch {
	case compact:
		fields = map[string]any{"compact": true}
	case blocks != nil:
		texts, files, order := blocks.fields()
		fields = map[string]any{"message": texts, "files": files, "order": order}
	}
	set := func(name string, value any, present bool) {
		if present {
			fields[name] = value
		}
	}
	if o.Model != nil {
		set("model", []string{strings.ToLower(o.Model.Provider), o.Model.Name}, true)
	}
	set("instructionAddendum", o.InstructionAddendum, o.InstructionAddendum != "")
	for name, v := range map[string]*int{"limits.maxModelCalls": o.Limits.MaxModelCalls, "limits.maxOutputTokens": o.Limits.MaxOutputTokens,
		"limits.maxOutputTokensPerCall": o.Limits.MaxOutputTokensPerCall, "limits.summaryTokens": o.Limits.SummaryTokens} {
		set(name, v, v != nil)
	}
	set("autoApproverContext", o.AutoApproverContext, o.AutoApproverContext != nil)
	set("compaction", o.Compaction, o.Compaction != nil && o.Compaction.AdditionalInstructions != nil)
	set("guardrails", o.Guardrails, len(o.Guardrails) > 0) // in their order, in which they look
	return fields
}

// repeated finds the run of a submission that was accepted before. The zero reference: there is none.
func (s *Service) repeated(ctx context.Context, session, key string, fingerprint map[string]string) (api.RunReference, error) {
	receipt, err := s.store.Receipt(ctx, session, key)
	if errors.Is(err, store.ErrNotFound) {
		return api.RunReference{}, nil
	}
	if err != nil {
		return api.RunReference{}, s.translate(ctx, session, err)
	}
	if fields := different(receipt.Fields, fingerprint); len(fields) > 0 {
		list := strings.Join(fields, ", ")
		return api.RunReference{}, api.Errorf(api.CodeSubmissionConflict,
			"the submission ID %q was accepted with a different submission, as run %s; what differs: %s. Use a new ID for a new message", key, receipt.Run, list).
			With("run", receipt.Run).With("fields", list)
	}
	return api.RunReference{Session: session, Run: receipt.Run, Accepted: receipt.Accepted, Repeated: true}, nil
}

// Run implements api.Service.
func (s *Service) Run(ctx context.Context, session, run string) (api.RunReference, error) {
	if err := s.usable(); err != nil {
		return api.RunReference{}, err
	}
	if _, err := s.session(ctx, session); err != nil {
		return api.RunReference{}, err
	}
	fact, err := s.named(ctx, session, run, "-r")
	if err != nil {
		return api.RunReference{}, err
	}
	if e, ok := fact.Event.(engine.TurnAccepted); ok && e.Run == run {
		return api.RunReference{Session: session, Run: run, Accepted: fact.Number}, nil
	}
	return api.RunReference{}, api.Errorf(api.CodeRunNotFound, "session %s has no run %.300q", session, run)
}

// named reads the fact that an id of ours points to: its number stands behind the session's id and the mark.
// A zero fact: there is none.
func (s *Service) named(ctx context.Context, session, id, mark string) (engine.Fact, error) {
	number, err := strconv.ParseUint(strings.TrimPrefix(id, session+mark), 10, 63)
	if err != nil || !strings.HasPrefix(id, session+mark) || number == 0 {
		return engine.Fact{}, nil
	}
	facts, err := s.read(ctx, store.RecordQuery{Session: session, After: number - 1, Until: number, Limit: 1})
	if err != nil || len(facts) == 0 {
		return engine.Fact{}, err
	}
	return facts[0], nil
}

// read reads and decodes records.
func (s *Service) read(ctx context.Context, q store.RecordQuery) ([]engine.Fact, error) {
	records, err := s.store.Records(ctx, q)
	if err != nil {
		return nil, s.translate(ctx, q.Session, err)
	}
	facts := make([]engine.Fact, len(records))
	for i, r := range records {
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err != nil {
			return nil, api.Errorf(api.CodeSessionParked, "event %d of session %s cannot be read by this build: %w", r.Number, q.Session, err)
		}
		facts[i] = engine.Fact{Number: r.Number, Time: r.Time, Event: e}
	}
	return facts, nil
}

// Cancel implements api.Service (RU5).
func (s *Service) Cancel(ctx context.Context, session, run string) error {
	if run != "" {
		if _, err := s.Run(ctx, session, run); err != nil {
			return err
		}
	}
	_, err := s.runtime.Submit(ctx, session, engine.Cancel{Run: run})
	return s.translate(ctx, session, err)
}
