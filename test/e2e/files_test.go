package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

func (h *home) file(name, data string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// AT1: another process still sends the files of a message that it did not take itself.
func TestFilesOfAMessageStayWithItInLaterProcesses(t *testing.T) {
	t.Parallel()
	h := newHome(t, func(modeltestserver.Request) modeltestserver.Reply { return modeltestserver.Reply{Text: "seen"} })
	dot := picture(t)
	result := lines[api.Result](t, h.run("", "run", "--json", "--attach", h.file("notes.txt", "a note"), "--attach", h.file("dot.png", dot), "look"))[0]
	session, _, _ := strings.Cut(result.Run, "-r")
	for _, name := range []string{"notes.txt", "dot.png"} { // they are the session's own by now
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	h.run("", "run", "--session", session, "and now")
	for n, r := range h.model.Requests() {
		var message modeltestserver.Message
		for _, m := range r.Messages {
			if strings.HasPrefix(m.Content, "look") {
				message = m
			}
		}
		if !strings.Contains(message.Content, "a note") || len(message.Parts) != 1 || string(message.Parts[0].Data) != dot {
			t.Errorf("request %d has %q and %d parts", n+1, message.Content, len(message.Parts))
		}
	}
	accepted := 0
	for _, e := range h.events(session) {
		if e.Type == api.EventTurnAccepted && strings.Contains(string(e.Data), `"name":"dot.png"`) {
			accepted++
		}
	}
	if accepted != 1 || h.model.Calls() != 2 {
		t.Errorf("%d messages with the file, %d calls", accepted, h.model.Calls())
	}
}

// SE6, IM1: a conversation goes from one store to another.
func TestAConversationMovesToAnotherStore(t *testing.T) {
	t.Parallel()
	from := newHome(t, calculating(0))
	session := lines[api.Result](t, from.run("", "run", "--json", "--attach", from.file("notes.txt", "a note"), "question"))[0].Run
	session, _, _ = strings.Cut(session, "-r")
	moved := from.run("", "export", session, "--portable")
	if !strings.Contains(moved, `"type":"tool_call"`) || !strings.Contains(moved, `[file \"notes.txt\": text/plain, 6 bytes`) {
		t.Fatalf("the export has no call or no file:\n%s", moved)
	}
	to := newHome(t, calculating(0))
	imported := lines[struct {
		Session   string               `json:"session"`
		Reference api.SessionReference `json:"reference"`
	}](t, to.run(moved, "sessions", "import", "--json", "-"))[0]
	if imported.Reference.Session != imported.Session || to.model.Calls() != 0 {
		t.Errorf("%+v, after %d calls", imported, to.model.Calls())
	}
	if again := to.run("", "export", imported.Session, "--portable"); again != moved {
		t.Errorf("the second export differs:\n%s\n%s", moved, again)
	}
	if got := lines[api.Result](t, to.run("", "run", "--json", "--session", imported.Session, "another question"))[0]; got.Status != api.StatusCompleted {
		t.Errorf("%+v", got)
	}
}
