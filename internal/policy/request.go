package policy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model"
)

// removed stands for a text of which a guardrail leaves nothing where there must be one.
const removed = "[removed by a guardrail]"

// notShown stands for a text that is too large to be looked at.
const notShown = "[not shown: larger than guardrails look at]"

// maxVerdicts bounds the verdicts of one request.
const maxVerdicts = 64

// Input is a request before its guardrails.
type Input struct {
	// Instructions, unless nil, are the texts that the request's instructions are made of, such as the agent's and
	// the turn's: each is a unit, and what passes of them, joined by empty lines, stands in place of
	// Request.Instructions. With nil, Request.Instructions is one unit.
	Instructions []string
	Request      model.Request
	// Tools gives the catalogue name of each tool that the conversation names in the model's spelling; a tool that it
	// lacks keeps that one.
	Tools map[string]string
}

// ScreenRequest runs the model_input guardrails over a request: each instruction, each text and text file of the
// user's, each text of the assistant's, each tool's result (GR2). Calls and reasoning are the model's own, and pass.
// What passes of a text file that a guardrail changed is a file of the same name without an ID.
//
// It returns the request that may be sent, and the verdicts that were no plain allow, each once, at most 64. Where an
// item was changed, it lost its Private data and the request its Encoded; a text of which nothing is left says so.
// The request stays well-formed as [model.Check] has it, and nothing of the caller's is changed.
//
// An answer of the model's over [api.MaxGuardedBytes] is not sent, and a marker stands for it. The error is as in
// [Screened], with the detail item where it is about one; the request is empty then. An image, a PDF and what else is no
// text cannot be looked into: uninspectable_content with the details guardrail, point and file (AT7). memo may be nil.
func ScreenRequest(ctx context.Context, guards []guard.Guardrail, who guard.Context, in Input, memo *Memo) (model.Request, []api.GuardVerdict, *api.Error) {
	req := in.Request
	s := newScreening(ctx, guards, guard.Unit{Context: who, Point: guard.ModelInput}, memo)
	if s == nil {
		if in.Instructions != nil {
			req.Instructions = joined(in.Instructions)
		}
		return req, nil, nil
	}
	err := s.request(&req, in)
	memo.keep(s.key, s.seen, err == nil)
	if err != nil {
		return model.Request{}, s.brief(), err
	}
	return req, s.brief(), nil
}

// newScreening is a pass of the guardrails that look at the unit's point, nil where there are none. memo may be nil.
func newScreening(ctx context.Context, guards []guard.Guardrail, unit guard.Unit, memo *Memo) *screening {
	s := &screening{ctx: ctx, unit: unit, seen: map[looked]passed{}}
	var names []string
	for _, g := range guards {
		if slices.Contains(g.Points, unit.Point) {
			s.guards, names = append(s.guards, g), append(names, g.Name)
		}
	}
	if len(s.guards) == 0 {
		return nil
	}
	s.key = strings.Join(names, "\x00")
	s.known = memo.known(s.key)
	return s
}

// screening is one pass over a request, an answer or a message.
type screening struct {
	ctx         context.Context
	guards      []guard.Guardrail
	unit        guard.Unit
	key         string // the guardrails' names, for a memo
	source      bool   // the items are what a document is made of
	known, seen map[looked]passed
	verdicts    []api.GuardVerdict
}

func (s *screening) request(req *model.Request, in Input) *api.Error {
	texts := in.Instructions
	if texts == nil {
		texts = []string{req.Instructions}
	}
	pass := make([]string, len(texts))
	for i, text := range texts {
		var err *api.Error
		if pass[i], err = s.text(text); err != nil {
			return about(err, "the instructions")
		}
	}
	req.Instructions = joined(pass)

	items, err := s.items(req.Items, nil, in.Tools)
	if err != nil {
		return err
	}
	if len(items) > 0 && &items[0] != &req.Items[0] {
		req.Items, req.Encoded = items, nil
	}
	return nil
}

// items screens the items at some places, nil for all. They are another slice than the caller's if one was changed.
func (s *screening) items(given []model.Item, at []int, catalogue map[string]string) ([]model.Item, *api.Error) {
	items, called, copied := given, map[string]string{}, false
	for i := range given {
		if given[i].Kind == model.ToolCallItem {
			called[given[i].CallID] = given[i].Name
		}
		if at != nil && !slices.Contains(at, i) {
			continue
		}
		item, changed, err := s.item(&given[i], catalogue, called)
		if err != nil {
			return nil, about(err, fmt.Sprintf("item %d of the %s (%s)", i, s.what(), given[i].Kind)).With("item", strconv.Itoa(i))
		}
		if !changed {
			continue
		}
		if !copied {
			items, copied = slices.Clone(given), true
		}
		item.Private = nil
		items[i] = item
	}
	return items, nil
}

func (s *screening) what() string {
	if s.source {
		return "conversation"
	}
	return "request"
}

// item screens one item, and returns what stands for it.
func (s *screening) item(given *model.Item, catalogue, called map[string]string) (item model.Item, changed bool, err *api.Error) {
	item = *given
	switch {
	case len(item.Parts) > 0:
		for i := range given.Parts {
			part, err := s.part(given.Parts[i])
			if err != nil {
				return item, false, about(err, fmt.Sprintf("part %d", i))
			}
			if part.Text == given.Parts[i].Text && bytes.Equal(part.Data, given.Parts[i].Data) {
				continue
			}
			if !changed {
				item.Parts, changed = slices.Clone(given.Parts), true
			}
			item.Parts[i] = part
		}
		return item, changed, nil
	case item.Kind == model.ToolResultItem:
		name := called[item.CallID]
		s.unit.CallID, s.unit.Tool = item.CallID, name
		if known, ok := catalogue[name]; ok {
			s.unit.Tool = known
		}
		item.Output, err = s.content(item.Kind, item.Output)
		s.unit.CallID, s.unit.Tool = "", ""
	case item.Kind != model.ToolCallItem && item.Kind != model.ReasoningItem:
		item.Text, err = s.content(item.Kind, item.Text)
	}
	return item, item.Text != given.Text || item.Output != given.Output, err
}

// content screens what an item says. One that no guardrail looks at is not shown, and does not end the matter where it
// could do so for ever: in what a document is made of, and in an answer, which nobody could have refused.
func (s *screening) content(kind model.ItemKind, text string) (string, *api.Error) {
	if len(text) <= api.MaxGuardedBytes || !s.source && kind != model.AssistantItem && kind != model.ToolResultItem {
		return s.text(text)
	}
	s.verdicts = append(s.verdicts, tooLarge(&s.guards[0], guard.ModelInput, len(text)))
	return notShown, nil
}

// part screens a part of a user's item. The caller's bytes are not written to.
func (s *screening) part(part model.Part) (model.Part, *api.Error) {
	var err *api.Error
	switch {
	case part.MediaType == "":
		part.Text, err = s.content(model.UserItem, part.Text)
	case s.source: // a document describes it, and has nothing of its body
	default:
		part, err = s.file(part)
	}
	return part, err
}

// text screens one unit. An empty one has nothing to look at.
func (s *screening) text(text string) (string, *api.Error) {
	if text == "" {
		return "", nil
	}
	key := looked{tool: s.unit.Tool, text: text}
	was, ok := s.recall(key)
	if !ok {
		var err *api.Error
		if was, err = s.ask(key, text); err != nil {
			return "", err
		}
	}
	if was.changed {
		return was.text, nil
	}
	return text, nil
}

// recall finds what passed of a unit before, in this pass or as the memo has it.
func (s *screening) recall(key looked) (passed, bool) {
	was, ok := s.seen[key]
	if !ok {
		was, ok = s.known[key]
	}
	if ok {
		s.note(key, was)
	}
	return was, ok
}

// ask asks the guardrails about a unit.
func (s *screening) ask(key looked, text string) (passed, *api.Error) {
	s.unit.Text, s.unit.File = text, key.file
	now := Screen(s.ctx, s.guards, s.unit)
	if now.Err != nil {
		s.verdicts = append(s.verdicts, now.Verdicts...)
		return passed{}, now.Err
	}
	was := passed{verdicts: now.Verdicts}
	if was.changed = now.Text != text; was.changed {
		if was.text = now.Text; strings.TrimSpace(was.text) == "" { // no provider takes a text that is blank
			was.text = removed
		}
	}
	s.note(key, was)
	return was, nil
}

func (s *screening) note(key looked, was passed) {
	s.seen[key] = was
	s.verdicts = append(s.verdicts, was.verdicts...)
}

// brief lists the verdicts, each once. Where they are too many, the last one listed is the last one made, and says how
// many are not.
func (s *screening) brief() []api.GuardVerdict {
	var list []api.GuardVerdict
	listed := make(map[api.GuardVerdict]bool, min(len(s.verdicts), maxVerdicts))
	for _, v := range s.verdicts {
		if !listed[v] {
			listed[v] = true
			list = append(list, v)
		}
	}
	if more := len(list) - maxVerdicts; more > 0 {
		last := list[len(list)-1]
		last.Reason = Plain(fmt.Sprintf("(%d verdicts before this one are not listed) %s", more, last.Reason), maxReason)
		list = append(list[:maxVerdicts-1], last)
	}
	return list
}

// about says what part of a request or an answer an error is about.
func about(err *api.Error, what string) *api.Error {
	err.Message = what + ": " + err.Message
	return err
}

// joined joins the texts that are there by empty lines.
func joined(texts []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" }), "\n\n")
}
