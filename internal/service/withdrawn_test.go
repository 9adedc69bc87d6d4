package service_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// heavy is a text file that does not go in a message's own transaction.
func heavy(mark string) note { return note(mark + strings.Repeat("x", api.UploadChunkBytes)) }

// held opens a session whose first turn waits until release is called.
func heldTurn(t *testing.T, st store.Store) (h *host, session string, hold api.RunReference, release func()) {
	t.Helper()
	open1 := make(chan struct{})
	p := scripted.New(scripted.Config{Script: func(r model.Request, _ int) scripted.Reply {
		if scripted.LastUser(r) != "hold" {
			return scripted.Text("ok")
		}
		return scripted.Reply{Text: "ok", Wait: func(ctx context.Context) error {
			select {
			case <-open1:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	}})
	h = open(t, st, p, never())
	session = h.session()
	return h, session, h.send(session, "hold", api.TurnOptions{}), func() { close(open1) }
}

// RU4, RU6, AT5: a message that is refused leaves nothing of the files within it, and takes none of the session's room.
func TestARefusedMessageLeavesNoFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code api.Code
		o    api.TurnOptions
		wait int // messages that wait before it
	}{
		"the session is busy":     {api.CodeSessionBusy, api.TurnOptions{}, 0},
		"under a submission ID":   {api.CodeSessionBusy, api.TurnOptions{SubmissionID: "one"}, 0},
		"the queue is full":       {api.CodeQueueFull, api.TurnOptions{WhenBusy: api.BusyQueue}, api.MaxQueuedTurns},
		"another message's is it": {api.CodeSubmissionConflict, api.TurnOptions{SubmissionID: "hold", WhenBusy: api.BusyQueue}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, id, hold, release := heldTurn(t, memstore.New(memstore.Config{}))
			for range test.wait {
				h.send(id, "waits", api.TurnOptions{WhenBusy: api.BusyQueue})
			}
			if test.code == api.CodeSubmissionConflict {
				h.send(id, "waits", api.TurnOptions{SubmissionID: "hold", WhenBusy: api.BusyQueue})
			}
			kept := h.upload(id, "small, and uploaded before")
			_, err := h.deliver(id, test.o, heavy("a").inline(), api.TextBlock("and"), heavy("b").inline(), stored(kept.ID))
			if api.CodeOf(err) != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
			if got := h.fill(id) + kept.Size; got != api.MaxSessionFileBytes {
				t.Errorf("%d bytes are taken by nobody's files", api.MaxSessionFileBytes-got)
			}
			if up := h.begin(id, "small, and uploaded before"); up.State != api.UploadCommitted {
				t.Errorf("what its caller had uploaded is %+v", up)
			}
			if test.wait == 0 {
				release()
				h.result(hold)
			} else if err := h.Cancel(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// RU6, RU4: of a message whose fate its caller does not know the files stay, for it may be accepted yet.
func TestAMessageWhoseFateIsUnknownKeepsItsFiles(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	var away atomic.Bool
	st := memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
		if len(a.Accept) == 0 || !away.Load() {
			return memstore.Commit
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		return memstore.LoseUnknown
	}})
	s, agent, _ := creating(t, st)
	ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h, id, file := &host{Service: s, t: t}, ref.Session, heavy("a")
	away.Store(true)
	told := make(chan error, 1)
	go func() {
		_, err := h.deliver(id, api.TurnOptions{SubmissionID: "one"}, file.inline())
		told <- err
	}()
	<-asked
	_ = s.Close(t.Context()) // what it could not end is no matter here
	if err := <-told; api.CodeOf(err) != api.CodeClosed {
		t.Fatalf("the caller is told %v", err)
	}
	away.Store(false)
	h.Service, h.agent, _ = creating(t, st)
	up := h.begin(id, file)
	if up.State == api.UploadOpen || len(up.Missing) > 0 {
		t.Fatalf("the file is %+v", up)
	}
	run, err := h.deliver(id, api.TurnOptions{SubmissionID: "one"}, stored(up.ID))
	if err != nil {
		t.Fatal(err)
	}
	if r := h.result(run); r.Status != api.StatusCompleted {
		t.Errorf("the turn is %+v, %+v", r, r.Error)
	}
}

// RU4, AT5: two callers store the same bytes together, and the refusal of one takes them from the other, which is at hand with
// its own.
func TestAFileWithinAMessageIsStoredAgainWhereAnotherRefusalTookIt(t *testing.T) {
	t.Parallel()
	var st *memstore.Store
	var taken atomic.Int32
	st = memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
		if len(a.Accept) > 0 && taken.Add(1) == 1 {
			if err := st.Discard(t.Context(), a.Session, a.Accept[0]); err != nil {
				t.Error(err)
			}
		}
		return memstore.Commit
	}})
	var shown string
	h := open(t, st, scripted.New(scripted.Config{Script: func(r model.Request, _ int) scripted.Reply {
		for _, part := range r.Items[0].Parts {
			shown += string(part.Data)
		}
		return scripted.Text("ok")
	}}), never())
	id, file := h.session(), heavy("a")
	run, err := h.deliver(id, api.TurnOptions{}, file.inline())
	if err != nil {
		t.Fatal(err)
	}
	if r := h.result(run); r.Status != api.StatusCompleted || taken.Load() != 2 {
		t.Errorf("the turn is %+v, after %d tries", r, taken.Load())
	}
	if shown != string(file) {
		t.Errorf("the model was shown %d bytes", len(shown))
	}
	taken.Store(0) // what is referred to by its ID is at nobody's hand
	other := heavy("b")
	up := h.begin(id, other)
	if _, err := h.deliver(id, api.TurnOptions{}, stored(up.ID)); api.CodeOf(err) != api.CodeAttachmentNotFound {
		t.Errorf("a file that is not there gave %v", err)
	}
}

// forgetful is a store in which a file is gone when it is to be sealed.
type forgetful struct{ store.Store }

func (forgetful) Seal(context.Context, string, string, store.FileType, time.Time) (store.File, error) {
	return store.File{}, store.ErrFileNotFound
}

// AT5: an error about a file has its name.
func TestAnErrorAboutAFileNamesIt(t *testing.T) {
	t.Parallel()
	h := open(t, forgetful{memstore.New(memstore.Config{})}, scripted.New(scripted.Config{}), never())
	id, file := h.session(), note("gone")
	up := h.begin(id, file)
	if err := h.chunk(id, up.ID, file); err != nil {
		t.Fatal(err)
	}
	_, committed := h.CommitUpload(t.Context(), id, up.ID)
	_, sent := h.deliver(id, api.TurnOptions{}, api.TextBlock("look"), heavy("a").inline())
	for what, err := range map[string]error{"a commit": committed, "a message": sent} {
		if e := api.AsError(err); err == nil || e.Code != api.CodeAttachmentNotFound || !strings.Contains(e.Message, `"note.txt"`) || strings.Contains(e.Message, `""`) || e.Details["file"] != "note.txt" {
			t.Errorf("%s is refused with %v, %v", what, err, e.Details)
		}
	}
}
