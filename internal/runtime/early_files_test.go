package runtime_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// A call reads the files of its message, so it must not begin beside the append that brings them.
func TestAModelCallWaitsForTheFilesThatComeWithItsMessage(t *testing.T) {
	t.Parallel()
	data := []byte("read me")
	file := engine.File{ID: "s-a1", Name: "a.txt", MediaType: "text/plain", Size: int64(len(data)), SHA256: "1"}
	brought := runtime.Files{New: []store.NewFile{{File: store.File{ID: file.ID, Name: file.Name, Size: file.Size, SHA256: file.SHA256, FileType: store.FileType{MediaType: file.MediaType}}, Data: data}}}
	for name, test := range map[string]struct {
		message engine.Message
		files   runtime.Files
		early   int // calls that begin although the append fails
	}{
		"a text, whose call begins at once": {engine.Message{Text: "stop"}, runtime.Files{}, 1},
		"a message with a new file":         {engine.Message{Content: []engine.Block{{Text: "stop"}, {File: &file}}}, brought, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.send("begin")
			r.step(runtime.Wake{})
			s, _ := r.begun()
			r.step(runtime.Done{Ticket: s.Ticket, Command: engine.ModelDone{Run: s.Effect.Run, Call: 1, Attempt: 1, Epoch: s.Epoch, Items: []engine.Item{pay}, HardChecks: true}})
			_, before := r.begun() // the application's check of the call, which an interrupting message ends
			test.message.WhenBusy = api.BusyInterrupt
			r.fail = failing(memstore.FailBefore)
			r.step(runtime.Submit{Command: test.message, Files: test.files, Waiter: 2})
			if _, n := r.begun(); n-before != test.early {
				t.Fatalf("%d calls began beside an append that failed, want %d", n-before, test.early)
			}
			r.wait(time.Minute)
			_, before = r.begun()
			r.step(runtime.Submit{Command: test.message, Files: test.files, Waiter: 3})
			s, n := r.begun()
			if n != before+1 || s.Effect.Kind != engine.ModelEffect {
				t.Fatalf("%d calls began behind the append, the last %s; want one to the model", n-before, s.Effect.Key())
			}
		})
	}
}
