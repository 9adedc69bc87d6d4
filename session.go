package openworker

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/openworkerai/openworker/api"
)

// Session is one durable conversation. It holds no state of its own: any number of values, in any number
// of processes, may stand for one session.
type Session struct {
	service   api.Service
	reference SessionReference
}

// Reference is what to keep to find the session again: a small JSON value without secrets. It is no
// permission; who may use it is the program's to decide.
func (s *Session) Reference() SessionReference { return s.reference }

// ID is the session's ID, a part of the reference.
func (s *Session) ID() string { return s.reference.Session }

// Run sends a message and waits until its run ends, or waits for something: then the result's status is
// interrupted, and once that is resolved the same run goes on ([Run.Result]). When ctx ends only the
// waiting does. The parts are those of [Session.Send].
func (s *Session) Run(ctx context.Context, text string, parts ...Part) (Result, error) {
	run, err := s.Send(ctx, text, parts...)
	if err != nil {
		return Result{}, err
	}
	return run.Result(ctx)
}

// Send returns once the message is durable: from then on the turn survives everything, and needs nobody
// to wait for it.
//
// A message is a text of 1 to 256,000 bytes of UTF-8, and what comes behind it: an *[Attachment], a [ContentBlock], in
// their order, and at most one [TurnOptions] anywhere among them (AT1). With such parts the text, which may be empty
// then, and all text blocks have at most 32,000 bytes together. Errors count the blocks from 1: the text is the first, unless it
// is empty. An attachment of at most 256 KiB goes within the message and is stored with it; larger ones are uploaded first,
// as far as the session has not got them yet: one whose upload was cut off goes on from there. When ctx ends before the
// message is accepted, nothing is submitted; what was uploaded by then expires as [Session.Upload] says.
//
// Errors: session_busy when a turn is under way and WhenBusy is not set, submission_conflict, queue_full,
// invalid_request, invalid_limits, invalid_guidance, unknown_provider, session_deleted; guardrail_blocked,
// guardrail_failed and guardrail_missing where a guardrail for what users say did not let it pass; for files
// unsupported_media, attachment_too_large, attachment_quota_exceeded, attachment_not_found, upload_conflict and
// uninspectable_content. After an error nothing was accepted, unless its code is cancelled or begins with store_: then
// send again with the same SubmissionID to learn it.
func (s *Session) Send(ctx context.Context, text string, parts ...Part) (*Run, error) {
	for tries := 1; ; tries++ {
		sub, err := s.submission(ctx, text, parts)
		if err != nil {
			return nil, err
		}
		ref, err := s.service.Submit(ctx, sub)
		switch {
		case err == nil:
			return newRun(s.service, ref), nil
		case tries > 1 || !errors.Is(err, ErrAttachmentNotFound) || !slices.ContainsFunc(parts, isAttachment):
			return nil, err
		}
		// An upload that was found had been about to expire: it is uploaded once more.
	}
}

func isAttachment(part Part) bool {
	_, is := part.(*Attachment)
	return is
}

// RunStreamed is Send with a handle to range over the turn's events as they come.
func (s *Session) RunStreamed(ctx context.Context, text string, parts ...Part) (*Stream, error) {
	run, err := s.Send(ctx, text, parts...)
	if err != nil {
		return nil, err
	}
	return &Stream{ctx: ctx, run: run}, nil
}

// RunWith sends a message and goes to the end of its run, with interactions answered by the handlers; see
// [Run.ResultWith].
func (s *Session) RunWith(ctx context.Context, text string, handlers Handlers, parts ...Part) (Result, error) {
	run, err := s.Send(ctx, text, parts...)
	if err != nil {
		return Result{}, err
	}
	return run.ResultWith(ctx, handlers)
}

// OpenRun finds a run of this session by its ID, for example the one that State names. run_not_found.
func (s *Session) OpenRun(ctx context.Context, id string) (*Run, error) {
	ref, err := s.service.Run(ctx, s.reference.Session, id)
	if err != nil {
		return nil, err
	}
	return newRun(s.service, ref), nil
}

// State says what the session is doing, as its journal and lease have it: the same in every process.
func (s *Session) State(ctx context.Context) (SessionState, error) {
	return s.service.State(ctx, s.reference.Session)
}

// Cancel asks the current turn to end and returns once that is durable. Running calls are cancelled, and
// the history stays one that every provider accepts. Without a turn it does nothing.
func (s *Session) Cancel(ctx context.Context) error {
	return s.service.Cancel(ctx, s.reference.Session, "")
}

// Resolve answers an interaction and returns once the answer is durable; the run goes on by itself. The
// same answer again does nothing.
//
// Errors: already_resolved for a different answer, interaction_not_found, invalid_request for a decision
// that does not fit the interaction's kind, arguments_invalid for changed arguments that the tool does not take (the
// interaction stays open), guardrail_blocked, guardrail_failed and guardrail_missing for what a person wrote.
func (s *Session) Resolve(ctx context.Context, interaction string, answer Answer) error {
	return s.service.Resolve(ctx, s.reference.Session, interaction, answer)
}

// RevokeGrant takes back what AllowSession gave for a tool, by its catalogue name, and returns once that is durable
// (AP4). by names who did it, for the journal; it may be empty. Calls that the grant approved and that have not begun
// are asked about. Without such a grant it does nothing; a tool that the agent does not have is invalid_request.
func (s *Session) RevokeGrant(ctx context.Context, tool, by string) error {
	return s.service.RevokeGrant(ctx, s.reference.Session, tool, by)
}

// Compact summarises the older part of the conversation for the model now, instead of when it no longer fits (CO1),
// and waits for the end, as [Session.Run] does. The complete history stays readable. Where there is nothing to
// summarise the run completes without the event compaction_finished. It is a run of its own, without a message:
// session_busy while a turn is under way, unless WhenBusy says otherwise. Of the options SubmissionID, Model,
// WhenBusy, Compaction and Guardrails may be given.
func (s *Session) Compact(ctx context.Context, opts ...TurnOptions) (Result, error) {
	options, err := one("TurnOptions", opts)
	if err != nil {
		return Result{}, err
	}
	ref, err := s.service.Compact(ctx, s.reference.Session, options)
	if err != nil {
		return Result{}, err
	}
	return newRun(s.service, ref).Result(ctx)
}

// Events replays every event after the given number once, in order, and goes on live, with text deltas in
// between, until ctx ends or the loop is left. 0 begins at the beginning. An error ends the iteration;
// when ctx ended it is of code cancelled, and session_deleted behind the event of a deletion.
func (s *Session) Events(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return follow(ctx, s.service, api.FollowQuery{Session: s.reference.Session, After: after}, nil)
}

// History iterates over the complete conversation, oldest first, whatever was compacted. An error ends it.
func (s *Session) History(ctx context.Context) iter.Seq2[HistoryItem, error] {
	return pages("", func(cursor string) ([]HistoryItem, string, error) {
		page, err := s.HistoryPage(ctx, cursor, 0)
		return page.Items, page.Next, err
	})
}

// HistoryPage is one page of the conversation: from "" or the previous page's Next, at most limit items
// (0 means 100, at most 1,000).
func (s *Session) HistoryPage(ctx context.Context, cursor string, limit int) (HistoryPage, error) {
	return s.service.History(ctx, HistoryQuery{Session: s.reference.Session, Cursor: cursor, Limit: limit})
}

// Delete removes the session with all that is stored of it, also while it runs. Later calls are
// session_deleted.
func (s *Session) Delete(ctx context.Context) error {
	return s.service.DeleteSession(ctx, s.reference.Session, api.DeleteOptions{})
}
