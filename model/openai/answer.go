package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

const (
	// maxItems bounds the items of one answer, those of kinds that we do not have included.
	maxItems = 4 * wire.MaxCalls
	// maxItemBytes bounds the items as they come, with their IDs and sealed reasoning.
	maxItemBytes = 4 * wire.MaxAnswerBytes
)

// answer is what has come so far: items in the order in which they came.
type answer struct {
	emit     func(model.Delta)
	items    []*item
	calls    int
	received int // bytes of text, reasoning and calls
	decoded  int // bytes of items
	usage    api.Usage
	stop     model.StopReason
}

// item is an item of the answer as it is put together.
type item struct {
	kind  model.ItemKind // "" for one that we do not have
	id    string
	index int // among the answer's items, by the server's count
	done  bool

	text    strings.Builder
	part    int             // that the last piece of the text belongs to
	private json.RawMessage // of reasoning or text

	callID, name string
	arguments    []byte
	cut          bool // the server says that the call is incomplete
}

// open adds an item.
func (a *answer) open(kind model.ItemKind, id string, index int) (*item, *model.Error) {
	if kind == model.ToolCallItem {
		if a.calls++; a.calls > wire.MaxCalls {
			return nil, wire.Malformed(wire.ErrTooManyCalls.Error())
		}
	}
	if len(a.items) == maxItems {
		return nil, wire.Malformed("the answer holds more than 2048 items")
	}
	it := &item{kind: kind, id: id, index: index}
	a.items = append(a.items, it)
	return it, nil
}

// under returns the item that a piece belongs to, and adds it where its beginning did not come.
func (a *answer) under(kind model.ItemKind, id string, index int) (*item, *model.Error) {
	if it := a.find(kind, id, index); it != nil {
		return it, nil
	}
	return a.open(kind, id, index)
}

// find returns the item that is not done and has an ID, else the last one of an index, since some servers give an
// item another ID with each event. nil says that there is none.
func (a *answer) find(kind model.ItemKind, id string, index int) *item {
	var last *item
	for _, it := range a.items {
		switch {
		case it.done || it.kind != kind:
		case id != "" && it.id == id:
			return it
		case it.index == index:
			last = it
		}
	}
	return last
}

// say adds a piece to an item's text and emits it. A part of reasoning begins a paragraph.
func (a *answer) say(it *item, piece string, part int) *model.Error {
	if piece == "" {
		return nil
	}
	for i := len(a.items) - 1; a.items[i] != it; i-- {
		if later := a.items[i]; later.kind == it.kind && later.text.Len() > 0 {
			return wire.Malformed("the pieces of two texts of the answer are mixed")
		}
	}
	reasoning := it.kind == model.ReasoningItem
	if reasoning && it.text.Len() > 0 && part != it.part {
		piece = paragraph + piece
	}
	it.part = part
	if err := a.count(len(piece)); err != nil {
		return err
	}
	it.text.WriteString(piece)
	a.emit(model.Delta{Text: piece, Reasoning: reasoning})
	return nil
}

func (a *answer) count(bytes int) *model.Error {
	a.received += max(0, bytes)
	if a.received > wire.MaxAnswerBytes {
		return wire.Malformed(wire.ErrAnswerTooLong.Error())
	}
	return nil
}

// argue adds a piece of a call's arguments, or with whole all of them, which count for more than the pieces.
func (a *answer) argue(it *item, piece string, whole bool) *model.Error {
	was := len(it.arguments)
	switch {
	case !whole:
		it.arguments = append(it.arguments, piece...)
	case piece != "":
		it.arguments = []byte(piece)
	}
	return a.count(len(it.arguments) - was)
}

// finish adds what the whole item has beyond its pieces.
func (a *answer) finish(it *item, whole outputItem, raw json.RawMessage) *model.Error {
	it.done = true
	switch it.kind {
	case model.AssistantItem:
		if whole.Phase != "" {
			it.private, _ = json.Marshal(phase{Phase: whole.Phase}) // a string cannot fail
		}
	case model.ReasoningItem:
		if data := reasoningData(raw); data != nil {
			it.private = data
		}
	case model.ToolCallItem:
		if it.name == "" {
			if err := a.count(len(whole.Name)); err != nil {
				return err
			}
			it.name = whole.Name
		}
		if whole.CallID != "" {
			it.callID = whole.CallID
		}
		it.cut = it.cut || whole.Status == "incomplete"
		return a.argue(it, whole.Arguments, true)
	default:
		return nil
	}
	if rest, more := strings.CutPrefix(whole.text(), it.text.String()); more {
		return a.say(it, rest, it.part)
	}
	return nil // what was emitted counts
}

// decode decodes an item. One of a type that we do not have may be of any form.
func (a *answer) decode(raw json.RawMessage) (outputItem, *model.Error) {
	var item outputItem
	if a.decoded += len(raw); a.decoded > maxItemBytes {
		return item, wire.Malformed("the items of the answer are larger than 64 MiB")
	}
	if err := tolerate(json.Unmarshal(raw, &item), item.kind() == ""); err != nil {
		return item, wire.Malformed("an item of the answer is not what the protocol has: " + err.Error())
	}
	return item, nil
}

// came reports whether an event's item has begun before: one of the same kind, place and IDs.
func (a *answer) came(e *event, w *outputItem) bool {
	return slices.ContainsFunc(a.items, func(it *item) bool {
		return it.kind == w.kind() && it.index == e.OutputIndex && it.id == w.ID && it.callID == w.CallID
	})
}

// itemAdded takes the event that an item begins with. One that comes again is no other item: a call would run twice.
func (a *answer) itemAdded(e *event) *model.Error {
	begun, err := a.decode(e.Item)
	if err != nil {
		return err
	}
	if begun.ID != "" && a.came(e, &begun) {
		return nil
	}
	it, err := a.open(begun.kind(), begun.ID, e.OutputIndex)
	if err != nil {
		return err
	}
	it.callID, it.name = begun.CallID, begun.Name
	return a.count(len(begun.Name))
}

// itemDone takes the event that an item ends with. One that comes again does not count again.
func (a *answer) itemDone(e *event) *model.Error {
	whole, err := a.decode(e.Item)
	if err != nil {
		return err
	}
	it := a.find(whole.kind(), whole.ID, e.OutputIndex)
	if it == nil {
		if a.came(e, &whole) {
			return nil
		}
		if it, err = a.open(whole.kind(), whole.ID, e.OutputIndex); err != nil {
			return err
		}
	}
	return a.finish(it, whole, e.Item)
}

// settle takes the answer's items as the last event has them: what did not come before is added in its place, what
// has come whole stays.
func (a *answer) settle(output []json.RawMessage) *model.Error {
	whole := make([]outputItem, len(output))
	for i, raw := range output {
		var err *model.Error
		if whole[i], err = a.decode(raw); err != nil {
			return err
		}
	}
	for i, it := range known(a.items, whole) {
		if it == nil {
			var err *model.Error
			if it, err = a.open(whole[i].kind(), whole[i].ID, i); err != nil {
				return err
			}
			last := len(a.items) - 1
			a.items = slices.Insert(a.items[:last], min(i, last), it)
		}
		if it.done {
			if it.kind == model.ReasoningItem && it.private == nil {
				it.private = reasoningData(output[i])
			}
			continue
		}
		if err := a.finish(it, whole[i], output[i]); err != nil {
			return err
		}
	}
	return nil
}

// known finds among the items that came those that come again at the end, nil for one that is new. They go by their
// IDs, calls by their own, and the rest by their places or by what they are, since some servers give other IDs at
// the end: a call that is like one that came is that one, or it would run twice.
func known(came []*item, whole []outputItem) []*item {
	found, taken := make([]*item, len(whole)), make([]bool, len(came))
	for _, same := range []func(at int, it *item, place int, w *outputItem) bool{
		func(_ int, it *item, _ int, w *outputItem) bool { return w.ID != "" && it.id == w.ID },
		func(_ int, it *item, _ int, w *outputItem) bool { return w.CallID != "" && it.callID == w.CallID },
		func(at int, it *item, place int, w *outputItem) bool { return at == place && it.like(w) },
		func(_ int, it *item, _ int, w *outputItem) bool { return it.like(w) },
	} {
		for place := range whole {
			for at, it := range came {
				w := &whole[place]
				if found[place] == nil && !taken[at] && it.kind == w.kind() && same(at, it, place, w) {
					found[place], taken[at] = it, true
				}
			}
		}
	}
	return found
}

// like reports whether an item of the same kind may be this one: a call of that name whose arguments begin like its.
func (it *item) like(w *outputItem) bool {
	return it.kind != model.ToolCallItem || it.name == w.Name && strings.HasPrefix(w.Arguments, string(it.arguments))
}

// stopReason goes by what the answer holds, see the package's text. status is "incomplete" or something else.
func (a *answer) stopReason(status, reason string) model.StopReason {
	cut := status == "incomplete"
	for _, it := range a.items {
		cut = cut || it.cut
	}
	switch {
	case cut && reason == "content_filter":
		return model.StopFiltered
	case cut:
		return model.StopOutputLimit
	case a.calls > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// response is the answer as a whole. sent is the size of the request, for an estimate where the server did not count.
func (a *answer) response(provider, name string, sent int) model.Response {
	resp := model.Response{Stop: a.stop}
	thought := 0
	for i, it := range a.items {
		out := model.ResponseItem{Kind: it.kind, Text: it.text.String()}
		if it.private != nil && (it.kind != model.ReasoningItem || a.ledOn(i)) {
			out.Private = &model.Private{Provider: provider, Model: name, Data: it.private}
		}
		switch it.kind {
		case model.ToolCallItem:
			out.ProviderCallID, out.Name, out.Arguments = it.callID, it.name, string(it.arguments)
		case model.ReasoningItem:
			thought += len(out.Text)
			if out.Text == "" && out.Private == nil {
				continue
			}
		case model.AssistantItem:
			if out.Text == "" {
				continue
			}
		default:
			continue
		}
		resp.Items = append(resp.Items, out)
	}
	resp.Usage = wire.Count(a.usage, sent, a.received, thought)
	return resp
}

// ledOn reports whether the reasoning at i has led to text or a call. What led to anything else cannot go back: the API
// refuses reasoning without the item that followed it.
func (a *answer) ledOn(i int) bool {
	for _, it := range a.items[i+1:] {
		if it.kind != model.ReasoningItem {
			return it.kind == model.ToolCallItem || it.kind == model.AssistantItem && it.text.Len() > 0
		}
	}
	return false
}
