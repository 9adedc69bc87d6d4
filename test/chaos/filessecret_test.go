//go:build linux

package chaos_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/test/chaos"
)

const removed = "[removed]" // what the guardrail puts for the secret

// newSecretMessage is a message whose text file holds the secret in each of its lines: sent is what a client sends, and
// kept what there is of it then.
func newSecretMessage(t *testing.T) (sent, kept *filesMessage) {
	t.Helper()
	sent, kept = &filesMessage{data: map[string][]byte{}}, &filesMessage{data: map[string][]byte{}}
	data := linesOf(40_000, "is "+chaos.Secret)
	for m, file := range map[*filesMessage][]byte{sent: data, kept: bytes.ReplaceAll(data, []byte(chaos.Secret), []byte(removed))} {
		m.text("say secret")
		m.file(t, "secret.txt", "text/plain", file)
		m.text("Tell nobody.")
	}
	return sent, kept
}

// What a guardrail takes out of a file is in no file of the state directory once the message is accepted, whenever
// a process dies; also when a client that heard nothing uploads the original once more. A file that comes within its
// message is there at no time.
func TestWhatAGuardrailTookOutOfAFileIsGoneWithTheAcceptanceWheneverTheProcessDies(t *testing.T) {
	t.Parallel()
	var held atomic.Int64 // deaths before the acceptance that left the original: the search finds it
	act := func(uploads bool) func(w *world) string {
		return func(w *world) string {
			sent, kept := newSecretMessage(w.t)
			state := w.args[1]
			w.model.secret, w.model.sent = chaos.Secret, kept
			w.buries = func(p *process) {
				at := holding(w.t, state, chaos.Secret)
				if len(at) > 0 && !uploads {
					w.t.Errorf("a victim died and left the secret in %v", at)
				}
				if len(at) > 0 {
					held.Add(1)
				}
				if strings.Contains(p.stderr.String(), chaos.Secret) {
					w.t.Errorf("it says the secret: %s", p.stderr)
				}
			}
			id := w.create("s")
			w.finish(w.send(id, "1", "", sent.parts...))
			w.until("state directory without the secret", func() bool { return len(holding(w.t, state, chaos.Secret)) == 0 })
			if at := holding(w.t, state, "is "+removed); len(at) == 0 {
				w.t.Error("what stands for the secret is in no file: the search finds nothing")
			}
			w.checkMessage(id, kept)
			if w.model.told > 0 {
				w.t.Errorf("the model was told the secret %d times", w.model.told)
			}
			w.atEnd = func() {
				w.checkFiles(id, kept)
				if at := holding(w.t, state, chaos.Secret); len(at) > 0 {
					w.t.Errorf("at the end the secret is in %v", at)
				}
			}
			return id
		}
	}
	killEverywhere(t, []scenario{
		{name: "a file that is uploaded", args: []string{"-face", "go", "-guards", "secret"}, among: noCommits, act: act(true)},
		{name: "a file that is uploaded again, since nobody heard of the acceptance", args: []string{"-face", "go", "-guards", "secret", "-protocol", "gemini"},
			deaths: []string{"append.after/turn_accepted#1"}, among: noCommits, act: act(true)},
		{name: "a file within the message", args: []string{"-guards", "secret", "-protocol", "messages"}, among: noCommits, act: act(false)},
	})
	if held.Load() == 0 {
		t.Error("no death left an original that was uploaded: nobody knows that the search finds one")
	}
	t.Logf("%d deaths left an original that was uploaded", held.Load())
}

// An upload whose client died before it sent the message is there, accepted by nobody, until it expires. The first who
// begins another upload then finds it gone, to the last byte.
func TestAnUploadWhoseMessageNeverCameGoesWhenItExpires(t *testing.T) {
	t.Parallel()
	sent, kept := newSecretMessage(t)
	w := newWorld(t, "-face", "go", "-guards", "secret")
	w.model.secret, w.model.sent = chaos.Secret, kept
	state := w.args[1]
	w.next = [][]string{{"-kill", "append.before/turn_accepted#1"}}
	id := w.create("s")
	if _, err := w.proc.do(chaos.Command{Op: "send", Session: id, Key: "1", Parts: sent.parts}); !errors.Is(err, errDied) {
		t.Fatalf("the message: %v", err)
	}
	w.buried(w.proc)
	if len(holding(t, state, chaos.Secret)) == 0 {
		t.Fatal("the upload is in no file")
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: state})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(later time.Duration) {
		t.Helper()
		now := time.Now().Add(later)
		other := store.File{ID: id + "-aother", Name: "other.txt", Size: 1, SHA256: sumOf([]byte("x")), Expires: now.Add(time.Minute)}
		if _, err := s.Stage(t.Context(), id, other, now, store.FileQuota{Files: 2, Bytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if err := s.Discard(t.Context(), id, other.ID); err != nil {
			t.Fatal(err)
		}
	}
	begin(api.UploadTime - time.Minute)
	if len(holding(t, state, chaos.Secret)) == 0 {
		t.Error("the upload went before it had expired")
	}
	begin(api.UploadTime + time.Minute)
	wait(t, "state directory without the upload", func() bool { return len(holding(t, state, chaos.Secret)) == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.checkFiles(id)
	if r := w.finish(w.send(id, "1", "", sent.parts...)); r.Status != api.StatusCompleted {
		t.Errorf("the message that comes after all: %+v", r)
	}
	w.checkMessage(id, kept)
	w.check(id)
	w.close()
	w.checkFiles(id, kept)
	if at := holding(t, filepath.Dir(state), chaos.Secret); len(at) > 0 {
		t.Errorf("at the end the secret is in %v", at)
	}
}
