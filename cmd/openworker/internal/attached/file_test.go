package attached

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// write makes a file in a directory and returns its path.
func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func picture(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAFileIsShownWithNameTypeAndSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := Read(write(t, dir, "notes.txt", []byte(strings.Repeat("a", 1536))), write(t, dir, "dot.png", picture(t, 30, 20)))
	if err != nil {
		t.Fatal(err)
	}
	if got := files[0].String(); got != "notes.txt (text/plain, 1.5 KiB)" {
		t.Errorf("%q", got)
	}
	if got := files[1].String(); !strings.HasPrefix(got, "dot.png (image/png, 30 × 20, ") || !strings.HasSuffix(got, " bytes)") {
		t.Errorf("%q", got)
	}
}

func TestSizesAreForPeople(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1.0 KiB", 1 << 20: "1.0 MiB", api.MaxFileBytes: "8.0 MiB"} {
		if got := Size(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
}

func TestAFileThatCannotBeSentIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct {
		name, path string
		code       api.Code
		says       string
	}{
		{"one that is not there", filepath.Join(dir, "none.txt"), api.CodeInvalidRequest, "none.txt\": it is not there; check its name"},
		{"a directory", dir, api.CodeInvalidRequest, "it is a directory; name the files in it"},
		{"a device", os.DevNull, api.CodeInvalidRequest, "it is no regular file; copy into one"},
		{"an empty file", write(t, dir, "empty.txt", nil), api.CodeInvalidRequest, "is empty"},
		{"one that is too large", write(t, dir, "large.txt", bytes.Repeat([]byte("a"), api.MaxFileBytes+1)), api.CodeAttachmentTooLarge, "has 8388609 bytes"},
		{"one of another kind", write(t, dir, "program.bin", []byte("\x7fELF\x00\x01")), api.CodeUnsupportedMedia, "program.bin\""},
		{"one that is cut off", write(t, dir, "half.png", picture(t, 30, 20)[:60]), api.CodeUnsupportedMedia, "half.png\""},
	}
	good := write(t, dir, "good.txt", []byte("good"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files, err := Read(good, tt.path)
			if api.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), filepath.Base(tt.path)+`"`) || files != nil {
				t.Errorf("%v, and %d files", err, len(files))
			}
			if name := api.AsError(err).Details["file"]; name != filepath.Base(tt.path) {
				t.Errorf("the error is about %q", name)
			}
		})
	}
}

// sized is a file of so many bytes.
func sized(name string, bytes int) File {
	return File{Attachment: &api.Attachment{Name: name, MediaType: "text/plain", Data: make([]byte, bytes)}, Path: "/" + name}
}

func many(n int) (files []File) {
	for range n {
		files = append(files, sized("f", 1))
	}
	return files
}

func TestTheBoundsOfAMessageWithFiles(t *testing.T) {
	t.Parallel()
	half := api.MaxMessageFileBytes / 2
	tests := []struct {
		name  string
		text  string
		files []File
		code  api.Code // "" for none
		says  string
	}{
		{"a long text without files", strings.Repeat("a", api.MaxBlockTextBytes+1), nil, "", ""},
		{"as much text as goes with files", strings.Repeat("a", api.MaxBlockTextBytes), many(1), "", ""},
		{"a byte more", strings.Repeat("a", api.MaxBlockTextBytes+1), many(1), api.CodeInvalidRequest, "32001 bytes; at most 32000"},
		{"as many bytes as a message takes", "hi", []File{sized("a", half), sized("b", half)}, "", ""},
		{"a byte more in files", "hi", []File{sized("a", half), sized("b", half), sized("c", 1)}, api.CodeAttachmentTooLarge, `with "c" the files of the message have 16777217 bytes together; at most 16777216`},
		{"as many blocks as a message takes", "hi", many(api.MaxBlocks - 1), "", ""},
		{"as many files alone", "", many(api.MaxBlocks), "", ""},
		{"a block more", "hi", many(api.MaxBlocks), api.CodeInvalidRequest, "at most 32"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Check(tt.text, tt.files)
			if api.CodeOf(err) != tt.code || tt.code != "" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestATrayKeepsTheFilesOfTheNextMessage(t *testing.T) {
	t.Parallel()
	var tray Tray
	if _, err := tray.Drop(""); err == nil || !strings.Contains(err.Error(), "nothing is attached") {
		t.Errorf("from an empty tray: %v", err)
	}
	a, b, c := sized("a", 1), sized("b c", 2), sized("c", 3)
	if err := tray.Put(a, b); err != nil {
		t.Fatal(err)
	}
	if err := tray.Put(c, a); err == nil || !strings.Contains(err.Error(), "attached already") {
		t.Errorf("the same file again: %v", err)
	}
	if err := tray.Put(sized("large", api.MaxMessageFileBytes)); api.CodeOf(err) != api.CodeAttachmentTooLarge {
		t.Errorf("too much: %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b c"}, tray.Names()); diff != "" {
		t.Errorf("what was refused left a trace: %s", diff)
	}
	if _, err := tray.Drop(""); err == nil || !strings.Contains(err.Error(), "name one, or all: a, b c") {
		t.Errorf("without a name: %v", err)
	}
	if _, err := tray.Drop("z"); err == nil || !strings.Contains(err.Error(), `no file "z" is attached; there are a, b c`) {
		t.Errorf("an unknown name: %v", err)
	}
	if got, err := tray.Drop(`"b c"`); err != nil || len(got) != 1 || got[0].Name != "b c" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := tray.Drop(""); err != nil || len(got) != 1 || got[0].Name != "a" {
		t.Errorf("the only one: %v, %v", got, err)
	}
	tray.Back(b, c)
	sent := tray.Take()
	if err := tray.Put(a); err != nil {
		t.Fatal(err)
	}
	tray.Back(sent...)
	if diff := cmp.Diff([]string{"b c", "c", "a"}, tray.Names()); diff != "" {
		t.Errorf("what comes back does not stand before: %s", diff)
	}
	if got, err := tray.Drop("all"); err != nil || len(got) != 3 || len(tray.Files()) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAMessageIsShownWithItsFiles(t *testing.T) {
	t.Parallel()
	content := []api.ContentBlock{
		api.TextBlock("look"),
		{Type: api.BlockImage, Name: "a\x1b[2J\u202e.png", Source: &api.Source{Type: api.SourceAttachment, ID: "s-a1", MediaType: "image/png", Size: 2048, SHA256: "00"}},
		api.TextBlock("and compare"),
		{Type: api.BlockDocument, Name: "b.pdf", Source: &api.Source{Type: api.SourceAttachment, ID: "s-a2", MediaType: "application/pdf", Size: 3 << 20}},
	}
	blocks := FromHistory(content)
	want := []Piece{{Text: "look"}, {"+ a[2J.png (image/png, 2.0 KiB)", true}, {Text: "and compare"}, {"+ b.pdf (application/pdf, 3.0 MiB)", true}}
	if diff := cmp.Diff(want, Pieces("look\n\nand compare", blocks)); diff != "" {
		t.Error(diff)
	}
	if got := Brief("look\n\nand compare", blocks); got != "look and compare + a[2J.png (image/png, 2.0 KiB) + b.pdf (application/pdf, 3.0 MiB)" {
		t.Errorf("%q", got)
	}
	if got := Brief("", blocks[3:]); got != "b.pdf (application/pdf, 3.0 MiB)" {
		t.Errorf("%q", got)
	}
	if diff := cmp.Diff([]Piece{{Text: "hi"}}, Pieces("hi", nil)); diff != "" {
		t.Error(diff)
	}
	if blocks[1].ID != "s-a1" || blocks[1].SHA256 != "00" {
		t.Errorf("%+v", blocks[1])
	}
}
