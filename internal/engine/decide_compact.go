package engine

import (
	"fmt"
	"sort"
	"time"

	"github.com/openworkerai/openworker/api"
)

// margin is the part of a window that is left free, since sizes are estimates: one in so many.
const margin = 32

// usable is what of a window may be used, in tokens.
func usable(window int) int { return window - window/margin }

// reserve is the room that an answer is to have: what it may ask for, at most a quarter of the window.
func reserve(max, window int) int { return min(max, window/4+1) }

// leastReserve is the room that an answer has where nothing can be made smaller.
func leastReserve(max, window int) int { return min(max, window/16+1) }

// reserve is the room that the turn's next answer is to have behind a request with so many bytes beside the
// conversation: long instructions leave half of the rest to the conversation.
func (s *State) reserve(window, beside int) int {
	most := nextCall(s.Turn).max
	left := usable(window) - s.Context.Tokens(beside)
	return min(reserve(most, window), max(left/2, leastReserve(most, window)))
}

// minOutput is what an answer may ask for where the estimate says that nothing is left.
const minOutput = 16

// fitting is what an answer may ask for behind a request of so many bytes.
func (s *State) fitting(most, size, window int) int {
	if window = s.Context.Window(window); window <= 0 {
		return most
	}
	left := max(usable(window)-s.Context.Tokens(size), minOutput)
	if s.Context.Over > 0 || s.Context.Tried { // another overflow may end the turn: not all that may be left is asked for
		left = min(left, reserve(most, window))
	}
	if s.Context.Tried {
		left = max(left, leastReserve(most, window))
	}
	return min(most, left)
}

// Fits reports whether the turn's next model call fits its window, as far as anybody can estimate (CO1). fixed is
// the bytes of the request beside the conversation and the addendum, window the model's in tokens, 0 if unknown.
func Fits(s *State, fixed, window int) bool {
	t := s.Turn
	window = s.Context.smaller(s.Context.Window(window))
	if t == nil || window <= 0 || s.Context.Tried {
		return true
	}
	beside := fixed + t.Addendum
	return s.Context.Tokens(beside+s.Context.Bytes)+s.reserve(window, beside) <= usable(window)
}

// SummaryTokens is what a summary may have, by a model's window in tokens, 0 if unknown, and by what overflows taught
// of it.
func SummaryTokens(s *State, window int) int {
	return summaryTokens(s.Context.smaller(s.Context.Window(window)))
}

func summaryTokens(window int) int {
	if window <= 0 {
		return api.MaxCompactionTokens
	}
	return min(api.MaxCompactionTokens, max(window/4, 1))
}

// GuidanceBytes is what of the guidance for a summary its request has room for: a quarter of the window, and less where
// a request for a summary did not fit; at least one byte.
func GuidanceBytes(s *State, window int) int {
	n := api.MaxGuidanceBytes
	if window = s.Context.smaller(s.Context.Window(window)); window > 0 {
		n = min(n, bytesOf(s.Context.Tokens, window/4))
	}
	return max(n>>s.Turn.Compaction.Shrinks(), 1)
}

// Room is what a plan has to keep to. summarising is what a summary's request has beside what it summarises, in
// bytes. Where nothing is known of the window, there is room for what the conversation has now.
func Room(s *State, fixed, summarising, window int) Window {
	t := s.Turn
	most, beside := nextCall(t).max, fixed+t.Addendum
	all := s.Context.Window(window)
	if window = s.Context.smaller(all); window <= 0 {
		window = 2*s.Context.Tokens(beside+s.Context.Bytes) + most
		all = window
	}
	summary := summaryTokens(window)
	w := Window{
		Run:     t.Run,
		Room:    bytesOf(s.Context.Tokens, usable(window)-s.reserve(window, beside)) - beside,
		Source:  (bytesOf(s.Context.Tokens, usable(window)-summary) - summarising) * 3 / 4 >> t.Compaction.Shrinks(), // quoting makes a text longer
		Summary: bytesOf(s.Context.Tokens, summary),
		All:     t.Compact,
		Bare:    t.Compact || t.Compaction.Bare,
		Vain:    s.Context.Vain,
	}
	if t.Compaction.GivenUp { // nobody is shown anything
		w.Source = maxBytes
	}
	if !t.Compact {
		w.Last = bytesOf(s.Context.Least, usable(all)-leastReserve(most, all)) - beside
	}
	return w
}

// bytesOf is the largest size that is estimated at no more than so many tokens.
func bytesOf(estimate func(size int) int, tokens int) int {
	return max(sort.Search(16*max(tokens, 0)+1, func(n int) bool { return estimate(n) > tokens })-1, 0)
}

// compact records a plan: the intent of a summary, or at once what needs none.
func (d *decision) compact(c Compact) {
	t := d.s.Turn
	if t == nil || t.Run != c.Run || t.Cancel || t.open() || t.inFlight() || Underived(d.s) || d.env.Now.Before(t.Compaction.RetryAt) {
		return
	}
	if c.Full == nil && c.Plan.Items > 0 && !t.Compaction.GivenUp {
		d.emit(CompactionStarted{Run: t.Run, Attempt: t.Compaction.Attempt + 1, Epoch: c.Epoch, Model: t.Model, Plan: c.Plan, Tokens: d.s.Context.about(d.s.Context.Bytes)})
		return
	}
	switch {
	case c.Full == nil && c.Plan.Items > 0:
		d.emit(CompactionFinished{Run: t.Run, Plan: c.Plan, Summary: c.Note, Tokens: d.s.Context.about(c.Plan.Bytes + len(c.Note)), More: t.Compact})
	case c.Full == nil && !c.Plan.empty():
		d.emit(CompactionFinished{Run: t.Run, Plan: c.Plan, Tokens: d.s.Context.about(c.Plan.Bytes), More: t.Compact})
	case t.Compact: // there is nothing older to summarise, or nothing any more
		d.end(api.StatusCompleted, "", "", false)
	case c.Full == nil && !d.s.Context.Tried && !d.s.Context.Vain: // nothing can be made smaller
		d.emit(CompactionFinished{Run: t.Run, Tokens: d.s.Context.about(d.s.Context.Bytes)})
	default:
		d.fail(api.CodeContextExhausted, fullText(c.Full, c.Fixed, t.Addendum), false)
	}
	d.advance()
}

// fullText says what is too much: an item, or what a request has beside the conversation where that is larger.
func fullText(f *Full, fixed, addendum int) string {
	if f == nil {
		return "the conversation does not fit the model's window, and nothing of it can be summarised or shortened"
	}
	if beside := fixed + addendum; f.Bytes <= beside {
		what, shorten := fmt.Sprintf("the agent's instructions and tools have %d bytes", fixed), "shorten them"
		if addendum > 0 {
			what += fmt.Sprintf(", the turn's instruction addendum %d", addendum)
		}
		if addendum > fixed {
			shorten = "shorten the addendum"
		}
		return fmt.Sprintf("the request does not fit the model's window: %s, and about %d are left for the conversation, of which the largest part has %d; %s, or choose a model with a larger window",
			what, max(f.Room, 0), f.Bytes, shorten)
	}
	if f.Bytes <= f.Room {
		return fmt.Sprintf("the conversation does not fit the model's window: its newest part has more than the %d bytes that are left for it, the largest of it is %s with %d; send less, or choose a model with a larger window",
			f.Room, f.Item, f.Bytes)
	}
	return fmt.Sprintf("the conversation does not fit the model's window: %s alone has %d bytes, and about %d are left for it; send less, or choose a model with a larger window",
		f.Item, f.Bytes, max(f.Room, 0))
}

// compacted puts a summary into effect.
func (d *decision) compacted(c Compacted) {
	t := d.s.Turn
	if t == nil || !t.compacts(c.Run, c.Attempt, c.Epoch) {
		return
	}
	plan := t.Compaction.Plan
	d.emit(CompactionFinished{Run: c.Run, Attempt: c.Attempt, Epoch: c.Epoch, Plan: plan, Summary: c.Summary,
		Tokens: d.s.Context.about(plan.Bytes + len(c.Summary)), More: t.Compact, Usage: c.Usage, Checks: c.Checks})
	d.advance()
}

// maxShrinks bounds how often a smaller part is tried where what is to be summarised does not fit either.
const maxShrinks = 6

// inSummary reports whether a failure lies in the summary itself: the next call need not fail of it, and would never be
// made if the run failed instead. Any other, such as a provider that cannot be reached, the next call meets too.
func inSummary(code api.Code) bool {
	switch code {
	case api.CodeStreamCut, api.CodeContentFiltered, api.CodeContextExhausted, api.CodeRequestTooLarge, api.CodeProviderError,
		api.CodeGuardrailBlocked, api.CodeGuardrailFailed, api.CodeHookVetoed, api.CodeHookFailed:
		return true
	}
	return false
}

// compactError records an attempt without a summary, and the time of the next one, that there will be none, or the end
// of the run. One attempt is enough where a summary of this turn has come to nothing before.
func (d *decision) compactError(c CompactError) {
	t := d.s.Turn
	if t == nil || !t.compacts(c.Run, c.Attempt, c.Epoch) {
		return
	}
	e := CompactionFailed{Run: c.Run, Attempt: c.Attempt, Epoch: c.Epoch, Code: c.Code, Message: c.Message, Usage: c.Usage, Lost: c.Cancelled, Checks: c.Checks}
	failures := t.Compaction.Failures + 1
	switch {
	case c.Cancelled || t.Cancel:
	case c.Code == api.CodeContextExhausted && t.Compaction.Shrinks() < maxShrinks:
	case c.Retryable && failures < api.MaxModelAttempts && !(inSummary(c.Code) && t.Compaction.Hopeless):
		e.RetryAt = d.env.Now.Add(max(c.RetryAfter, retryDelay(failures, d.env.Jitter))).Truncate(time.Millisecond)
	case inSummary(c.Code) && !t.Compact:
		e.GivenUp = true
	default:
		e.Final, e.Retryable = true, c.Retryable
		e.Message = "older history had to be summarised, and that failed: " + c.Message
	}
	d.emit(e)
	d.advance()
}

// Unmade is the command that says that an effect whose intent is recorded was not carried out, or that nobody waits
// for it any more; nil for one without an intent. why is told where a call to a model is given up.
func Unmade(e Effect, epoch uint64, why string) Command {
	switch e.Kind {
	case ModelEffect:
		return ModelError{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: epoch, Code: api.CodeCancelled, Message: why, Cancelled: true}
	case CompactEffect:
		return CompactError{Run: e.Run, Attempt: e.Attempt, Epoch: epoch, Code: api.CodeCancelled, Message: why, Cancelled: true}
	case ReviewEffect:
		return Reviewed{CallID: e.CallID, Attempt: e.Attempt, Epoch: epoch, Review: api.Review{Verdict: api.ReviewUnsure, Code: api.CodeCancelled}, Cancelled: true}
	case ToolEffect:
		return Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: epoch, NotStarted: true}
	}
	return nil
}
