package service_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
)

// note is a text file that a test uploads.
type note string

func (n note) request() api.UploadRequest {
	sum := sha256.Sum256([]byte(n))
	return api.UploadRequest{Name: "note.txt", MediaType: "text/plain", Size: int64(len(n)), SHA256: hex.EncodeToString(sum[:])}
}

func (n note) inline() api.ContentBlock {
	return api.ContentBlock{Type: api.BlockDocument, Name: "note.txt", Source: &api.Source{Type: api.SourceBase64, Data: base64.StdEncoding.EncodeToString([]byte(n))}}
}

func stored(id string) api.ContentBlock { return api.Upload{ID: id}.Block("note.txt") }

func (h *host) begin(session string, n note) api.Upload {
	h.t.Helper()
	up, err := h.BeginUpload(h.t.Context(), session, n.request())
	if err != nil {
		h.t.Fatal(err)
	}
	return up
}

// chunk sends the one chunk of a small file.
func (h *host) chunk(session, upload string, n note) error {
	return h.UploadChunk(h.t.Context(), session, upload, api.UploadChunk{SHA256: n.request().SHA256, Data: []byte(n)})
}

func (h *host) upload(session string, n note) api.Upload {
	h.t.Helper()
	up := h.begin(session, n)
	if err := h.chunk(session, up.ID, n); err != nil {
		h.t.Fatal(err)
	}
	up, err := h.CommitUpload(h.t.Context(), session, up.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return up
}

func (h *host) deliver(session string, o api.TurnOptions, blocks ...api.ContentBlock) (api.RunReference, error) {
	return h.Submit(h.t.Context(), api.Submission{Session: session, Content: blocks, Options: o})
}

// fill announces as many bytes as a session has room for, and reports how many those were.
func (h *host) fill(session string) (total int64) {
	h.t.Helper()
	for size := int64(api.MaxFileBytes); size > 0; size /= 2 {
		for i := 0; ; i++ {
			sum := sha256.Sum256(fmt.Append(nil, session, total, size, i))
			_, err := h.BeginUpload(h.t.Context(), session, api.UploadRequest{Name: "x", Size: size, SHA256: hex.EncodeToString(sum[:])})
			if api.CodeOf(err) == api.CodeAttachmentQuota {
				break
			}
			if err != nil {
				h.t.Fatal(err)
			}
			total += size
		}
	}
	return total
}

// aging runs a test under a false clock, on a service that has one session. It looks for work rarely, so that a year is soon over.
func aging(t *testing.T, provider *scripted.Provider, test func(h *host, session string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Providers: []model.Provider{provider}, Clock: suitehost.Clock(),
			Lease: 30 * 24 * time.Hour, Poll: 7 * 24 * time.Hour}
		s, err := service.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer ended(t, s)
		h := &host{Service: s, t: t, store: cfg.Store}
		if h.agent, err = s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: provider.Name(), Name: "m"}}); err != nil {
			t.Fatal(err)
		}
		test(h, h.session())
	})
}

// AT5: what no message refers to is there for a day from when it was last begun, and no moment longer.
func TestAnUploadExpiresADayAfterItWasLastBegun(t *testing.T) {
	t.Parallel()
	for _, prolonged := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("prolonged %t, late %t", prolonged, late), func(t *testing.T) {
				t.Parallel()
				aging(t, scripted.New(scripted.Config{}), func(h *host, id string) {
					whole, half := note("whole"), note("half")
					begun := time.Now()
					up, open := h.upload(id, whole), h.begin(id, half)
					if prolonged {
						time.Sleep(23 * time.Hour)
						begun = time.Now()
						up, open = h.begin(id, whole), h.begin(id, half)
					}
					for _, u := range []api.Upload{up, open} {
						if !u.Expires.Equal(begun.Add(api.UploadTime).Truncate(time.Millisecond)) {
							t.Errorf("begun at %v it expires at %v", begun, u.Expires)
						}
					}
					until := time.Until(begun.Add(api.UploadTime))
					if !late {
						until -= time.Millisecond
					}
					time.Sleep(until)
					chunk := h.chunk(id, open.ID, half)
					_, commit := h.CommitUpload(t.Context(), id, open.ID)
					_, again := h.CommitUpload(t.Context(), id, up.ID)
					run, message := h.deliver(id, api.TurnOptions{}, stored(up.ID))
					for what, err := range map[string]error{"a chunk": chunk, "a commit": commit, "a commit again": again, "a message": message} {
						if late && api.CodeOf(err) != api.CodeAttachmentNotFound || !late && err != nil {
							t.Errorf("%s: %v", what, err)
						}
					}
					if late && !strings.Contains(message.Error(), "24 hours") {
						t.Errorf("the error does not tell why: %v", message)
					}
					if !late {
						if r := h.result(run); r.Status != api.StatusCompleted {
							t.Errorf("the turn is %+v", r)
						}
					}
				})
			})
		}
	}
}

// AT3, AT5: what has expired is removed, and gives its room back, as the session next uploads or takes a file.
func TestWhatHasExpiredGivesItsRoomBack(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(h *host, id string) error{
		"to an upload": func(h *host, id string) error {
			_, err := h.BeginUpload(h.t.Context(), id, note("next").request())
			return err
		},
		"to a file in a message": func(h *host, id string) error {
			run, err := h.deliver(id, api.TurnOptions{}, note("next").inline())
			if err == nil {
				h.result(run)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aging(t, scripted.New(scripted.Config{}), func(h *host, id string) {
				kept := note("kept")
				run, err := h.deliver(id, api.TurnOptions{}, kept.inline())
				if err != nil {
					t.Fatal(err)
				}
				h.result(run)
				old := h.upload(id, "old")
				if n := h.fill(id); n != api.MaxSessionFileBytes-int64(len(kept)+len("old")) {
					t.Fatalf("there was room for %d bytes", n)
				}
				time.Sleep(api.UploadTime - time.Millisecond)
				if err := next(h, id); api.CodeOf(err) != api.CodeAttachmentQuota {
					t.Errorf("before the day is over: %v", err)
				}
				time.Sleep(time.Millisecond)
				if err := next(h, id); err != nil {
					t.Errorf("when it is: %v", err)
				}
				if f, err := h.store.File(t.Context(), id, old.ID); err == nil {
					t.Errorf("the store has %+v", f)
				}
				if n := h.fill(id); n != api.MaxSessionFileBytes-int64(len(kept)+len("next")) {
					t.Errorf("then there was room for %d bytes", n)
				}
			})
		})
	}
}

// AT5: what a message refers to lives as long as its session, whatever else expires around it.
func TestAnAcceptedFileIsThereAfterAYear(t *testing.T) {
	t.Parallel()
	var shown []string
	p := scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		shown = nil
		for _, it := range req.Items {
			for _, part := range it.Parts {
				shown = append(shown, string(part.Data))
			}
		}
		return scripted.Text("ok")
	}})
	aging(t, p, func(h *host, id string) {
		inline, uploaded := note("in the message"), note("uploaded")
		up := h.upload(id, uploaded)
		send := func(o api.TurnOptions, blocks ...api.ContentBlock) api.RunReference {
			t.Helper()
			run, err := h.deliver(id, o, blocks...)
			if err != nil {
				t.Fatal(err)
			}
			if r := h.result(run); r.Status != api.StatusCompleted {
				t.Fatalf("the turn is %+v", r)
			}
			return run
		}
		first := send(api.TurnOptions{SubmissionID: "one"}, inline.inline(), stored(up.ID))
		for range 12 {
			time.Sleep(30 * 24 * time.Hour)
			h.upload(id, note(time.Now().String())) // cleans
		}
		time.Sleep(5 * 24 * time.Hour)
		if again := send(api.TurnOptions{SubmissionID: "one"}, inline.inline(), stored(up.ID)); again.Run != first.Run {
			t.Errorf("the same submission is run %s, and was %s", again.Run, first.Run)
		}
		send(api.TurnOptions{}, stored(up.ID))
		if got := strings.Join(shown, ", "); got != "in the message, uploaded, uploaded" {
			t.Errorf("the model was shown %s", got)
		}
		if up := h.begin(id, uploaded); up.State != api.UploadAccepted || !up.Expires.IsZero() {
			t.Errorf("it is %+v", up)
		}
	})
}

// RU4, AT5: a submission whose upload has expired is sent again with the file uploaded again, whether it was accepted or not.
func TestARetryStagesAgain(t *testing.T) {
	t.Parallel()
	aging(t, scripted.New(scripted.Config{}), func(h *host, id string) {
		o := api.TurnOptions{SubmissionID: "one"}
		file := note("again")
		up := h.upload(id, file)
		time.Sleep(25 * time.Hour)
		if _, err := h.deliver(id, o, stored(up.ID)); api.CodeOf(err) != api.CodeAttachmentNotFound {
			t.Fatalf("a file that has expired gave %v", err)
		}
		begun := h.begin(id, file)
		if begun.ID != up.ID || begun.State != api.UploadOpen || len(begun.Missing) != 1 {
			t.Errorf("announced again it is %+v", begun)
		}
		again := h.upload(id, file)
		run, err := h.deliver(id, o, stored(again.ID))
		if err != nil || run.Repeated {
			t.Fatalf("with the file there again it gave %+v, %v", run, err)
		}
		h.result(run)
		time.Sleep(100 * 24 * time.Hour)
		for _, block := range []api.ContentBlock{stored(again.ID), file.inline(), stored(h.upload(id, file).ID)} {
			if r, err := h.deliver(id, o, block); err != nil || r.Run != run.Run {
				t.Errorf("the same submission gave %+v, %v", r, err)
			}
		}
	})
}
