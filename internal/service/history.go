package service

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
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
	type item struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		Call string `json:"call,omitempty"`
	}
	out := struct {
		Items []item `json:"items"`
		Next  string `json:"next_cursor,omitempty"`
	}{Items: []item{}}
	entries, err := h.s.conversation(ctx, call.Session.Session)
	if err != nil {
		return "", err
	}
	from, ok := placeOf(args.Cursor, len(entries))
	if !ok {
		return "", api.Errorf(api.CodeArgumentsInvalid, "cursor %.100q is not one that a page gave; begin without one", args.Cursor)
	}
	size, query := 0, strings.ToLower(args.Query)
	for i := from; i < len(entries); i++ {
		e := entries[i]
		if e.Kind == engine.EntryReasoning || e.Open || query != "" && !strings.Contains(strings.ToLower(e.Text+e.Name+e.Arguments), query) {
			continue
		}
		it := item{Type: string(e.Kind), Text: e.Text}
		if e.Kind == engine.EntryCall {
			it.Text, it.Call = e.Arguments, e.Name
		}
		if len(out.Items) == args.Limit || size+len(it.Text) > api.MaxToolOutputBytes/2 && len(out.Items) > 0 {
			out.Next = strconv.Itoa(i)
			break
		}
		size += len(it.Text)
		out.Items = append(out.Items, it)
	}
	data, err := json.Marshal(out)
	return string(data), err
}
