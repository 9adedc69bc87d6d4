//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// A disk is full while the files of a message are uploaded, or once they are. The message is refused and nobody has a
// part of it; said again when there is room, it is there once, with all files.
func TestAFullDiskTakesNoPartOfAMessageWithFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		uploaded bool // before the disk is full
		crash    bool
	}{
		{"during the uploads", false, false},
		{"during the uploads, and the process dies", false, true},
		{"during the admission", true, false},
		{"during the admission, and the process dies", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			mount(t, "tmpfs", disk, "tmpfs", 0, "size=32m")
			w := newWorldIn(t, disk, "-face", "go", "-protocol", "responses")
			m := newFilesMessage(t, "say files")
			w.model.sent = m
			id, beside := w.create("s"), w.create("beside")
			w.finish(w.submit(id, "before", "say before", ""))
			for _, p := range m.parts {
				if p.File != "" && tt.uploaded {
					do[api.Upload](w, chaos.Command{Op: "upload", Session: id, Parts: []chaos.Part{p}})
				}
			}
			free := fill(t, disk)
			if tt.uploaded {
				w.fillLog(beside)
			}
			for range 3 {
				if _, err := w.try(chaos.Command{Op: "send", Session: id, Key: "1", Parts: m.parts}); api.CodeOf(err) != api.CodeStoreFull {
					t.Fatalf("the message onto a full disk: %v, want store_full", err)
				}
			}
			for _, e := range w.events(id) {
				if e.Type == api.EventTurnAccepted && e.Run != w.runs[0].Run {
					t.Errorf("a message that was refused is in the journal: %s", e.Data)
				}
			}
			if n := len(w.model.requests()); n != 1 {
				t.Errorf("the model was asked %d times, of one message that was taken", n)
			}
			if tt.crash {
				w.crash()
				w.startOnFullDisk()
			}
			free()
			if r := w.finish(w.send(id, "1", "", m.parts...)); r.Status != api.StatusCompleted {
				t.Errorf("the message once there is room: %+v", r)
			}
			w.check(id)
			w.checkMessage(id, m)
			w.close()
			w.checkFiles(id, m)
		})
	}
}

// fillLog takes the room that the log has of its own, with uploads to a session, down to what the smallest write needs.
func (w *world) fillLog(session string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "filler.txt")
	n := 0
	for _, size := range []int{250_000, 50_000, 10_000, 2_000, 400, 1} {
		for full := false; !full; n++ {
			text := fmt.Sprintf("%d %s", n, strings.Repeat("x", size))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				w.t.Fatal(err)
			}
			_, err := w.try(chaos.Command{Op: "upload", Session: session, Parts: []chaos.Part{{File: path}}})
			if full = api.CodeOf(err) == api.CodeStoreFull; err != nil && !full {
				w.t.Fatalf("an upload onto a full disk: %v, want store_full", err)
			}
		}
	}
}
