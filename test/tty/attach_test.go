//go:build unix

package tty

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// file makes a file in the place, which is home as well.
func (p *place) file(name string, data []byte) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// AT1: files stand above the input until they are sent, and with their message from then on.
func TestFilesAreAttachedInAChat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("my notes.txt", []byte("a note"))
	photo := p.file("photo.png", picture(t))
	s := p.sit("chat")
	s.See(t, "/help")
	s.press("/att\t~/my\t")
	s.See(t, `> /attach ~/my\ notes.txt`)
	s.press(enter)
	s.See(t, "\n+ my notes.txt (text/plain, 6 bytes)\n>")
	s.press("/attach \x1b[200~'" + photo + "' \x1b[201~" + enter) // as terminals paste what is dropped on them
	s.See(t, "\n+ my notes.txt (text/plain, 6 bytes)\n+ photo.png (image/png, 30 × 20, ")
	s.press("/attach none.txt" + enter)
	s.See(t, "it is not there; check its name", "> /attach none.txt")
	s.press(ctrlC)
	s.say("look")
	s.See(t, "\n> look\n  + my notes.txt (text/plain, 6 bytes)\n  + photo.png (image/png, ", "message 1 of")
	session := s.session()
	s.Gone(t, "30 × 20")
	s.say("and now")
	s.See(t, "message 2 of")
	s.press(ctrlD)
	s.leaves(0)

	s = p.sit("chat", "--session", session, "--attach", photo)
	s.See(t, "\n> look\n  + my notes.txt (text/plain, 6 bytes)\n  + photo.png (image/png, ", "\n+ photo.png (image/png, 30 × 20, ")
	s.press("/detach" + enter)
	s.See(t, "taken back: photo.png")
	s.Gone(t, "30 × 20")
	s.press(ctrlD)
	s.leaves(0)
}
