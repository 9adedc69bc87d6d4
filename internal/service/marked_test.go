package service_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/sqlite"
)

// mark is what stands in files and nowhere else: no part of it, and no encoding, is found where references belong.
const mark = "\x01MARK-d41d8cd98f00b204\x02"

// marks are the forms in which the mark could come out: as it is, in hex, in base64 at each of the three places at which
// it can begin, and as JSON and Go write it.
func marks() []string {
	list := []string{mark, mark[1 : len(mark)-1], hex.EncodeToString([]byte(mark)), strings.ToUpper(hex.EncodeToString([]byte(mark)))}
	for shift := range 3 {
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + mark))
		list = append(list, whole[4:len(whole)-4])
	}
	return append(list, strings.Trim(jsonQuote(mark), `"`), strings.Trim(fmt.Sprint([]byte(mark)), "[]"))
}

func jsonQuote(text string) string {
	data, _ := json.Marshal(text) // a text always encodes
	return string(data)
}

// spilled is a log that may be written to by several goroutines.
type spilled struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *spilled) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spilled) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// AT6: bytes of files are in the store's chunks and in the requests of turns, and nowhere else.
func TestNothingButTheChunksHoldsAFilesBytes(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(t *testing.T) store.Store{
		"in memory": func(*testing.T) store.Store { return memstore.New(memstore.Config{}) },
		"on SQLite": func(t *testing.T) store.Store {
			st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(t.TempDir(), "state")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marked(t, made(t))
		})
	}
}

func marked(t *testing.T, st store.Store) {
	ctx := t.Context()
	log := &spilled{}
	var told, sent strings.Builder // what reviewers and summarisers were sent, and what turns were
	var mu sync.Mutex
	provider := scripted.New(scripted.Config{Forget: true, Script: func(req model.Request, _ int) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		switch summary, review := strings.Contains(req.Instructions, "# Pending actions"), strings.HasPrefix(req.Instructions, "You review"); {
		case summary || review:
			fmt.Fprintf(&told, "%+v", req)
			if review {
				return scripted.Text(`{"verdict":"allow","reason":"fine"}`)
			}
			return scripted.Text("# Goal\nnone")
		case scripted.Round(req) == 0 && len(req.Items) == 1:
			for _, part := range req.Items[0].Parts {
				sent.Write(part.Data)
			}
			return scripted.Calls(scripted.ToolCall{ID: "a", Name: "act", Arguments: "{}"}, scripted.ToolCall{ID: "b", Name: "read_history", Arguments: "{}"})
		}
		return scripted.Text("ok")
	}})
	s, err := service.New(ctx, service.Config{Store: st, ScratchDir: t.TempDir(), Providers: []model.Provider{provider}, Lease: time.Second, Poll: 20 * time.Millisecond,
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	body := act("Acts.", says("done"))
	if err := s.Bind(body); err != nil {
		t.Fatal(err)
	}
	h := &host{Service: s, t: t, store: st}
	if h.agent, err = s.RegisterAgent(ctx, "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}, BuiltinTools: api.BuiltinTools{ReadHistory: api.Set(true)},
		Approvals: api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Scripted", Name: "r"}}, Tools: []api.ToolDeclaration{body.Declaration()}}); err != nil {
		t.Fatal(err)
	}
	id := h.session()

	text := note(mark + " in a text file")
	pdf := "%PDF-1.4\n%" + strings.Repeat(mark, 20_000) + "\nstartxref\n9\n%%EOF\n" // uploaded by the service itself
	pdfBlock := api.ContentBlock{Type: api.BlockDocument, Name: "a.pdf", Source: &api.Source{Type: api.SourceBase64, Data: base64.StdEncoding.EncodeToString([]byte(pdf))}}
	textBlock := text.inline()
	textBlock.Source.MediaType = "text/plain"
	up := h.upload(id, text+" uploaded")
	var out []any // all that callers were given
	stream, err := s.Follow(ctx, api.FollowQuery{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.deliver(id, api.TurnOptions{SubmissionID: "one"}, api.TextBlock("look"), pdfBlock, textBlock, stored(up.ID), api.ContentBlock{Type: api.BlockDocument, Name: "b.txt", Source: &api.Source{Type: api.SourceText, MediaType: "text/plain", Data: mark + " as its text"}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, e, string(e.Data)); e.Type == api.EventTurnEnded {
			break
		}
	}
	_ = stream.Close()
	if r := h.result(run); r.Status != api.StatusCompleted {
		t.Fatalf("the turn is %+v, %+v", r, r.Error)
	} else {
		out = append(out, r)
	}
	for range 6 {
		out = append(out, h.result(h.send(id, "more", api.TurnOptions{})))
	}
	compaction, err := s.Compact(ctx, id, api.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, h.result(compaction))

	// What fails tells of what it failed of, and not of what was in it.
	refuse := func(what string, err error) {
		t.Helper()
		e := api.AsError(err)
		if err == nil {
			t.Errorf("%s was taken", what)
			return
		}
		out = append(out, e.Error(), e.Message, e.Details)
	}
	block := func(kind api.BlockType, mediaType, data string) api.ContentBlock {
		return api.ContentBlock{Type: kind, Name: "x", Source: &api.Source{Type: api.SourceBase64, MediaType: mediaType, Data: base64.StdEncoding.EncodeToString([]byte(data))}}
	}
	broken := textBlock
	broken.Source = &api.Source{Type: api.SourceBase64, Data: base64.StdEncoding.EncodeToString([]byte(mark + mark + mark))[1:]}
	for what, b := range map[string]api.ContentBlock{
		"a PDF without its end": block(api.BlockDocument, "", pdf[:len(pdf)-20]), "a text said to be an image": block(api.BlockImage, "image/png", mark), "a binary file": block(api.BlockDocument, "", "\x00"+mark),
		"what is no UTF-8": block(api.BlockDocument, "text/plain", mark+"\xff"), "broken base64": broken, "a large file": block(api.BlockDocument, "", strings.Repeat(mark, api.MaxFileBytes/len(mark)+1)),
	} {
		_, err := h.deliver(id, api.TurnOptions{}, b)
		refuse(what, err)
	}
	_, err = h.deliver(id, api.TurnOptions{SubmissionID: "one"}, pdfBlock)
	refuse("another message under a used ID", err)
	refuse("a chunk with a wrong hash", s.UploadChunk(ctx, id, up.ID, api.UploadChunk{SHA256: strings.Repeat("0", 64), Data: []byte(mark)}))
	refuse("other bytes than are there", h.chunk(id, up.ID, mark))
	lost, err := s.BeginUpload(ctx, id, api.UploadRequest{Name: "y", Size: int64(len(mark)), SHA256: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.chunk(id, lost.ID, mark); err != nil {
		t.Fatal(err)
	}
	_, err = s.CommitUpload(ctx, id, lost.ID)
	refuse("a file of another hash", err)

	for after := uint64(0); ; {
		page, err := s.Events(ctx, api.EventQuery{Session: id, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			out, after = append(out, e, string(e.Data)), e.Number
		}
		if !page.More {
			break
		}
	}
	history, err := s.History(ctx, api.HistoryQuery{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.State(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := s.Agents(ctx, api.AgentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := s.Sessions(ctx, api.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, history, state, agents, sessions)
	records, err := st.Records(ctx, store.RecordQuery{Session: id})
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	var journal bytes.Buffer
	for _, r := range records {
		journal.Write(r.Data)
	}
	loaded, err := st.Load(ctx, id, engine.SnapshotSchema())
	if err != nil {
		t.Fatal(err)
	}
	snapshot := fmt.Sprintf("%s %+v", plain(t, loaded), loaded)
	receipt, err := st.Receipt(ctx, id, "one")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for where, what := range map[string]string{
		"what callers were given": fmt.Sprintf("%+v %s", out, plain(t, out)), "the journal": journal.String(), "the session's row and snapshot": snapshot, "the receipt": fmt.Sprintf("%+v", receipt),
		"the log": log.String(), "what reviewers and summarisers were sent": told.String(),
	} {
		for _, m := range marks() {
			if i := strings.Index(what, m); i >= 0 {
				t.Errorf("%s has a file's bytes as %q: %.200q", where, m, what[max(i-80, 0):])
			}
		}
	}
	// The search finds what it looks for where that belongs, and what it searched is what was meant.
	if !strings.Contains(sent.String(), mark) || !strings.Contains(told.String(), "a.pdf") || !strings.Contains(journal.String(), up.ID) || !strings.Contains(fmt.Sprint(out...), "a.pdf") {
		t.Error("the search would have found nothing")
	}
}

// plain is a value as JSON, in which the bytes of records stand as they are.
func plain(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
