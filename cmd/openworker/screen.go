package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

// screen shows a run on a terminal as it happens. Answers are written as they stream; whatever else is
// worth a line is dim.
type screen struct {
	out   io.Writer
	paint paint

	attempt attempt     // whose text is on the screen
	shown   string      // its text
	begun   attempt     // the newest that was announced
	early   []api.Delta // of the one to be announced next
	midLine bool        // the cursor is not at the beginning of a line
}

// attempt is what a delta belongs to; when a part of it changes the text so far is void.
type attempt struct {
	call, attempt int
	epoch         uint64
}

func (s *screen) event(e openworker.Event) {
	switch e.Type {
	case api.EventTextDelta:
		if d, ok := decode[api.Delta](e); ok {
			s.delta(d)
		}
	case api.EventModelCallStarted:
		if d, ok := decode[api.ModelCallStarted](e); ok {
			s.begin(attempt{d.Call, d.Attempt, d.Epoch})
		}
	case api.EventModelCallFinished:
		if d, ok := decode[api.ModelCallFinished](e); ok {
			s.answer(d)
		}
	case api.EventModelCallFailed:
		if d, ok := decode[api.ModelCallFailed](e); ok && d.Code != api.CodeCancelled {
			if s.midLine {
				s.line(s.paint.dim("(that attempt failed, its text is void)"))
			}
			s.described(e)
		}
		s.attempt, s.shown = attempt{}, ""
	case api.EventTurnEnded:
		if d, ok := decode[api.TurnEnded](e); ok {
			s.ended(d)
		}
	case api.EventToolCallFinished, api.EventToolCallLost, api.EventToolCallInspected, api.EventInteractionResolved, api.EventGrantRevoked,
		api.EventCompactionStarted, api.EventCompactionFailed, api.EventCompactionFinished:
		s.described(e)
	case api.EventTurnAccepted:
		if d, ok := decode[api.TurnAccepted](e); ok {
			s.guarded(d.Guardrails)
		}
	}
}

// begin shows what an attempt said before it was announced: a model may answer while its call, and the tool
// result before it, are still on their way to the disk.
func (s *screen) begin(at attempt) {
	s.begun = at
	early := s.early
	s.early = nil
	for _, d := range early {
		if (attempt{d.Call, d.Attempt, d.Epoch}) == at {
			s.delta(d)
		}
	}
}

// delta shows what is new of an attempt's text. One who joins midway is given the text so far.
func (s *screen) delta(d api.Delta) {
	at := attempt{d.Call, d.Attempt, d.Epoch}
	if at != s.begun {
		s.early = append(s.early, d)
		return
	}
	if at != s.attempt {
		s.newLine()
		s.attempt, s.shown = at, ""
	}
	if d.From > len(s.shown) || d.From+len(d.Text) <= len(s.shown) {
		return // a gap, which the whole answer fills later, or nothing new
	}
	s.write(d.Text[len(s.shown)-d.From:])
	s.shown = s.shown[:d.From] + d.Text
}

// answer shows what the deltas left out of a whole answer, and the calls in it.
func (s *screen) answer(d api.ModelCallFinished) {
	rest, follows := strings.CutPrefix(d.Text, s.shown)
	if d.Call != s.attempt.call || d.Attempt != s.attempt.attempt || !follows {
		s.newLine()
		rest = d.Text
	}
	s.write(rest)
	s.newLine()
	s.attempt, s.shown = attempt{}, ""
	s.guarded(d.Guardrails)
	for _, call := range d.Calls {
		text := "→ " + call.Name + " " + brief(call.Arguments)
		if asked := decide.AskedBy(call); asked != "" { // with its choices it is shown where it is answered
			text = "→ " + call.Name + " " + quoted(asked)
		}
		if call.Code != "" {
			text += " (not run: " + string(call.Code) + ")"
		}
		s.line(s.paint.dim(printable(text)))
	}
}

func (s *screen) ended(d api.TurnEnded) {
	switch d.Status {
	case api.StatusFailed:
		text := "the turn failed"
		if d.Error != nil {
			text += ": " + string(d.Error.Code) + ": " + d.Error.Message
		}
		s.line(s.paint.red(printable(text)))
	case api.StatusCancelled:
		s.line(s.paint.dim("(cancelled)"))
	case api.StatusLimitReached:
		s.line(s.paint.dim("(the turn reached its limit)"))
	}
	s.newLine()
}

// guarded shows what guardrails did.
func (s *screen) guarded(verdicts []api.GuardVerdict) {
	for _, v := range verdicts {
		s.line(s.paint.dim(decide.Guard(v)))
	}
}

func (s *screen) described(e openworker.Event) { s.line(s.paint.dim(describe(e))) }

func (s *screen) write(text string) {
	if text == "" {
		return
	}
	fmt.Fprint(s.out, printable(text))
	s.midLine = !strings.HasSuffix(text, "\n")
}

// line writes a whole line.
func (s *screen) line(text string) {
	s.newLine()
	fmt.Fprintln(s.out, text)
}

func (s *screen) newLine() {
	if s.midLine {
		fmt.Fprintln(s.out)
		s.midLine = false
	}
}

// decode is Data for readers that show what they understand; data of another shape is left out.
func decode[T any](e openworker.Event) (T, bool) {
	data, err := openworker.Data[T](e)
	return data, err == nil
}
