package runtime_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

func hash(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// described is a sealed file of a session as a store has it.
func (r *rig) described(id, data string) store.File {
	return store.File{ID: id, Name: id, Announced: "text/plain", Size: int64(len(data)), SHA256: hash(data), Expires: r.now.Add(24 * time.Hour), FileType: store.FileType{MediaType: "text/plain"}}
}

// stage keeps a file that no message refers to yet.
func (r *rig) stage(id, data string) {
	r.t.Helper()
	ctx, f := r.t.Context(), r.described(id, data)
	if _, err := r.mem.Stage(ctx, "s", f, r.now, runtime.FileQuota); err != nil {
		r.t.Fatal(err)
	}
	for i := range store.Chunks(f.Size) {
		from := i * store.ChunkBytes
		if err := r.mem.PutChunk(ctx, "s", id, i, []byte(data[from:from+store.ChunkLen(f.Size, i)]), r.now); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := r.mem.Seal(ctx, "s", id, f.FileType, r.now); err != nil {
		r.t.Fatal(err)
	}
}

// state is how far a file is, "" for one that is not there.
func (r *rig) state(id string) store.FileState {
	r.t.Helper()
	f, err := r.mem.File(r.t.Context(), "s", id)
	if err != nil && !errors.Is(err, store.ErrFileNotFound) {
		r.t.Fatal(err)
	}
	return f.State
}

// about is a queued message with files of the IDs.
func about(ids ...string) engine.Message {
	m := engine.Message{WhenBusy: api.BusyQueue, Content: []engine.Block{{Text: "see"}}}
	for _, id := range ids {
		m.Content = append(m.Content, engine.Block{File: &engine.File{ID: id, Name: id, MediaType: "text/plain", Size: 3, SHA256: "h"}})
	}
	return m
}

func submitted(m engine.Message, id string) engine.Message {
	m.SubmissionID = id
	return m
}

// batch has inputs decided into one append: they come while the one before is on its way, and are answered by waiter.
func (r *rig) batch(inputs ...runtime.Submit) map[uint64]runtime.Reply {
	r.t.Helper()
	held := r.fail
	first := true
	replies := map[uint64]runtime.Reply{}
	r.onReply = func(reply runtime.Reply) { replies[reply.Waiter] = reply }
	r.fail = func(a store.Append) memstore.Fate {
		if first { // of a message of its own; nothing is known of it while the others come
			first = false
			return memstore.LoseUnknown
		}
		if held != nil {
			return held(a)
		}
		return memstore.Commit
	}
	r.step(runtime.Submit{Command: engine.Message{Text: "first", WhenBusy: api.BusyQueue}, Waiter: 99})
	for i, in := range inputs {
		in.Waiter = uint64(i + 1)
		r.step(in)
	}
	r.wait(time.Second)
	r.wait(5 * time.Second)
	r.onReply = nil
	return replies
}

func TestOnlyTheMessageWhoseFilesAreNotThereIsRefused(t *testing.T) {
	t.Parallel()
	text := engine.Message{Text: "just a text", WhenBusy: api.BusyQueue}
	for name, test := range map[string]struct {
		inputs []runtime.Submit
		quota  bool
		want   []error // of each
	}{
		"alone": {
			[]runtime.Submit{{Command: about("gone")}}, false, []error{store.ErrFileNotFound},
		},
		"between others with files": {
			[]runtime.Submit{{Command: about("a")}, {Command: about("b", "gone")}, {Command: about("c")}}, false, []error{nil, store.ErrFileNotFound, nil},
		},
		"the first of them": {
			[]runtime.Submit{{Command: about("gone")}, {Command: about("b")}, {Command: text}}, false, []error{store.ErrFileNotFound, nil, nil},
		},
		"the last of them": {
			[]runtime.Submit{{Command: text}, {Command: about("b")}, {Command: about("gone")}}, false, []error{nil, nil, store.ErrFileNotFound},
		},
		"two of them": {
			[]runtime.Submit{{Command: about("gone")}, {Command: about("b")}, {Command: text}, {Command: about("gone too")}}, false, []error{store.ErrFileNotFound, nil, nil, store.ErrFileNotFound},
		},
		"with submission IDs": {
			[]runtime.Submit{{Command: submitted(text, "1")}, {Command: submitted(about("gone"), "2")}, {Command: submitted(about("a"), "3")}, {Command: submitted(about("b"), "4")}}, false,
			[]error{nil, store.ErrFileNotFound, nil, nil},
		},
		"beside content without files": {
			[]runtime.Submit{{Command: about()}, {Command: about("gone")}}, false, []error{nil, store.ErrFileNotFound},
		},
		"a new file that the session has no room for": {
			[]runtime.Submit{{Command: about("a")}, {Command: about("new"), Files: runtime.Files{New: []store.NewFile{{}}}}, {Command: about("b")}}, true, []error{nil, store.ErrFileQuota, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, id := range []string{"a", "b", "c"} {
				r.stage(id, "abc")
			}
			if test.quota {
				large := string(make([]byte, api.MaxFileBytes))
				test.inputs[1].Files.New[0] = store.NewFile{File: r.described("new", large), Data: []byte(large)}
				r.announce("other", api.MaxFileBytes-9) // with the three above, and seven more, the session is full
				for i := range 7 {
					r.announce(fmt.Sprint("other", i), api.MaxFileBytes)
				}
			}
			replies := r.batch(test.inputs...)
			if together := slices.MaxFunc(r.writes, func(a, b store.Append) int { return len(a.Records) - len(b.Records) }); len(together.Records) < len(test.inputs) {
				t.Errorf("at most %d records were written together", len(together.Records))
			}
			if got := replies[99]; got.Err != nil || len(got.Facts) == 0 {
				t.Errorf("the message before them is answered %+v", got)
			}
			for i, want := range test.want {
				got, answered := replies[uint64(i+1)]
				if !answered || !errors.Is(got.Err, want) || (want == nil) != (got.Err == nil && len(got.Facts) > 0) {
					t.Errorf("message %d is answered %t %+v, want %v", i+1, answered, got, want)
				}
			}
			stored := 0
			for _, kind := range r.kinds() {
				if kind == "turn_accepted" {
					stored++
				}
			}
			refused := 0
			for _, err := range test.want {
				if err != nil {
					refused++
				}
			}
			if want := 1 + len(test.inputs) - refused; stored != want {
				t.Errorf("%d messages are stored, want %d", stored, want)
			}
			for i, in := range test.inputs {
				for _, b := range in.Command.(engine.Message).Content {
					if b.File != nil && r.state(b.File.ID) == store.FileAccepted && test.want[i] != nil {
						t.Errorf("file %s of message %d, which is refused, is accepted", b.File.ID, i+1)
					}
					if b.File != nil && r.state(b.File.ID) != store.FileAccepted && test.want[i] == nil {
						t.Errorf("file %s of message %d is %q", b.File.ID, i+1, r.state(b.File.ID))
					}
				}
			}
		})
	}
}

// announce keeps room for a file of which no byte has come.
func (r *rig) announce(id string, size int64) {
	r.t.Helper()
	f := store.File{ID: id, Size: size, SHA256: id, Expires: r.now.Add(time.Hour)}
	if _, err := r.mem.Stage(r.t.Context(), "s", f, r.now, store.FileQuota{Files: 1000, Bytes: 1 << 40}); err != nil {
		r.t.Fatal(err)
	}
}

func TestFilesWhileTheFateOfTheirMessageIsUnknown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fate  memstore.Fate
		gone  bool // the file is, before the message is written again
		err   error
		state store.FileState
	}{
		"it was written":                          {memstore.CommitThenUnknown, false, nil, store.FileAccepted},
		"it was not":                              {memstore.LoseUnknown, false, nil, store.FileAccepted},
		"it was not, and the file is gone":        {memstore.LoseUnknown, true, store.ErrFileNotFound, ""},
		"it was, and the file cannot go any more": {memstore.CommitThenUnknown, true, nil, store.FileAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.stage("a", "abc")
			r.fail = failing(test.fate)
			r.step(runtime.Submit{Command: about("a"), Waiter: 1})
			if r.reply != nil {
				t.Fatalf("it is answered %+v before its fate is known", r.reply)
			}
			if test.gone {
				if err := r.mem.Discard(t.Context(), "s", "a"); err != nil {
					t.Fatal(err)
				}
			}
			r.wait(time.Second)
			if r.reply == nil || !errors.Is(r.reply.Err, test.err) || (test.err == nil) != (r.reply.Err == nil) {
				t.Fatalf("it is answered %+v, want %v", r.reply, test.err)
			}
			if got := r.state("a"); got != test.state {
				t.Errorf("the file is %q, want %q", got, test.state)
			}
			r.reply = nil
			r.step(runtime.Submit{Command: engine.Message{Text: "next", WhenBusy: api.BusyQueue}, Waiter: 2})
			if r.reply == nil || r.reply.Err != nil {
				t.Errorf("the next message is answered %+v", r.reply)
			}
		})
	}
}

func TestWhatAnAppendSaysOfFiles(t *testing.T) {
	t.Parallel()
	type says struct {
		Accept, New, Discard []string
	}
	said := func(a store.Append) (s says) {
		s.Accept, s.Discard = a.Accept, a.Discard
		for _, f := range a.Files {
			s.New = append(s.New, f.ID)
		}
		return s
	}
	written := func(r *rig) runtime.Submit { // a file that a guardrail has redacted
		return runtime.Submit{Command: about("a", "redacted"), Waiter: 1,
			Files: runtime.Files{New: []store.NewFile{{File: r.described("redacted", "xyz"), Data: []byte("xyz")}}, Discarded: []string{"original"}}}
	}
	want := says{Accept: []string{"a"}, New: []string{"redacted"}, Discard: []string{"original"}}
	for name, play := range map[string]func(*rig){
		"a message's own": func(r *rig) { r.step(written(r)) },
		"again behind what another process wrote": func(r *rig) {
			r.step(runtime.Submit{Command: engine.Cancel{}, Waiter: 9})
			r.elsewhere(engine.Message{Text: "theirs", WhenBusy: api.BusyQueue})
			r.step(written(r))
		},
		"again behind a failure of the store": func(r *rig) {
			r.fail = failing(memstore.LoseUnknown)
			r.step(written(r))
			r.wait(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.stage("a", "abc")
			r.stage("original", "secret")
			play(r)
			var got []says
			for _, a := range r.writes {
				if s := said(a); len(s.Accept)+len(s.New)+len(s.Discard) > 0 {
					got = append(got, s)
				}
			}
			if len(got) == 0 {
				t.Fatal("no append says anything of files")
			}
			for _, s := range got {
				if diff := cmp.Diff(want, s); diff != "" {
					t.Errorf("an append says (-want +got):\n%s", diff)
				}
			}
			if r.reply == nil || r.reply.Err != nil || len(r.reply.Facts) == 0 {
				t.Errorf("it is answered %+v", r.reply)
			}
			if a, redacted, original := r.state("a"), r.state("redacted"), r.state("original"); a != store.FileAccepted || redacted != store.FileAccepted || original != "" {
				t.Errorf("the files are %q, %q and %q; want the first two accepted and the original gone", a, redacted, original)
			}
		})
	}
}

// A message that is refused changes no file, also where another one is stored in the same append.
func TestTheFilesOfARefusedMessageStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stage("a", "abc")
	r.stage("original", "secret")
	busy := about("redacted")
	busy.WhenBusy = api.BusyReject
	replies := r.batch(
		runtime.Submit{Command: busy, Files: runtime.Files{New: []store.NewFile{{File: r.described("redacted", "xyz"), Data: []byte("xyz")}}, Discarded: []string{"original"}}},
		runtime.Submit{Command: about("a")},
	)
	if api.CodeOf(replies[1].Err) != api.CodeSessionBusy || replies[2].Err != nil || len(replies[2].Facts) == 0 {
		t.Errorf("they are answered %+v", replies)
	}
	if a, redacted, original := r.state("a"), r.state("redacted"), r.state("original"); a != store.FileAccepted || redacted != "" || original != store.FileSealed {
		t.Errorf("the files are %q, %q and %q", a, redacted, original)
	}
}

// IM2: a session and the conversation that it begins with are there together, or not at all.
func TestASessionIsCreatedWithItsConversationInOneAppend(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	groups := [][]api.HistoryImport{{{Type: api.ImportUser, Text: "where to?"}}, {{Type: api.ImportAssistant, Text: "to the sea"}}, {{Type: api.ImportUser, Text: "hm"}}}
	agent := engine.Agent{Name: "a", Digest: "d", Model: api.ModelRef{Provider: "P", Name: "m"}, Mode: api.ApproveNever, UnknownOutcome: api.OutcomeAsk}
	made, err := runtime.Creation("made", "s", engine.Create{Event: engine.SessionCreated{Secret: []byte{1}, Agent: agent}, History: engine.Imported("s", groups)}, store.Creation{Agent: "a", Digest: "d"}, now)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, rec := range made.Records {
		kinds = append(kinds, rec.Kind)
		if rec.Item != (rec.Kind == "history_imported") {
			t.Errorf("%s is stored with item %t", rec.Kind, rec.Item)
		}
	}
	if diff := cmp.Diff([]string{"session_created", "history_imported", "history_imported", "history_imported"}, kinds); diff != "" {
		t.Errorf("the records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(store.Index{Activity: engine.ActivityIdle}, made.Index); diff != "" {
		t.Errorf("the index (-want +got):\n%s", diff)
	}
	r := &rig{t: t, now: now, mem: memstore.New(memstore.Config{})}
	if _, err := r.mem.Append(context.Background(), made); err != nil {
		t.Fatal(err)
	}
	if err := r.mem.Register(t.Context(), store.Process{ID: "p", LeaseUntil: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	r.load()
	r.send("and now?")
	call, _ := r.begun()
	var said []string
	for _, it := range call.Items {
		said = append(said, it.Text)
	}
	if !slices.Equal(said, []string{"where to?", "to the sea", "hm", "and now?"}) {
		t.Errorf("the model is told %q", said)
	}
}
