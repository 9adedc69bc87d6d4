package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/tool"
)

// History implements api.Service (CO2). A cursor is the place in the conversation.
func (s *Service) History(ctx context.Context, q api.HistoryQuery) (api.HistoryPage, error) {
	if err := s.usable(); err != nil {
		return api.HistoryPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return api.HistoryPage{}, err
	}
	if _, err := s.session(ctx, q.Session); err != nil {
		return api.HistoryPage{}, err
	}
	entries, err := s.conversation(ctx, q.Session)
	if err != nil {
		return api.HistoryPage{}, err
	}
	from, ok := placeOf(q.Cursor, len(entries))
	if !ok {
		return api.HistoryPage{}, api.Errorf(api.CodeInvalidRequest, "cursor %.100q is not one that a page of history gave; begin without one", q.Cursor)
	}
	page := api.HistoryPage{Items: []api.HistoryItem{}}
	for i := from; i < len(entries); i++ {
		if len(page.Items) == limit {
			page.Next = strconv.Itoa(i)
			break
		}
		if !entries[i].Open {
			page.Items = append(page.Items, entries[i].History())
		}
	}
	return page, nil
}

// placeOf reads a cursor, which is a place in a conversation of n entries; "" is its beginning.
func placeOf(cursor string, n int) (place int, ok bool) {
	if cursor == "" {
		return 0, true
	}
	place, err := strconv.Atoi(cursor)
	return place, err == nil && place > 0 && place < n && strconv.Itoa(place) == cursor
}

func (s *Service) conversation(ctx context.Context, session string) ([]engine.Entry, error) {
	facts, err := s.read(ctx, store.RecordQuery{Session: session, Items: true})
	if err != nil {
		return nil, err
	}
	t := engine.NewTranscript()
	for _, f := range facts {
		t.Apply(f)
	}
	return t.Entries(), nil
}

// historyTool is the built-in by which a model reads its session's complete history (BT1).
type historyTool struct{ s *Service }

func (historyTool) Declaration() api.ToolDeclaration {
	return definition.Builtins(api.AgentDefinition{BuiltinTools: api.BuiltinTools{ReadHistory: api.Set(true)}})[0]
}

func (historyTool) Timeout() time.Duration { return time.Minute }

// Run gives a page of history, newest state of the journal.
func (h historyTool) Run(ctx context.Context, call tool.Call) (string, error) {
	var args struct {
		Cursor string `json:"cursor"`
		Query  string `json:"query"`
		Limit  int    `json:"limit"`
	}
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return "", err
	}
	if args.Limit == 0 {
		args.Limit = 20
	}
	out := struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_cursor,omitempty"`
	}{Items: []json.RawMessage{}}
	entries, err := h.s.conversation(ctx, call.Session.Session)
	if err != nil {
		return "", err
	}
	from, ok := placeOf(args.Cursor, len(entries))
	if !ok {
		return "", api.Errorf(api.CodeArgumentsInvalid, "cursor %.100q is not one that a page gave; begin without one", args.Cursor)
	}
	see, err := h.s.reader(ctx, call)
	if err != nil {
		return "", err
	}
	size, query := 0, strings.ToLower(args.Query)
	finds := func(e engine.Entry) bool {
		return query == "" || strings.Contains(strings.ToLower(e.Described()+e.Name+e.Arguments), query)
	}
	for i := from; i < len(entries); i++ {
		e := entries[i]
		if e.Kind == engine.EntryReasoning || e.Open || !finds(e) {
			continue
		}
		if len(out.Items) == args.Limit {
			out.Next = strconv.Itoa(i)
			break
		}
		if e.Text, err = see.text(ctx, e); err != nil {
			return "", err
		}
		e.Content = nil
		if !finds(e) { // a search tells nothing of what is not shown
			continue
		}
		data := see.entry(e)
		if size+len(data) > maxHistoryPage && len(out.Items) > 0 {
			out.Next = strconv.Itoa(i)
			break
		}
		size += len(data)
		out.Items = append(out.Items, data)
	}
	return string(plainJSON(out)), nil
}

// reader looks at history for a model.
type reader struct {
	guards inForce
	about  guard.Context
	tools  map[string]string // catalogue names, by the model's
	most   int               // bytes of one entry as JSON
}

// What a page of history has of entries, in bytes of JSON. It leaves room for what is around them.
const (
	maxHistoryPage = api.MaxGuardedBytes - 2_000
	maxHistoryItem = api.MaxToolOutputBytes - 2_000
)

// reader finds what looks at a model's input in the turn of a call.
func (s *Service) reader(ctx context.Context, call tool.Call) (*reader, error) {
	f, err := s.session(ctx, call.Session.Session)
	if err != nil {
		return nil, err
	}
	accepted, err := s.named(ctx, call.Session.Session, call.Run, "-r")
	if err != nil {
		return nil, err
	}
	turn, _ := accepted.Event.(engine.TurnAccepted)
	r := &reader{about: s.about(call.Session.Session, f), tools: map[string]string{}, most: maxHistoryItem}
	if r.guards, err = s.inForce(f, turn.Guardrails); err != nil {
		return nil, err
	}
	if policy.Has(r.guards, guard.ModelInput) || policy.Has(r.guards, guard.ToolResult) {
		r.most = maxHistoryPage // the page is a unit itself
	}
	r.about.Run = call.Run
	for _, t := range f.agent.Tools {
		r.tools[t.ModelName] = t.Name
	}
	return r, nil
}

// text is what model_input guardrails let pass of an entry: in the page it is quoted, and may be cut.
func (r *reader) text(ctx context.Context, e engine.Entry) (string, error) {
	unit := guard.Unit{Context: r.about, Point: guard.ModelInput, Text: e.Described()}
	if e.Kind == engine.EntryResult {
		unit.CallID, unit.Tool = e.CallID, cmp.Or(r.tools[e.Name], e.Name)
	}
	if unit.Text == "" || e.Kind == engine.EntryCall {
		return unit.Text, nil
	}
	seen := policy.Screen(ctx, r.guards, unit)
	switch {
	case seen.Err == nil:
		return seen.Text, nil
	case seen.Err.Code == api.CodeCancelled:
		return "", seen.Err
	}
	return fmt.Sprintf("[not shown: guardrail %s did not let it pass (%s)]", seen.Err.Details["guardrail"], seen.Err.Code), nil
}

// entry is an entry of a page, cut where it is too large for one.
func (r *reader) entry(e engine.Entry) json.RawMessage {
	it := struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		Call string `json:"call,omitempty"`
	}{Type: string(e.Kind), Text: e.Text}
	if e.Kind == engine.EntryCall {
		it.Text, it.Call = e.Arguments, e.Name
	}
	whole, data := it.Text, plainJSON(it)
	for n := min(len(whole), r.most) / 4 * 3; len(data) > r.most; n /= 2 {
		begin := strings.ToValidUTF8(whole[:n], "")
		it.Text = fmt.Sprintf("%s\n[cut: this has %d bytes, of which the first %d are shown]", begin, len(whole), len(begin))
		data = plainJSON(it)
	}
	return data
}

// plainJSON is v in JSON in which texts stand as they are, as far as they can.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // strings, and JSON of strings, always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
