//go:build linux

package chaos_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/test/chaos"
)

// filesMessage is a message with files: what a client sends, and what the journal, the store and the model must have of it.
type filesMessage struct {
	parts  []chaos.Part
	blocks []api.AcceptedBlock // without the files' IDs
	data   map[string][]byte   // of the files by name
}

// newFilesMessage is a text, an image, a text, a PDF of six chunks and a text file. The first text is what the model is
// asked.
func newFilesMessage(t *testing.T, ask string) *filesMessage {
	t.Helper()
	image, err := os.ReadFile("../../internal/content/testdata/photo.png")
	if err != nil {
		t.Fatal(err)
	}
	m := &filesMessage{data: map[string][]byte{}}
	m.text(ask)
	m.file(t, "photo.png", "image/png", image)
	m.text("Hold it against what follows.")
	m.file(t, "report.pdf", "application/pdf", pdfOf(1_300_000))
	m.file(t, "notes.txt", "text/plain", linesOf(30_000, "nothing to hide"))
	return m
}

func (m *filesMessage) text(text string) {
	m.parts = append(m.parts, chaos.Part{Text: text})
	m.blocks = append(m.blocks, api.AcceptedBlock{Type: api.BlockText, Text: text})
}

func (m *filesMessage) file(t *testing.T, name, mediaType string, data []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m.parts = append(m.parts, chaos.Part{File: path})
	m.blocks = append(m.blocks, api.AcceptedBlock{Type: api.Block(mediaType), Name: name, MediaType: mediaType, Size: int64(len(data)), SHA256: sumOf(data)})
	m.data[name] = data
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// pdfOf is a PDF whose chunks all differ.
func pdfOf(size int) []byte {
	const head, middle = "%PDF-1.7\n1 0 obj\n<< /Length ", ">>\nstream\n"
	b := fmt.Appendf(nil, "%s%d %s", head, size, middle)
	at := len(b)
	b = append(b, make([]byte, size)...)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b[at:]) // it has no errors
	b = append(b, "\nendstream\nendobj\n"...)
	xref := len(b)
	return fmt.Appendf(b, "xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<< /Size 2 >>\nstartxref\n%d\n%%%%EOF\n", xref)
}

// linesOf is a text of numbered lines, of at least size bytes.
func linesOf(size int, line string) (b []byte) {
	for n := 0; len(b) < size; n++ {
		b = fmt.Appendf(b, "%d %s\n", n, line)
	}
	return b
}

// in reports whether a request has the message, and what is wrong with it: a part of the message, other bytes, another
// order.
func (m *filesMessage) in(r modeltestserver.Request) (bool, error) {
	var user modeltestserver.Message
	parts := 0
	for _, other := range r.Messages {
		parts += len(other.Parts)
		if other.Role == "user" && firstLine(other.Content) == m.blocks[0].Text {
			user = other
		}
	}
	if user.Role == "" && parts > 0 {
		return false, fmt.Errorf("request %d has %d files and not the text before them", r.Number, parts)
	}
	if user.Role == "" {
		return false, nil
	}
	at := 0
	next := func(what string, text []byte) error {
		place := bytes.Index(r.Body[at:], text)
		if place < 0 {
			return fmt.Errorf("request %d has %s not at all, or before what comes ahead of it", r.Number, what)
		}
		at += place + len(text)
		return nil
	}
	files := user.Parts
	for _, b := range m.blocks {
		if b.Type == api.BlockText {
			if err := next("a text", []byte(b.Text)); err != nil {
				return false, err
			}
			continue
		}
		data := m.data[b.Name]
		if strings.HasPrefix(b.MediaType, "text/") {
			if !strings.Contains(user.Content, string(bytes.TrimSpace(data))) {
				return false, fmt.Errorf("request %d has not all of %s", r.Number, b.Name)
			}
			if err := next(b.Name, []byte(firstLine(string(data)))); err != nil {
				return false, err
			}
			continue
		}
		if len(files) == 0 || files[0].MediaType != b.MediaType || sumOf(files[0].Data) != b.SHA256 {
			return false, fmt.Errorf("request %d has %d files left where %s must stand, or other bytes", r.Number, len(files), b.Name)
		}
		files = files[1:]
		if err := next(b.Name, []byte(base64.StdEncoding.EncodeToString(data))); err != nil {
			return false, err
		}
	}
	if len(files) > 0 || parts != len(user.Parts) {
		return false, fmt.Errorf("request %d has %d files more than the message", r.Number, len(files)+parts-len(user.Parts))
	}
	return true, nil
}

// checkMessage: the message was accepted once and whole, the model got it whole and never a part of it.
func (w *world) checkMessage(session string, m *filesMessage) {
	w.t.Helper()
	times := 0
	for _, e := range w.events(session) {
		if e.Type != api.EventTurnAccepted {
			continue
		}
		accepted := decode[api.TurnAccepted](w, e)
		if firstLine(accepted.Text) != m.blocks[0].Text {
			continue
		}
		times++
		for i := range accepted.Content {
			accepted.Content[i].ID = ""
		}
		if diff := cmp.Diff(m.blocks, accepted.Content); diff != "" {
			w.t.Errorf("the accepted message differs from what was sent (-want +got):\n%s", diff)
		}
	}
	if times != 1 {
		w.t.Errorf("the message was accepted %d times", times)
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if w.model.whole == 0 || w.model.broken > 0 {
		w.t.Errorf("%d requests had the whole message and %d a part of it: %s", w.model.whole, w.model.broken, w.model.wrong)
	}
}

// checkFiles: the session has the files of the messages, accepted and whole, and nothing else; so nothing else counts for
// its quota. No victim has the store open.
func (w *world) checkFiles(session string, messages ...*filesMessage) {
	w.t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, m := range messages {
		for _, data := range m.data {
			want[sumOf(data)] = fmt.Sprintf("accepted, %d bytes in %d chunks", len(data), api.Chunks(int64(len(data))))
		}
	}
	bytesOf := map[string][]byte{}
	path := filepath.Join(w.args[1], "openworker.db")
	query(w.t, path, `SELECT f.sha256, f.state, c.data FROM files f JOIN sessions s ON s.key = f.session
		LEFT JOIN chunks c ON c.file = f.key WHERE s.id = '`+session+`' ORDER BY f.key, c.number`, func(scan func(into ...any) error) error {
		var sum, state string
		var data []byte
		if err := scan(&sum, &state, &data); err != nil {
			return err
		}
		bytesOf[sum] = append(bytesOf[sum], data...)
		got[sum] = fmt.Sprintf("%s, %d bytes in %d chunks", state, len(bytesOf[sum]), api.Chunks(int64(len(bytesOf[sum]))))
		return nil
	})
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the store's files differ from those of the messages (-want +got):\n%s", diff)
	}
	for sum, data := range bytesOf {
		if sumOf(data) != sum {
			w.t.Errorf("the bytes under %s have the hash %s", sum, sumOf(data))
		}
	}
	query(w.t, path, `SELECT count(*) FROM chunks WHERE file NOT IN (SELECT key FROM files)`, func(scan func(into ...any) error) error {
		var orphans int
		err := scan(&orphans)
		if orphans > 0 {
			w.t.Errorf("%d chunks belong to no file", orphans)
		}
		return err
	})
}

// Whenever a process dies, from the first byte of an upload to the answer of the model: a client that says the same again
// ends with one turn that has all files.
func TestAKillDuringAMessageWithFilesLosesNoFileAndSendsNoPart(t *testing.T) {
	t.Parallel()
	act := func(w *world) string {
		m := newFilesMessage(w.t, "say files")
		w.model.sent = m
		id := w.create("s")
		r := w.finish(w.send(id, "1", "", m.parts...))
		if r.Status != api.StatusCompleted {
			w.t.Errorf("the result is %+v", r)
		}
		w.checkMessage(id, m)
		w.atEnd = func() { w.checkFiles(id, m) }
		return id
	}
	killEverywhere(t, []scenario{
		{name: "files that the Go package uploads at responses", args: []string{"-face", "go", "-protocol", "responses"}, act: act},
		{name: "files within the message at messages", args: []string{"-protocol", "messages"}, act: act},
	})
}

// What a death left of an upload counts for nobody's quota twice: a session takes as many files as ever.
func TestASessionTakesAsManyFilesAsEverAfterAKillWithinAnUpload(t *testing.T) {
	t.Parallel()
	m := newFilesMessage(t, "say files")
	w := newWorld(t, "-face", "go")
	w.model.sent = m
	w.next = [][]string{{"-kill", "upload.chunk.after#4"}, {"-kill", "upload.commit.before#1"}, {"-kill", "append.after/turn_accepted#1"}}
	id := w.create("s")
	w.finish(w.send(id, "1", "", m.parts...))
	if w.deaths != 3 {
		t.Fatalf("%d victims died, 3 should have", w.deaths)
	}
	w.checkMessage(id, m)
	w.check(id)
	path := filepath.Join(t.TempDir(), "more.txt")
	upload := func(n int) error {
		if err := os.WriteFile(path, fmt.Appendf(nil, "file %d", n), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := w.try(chaos.Command{Op: "upload", Session: id, Parts: []chaos.Part{{File: path}}})
		return err
	}
	n := len(m.data)
	for ; n < api.MaxSessionFiles; n++ {
		if err := upload(n); err != nil {
			t.Fatalf("file %d of %d: %v", n+1, api.MaxSessionFiles, err)
		}
	}
	if err := upload(n); api.CodeOf(err) != api.CodeAttachmentQuota {
		t.Errorf("file %d: %v, want %s", n+1, err, api.CodeAttachmentQuota)
	}
	w.close()
}
