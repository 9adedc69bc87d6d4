package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// checkMessage refuses what no session takes, before one is made for it. With files a message needs no text.
func checkMessage(text string, files []attached.File) error {
	switch {
	case strings.TrimSpace(text) == "" && len(files) == 0:
		return api.Errorf(api.CodeInvalidRequest, "the message is empty; give at least one character that is not white space")
	case len(text) > api.MaxMessageBytes:
		return api.Errorf(api.CodeInvalidRequest, "the message has more than %d bytes, which is the most that one may have", api.MaxMessageBytes)
	case !utf8.ValidString(text):
		return api.Errorf(api.CodeInvalidRequest, "the message is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		return api.Errorf(api.CodeInvalidRequest, "the message holds a NUL character at byte %d; leave it out", strings.IndexByte(text, 0))
	}
	return attached.Check(text, files)
}

// partsOf is what a message is made of behind its text.
func partsOf(files []attached.File, options openworker.TurnOptions) []openworker.Part {
	parts := []openworker.Part{options}
	for _, f := range files {
		parts = append(parts, f.Attachment)
	}
	return parts
}

// attach reads the files that --attach names.
func (m *Main) attach(names []string) ([]attached.File, error) {
	paths := make([]string, len(names))
	for n, name := range names {
		paths[n] = attached.Expand(name, m.home())
	}
	files, err := attached.Read(paths...)
	if err != nil {
		return nil, err
	}
	var tray attached.Tray
	return files, tray.Put(files...)
}

// shownFiles is how many files the right command line is shown with.
const shownFiles = 6

// oneFileEach is the error of files that stand behind --attach without one of their own, which is what a shell makes of a
// pattern; sent as a text, such a name would cost an answer. nil where none of the operands is the name of a file.
func (s *settings) oneFileEach(cmd *cobra.Command, args []string) error {
	var texts []string
	files := slices.Clone(s.attach)
	for _, arg := range args {
		if _, err := os.Lstat(arg); err == nil {
			files = append(files, arg)
		} else {
			texts = append(texts, shellWord(arg))
		}
	}
	if len(files) == len(s.attach) {
		return nil
	}
	right := []string{cmd.CommandPath()}
	for n, name := range files {
		if n == shownFiles {
			right = append(right, "…")
			break
		}
		right = append(right, "--attach", shellWord(name))
	}
	return misused("--attach takes one file each time, and is repeated: %s; a text that is also a file's name comes through standard input", strings.Join(append(right, texts...), " "))
}

// shellWord writes a text so that a shell reads it as one word.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./,:+@%=", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// home is what "~" stands for in a path, "" where that is not known.
func (m *Main) home() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	dir, _ := m.Lookup(name)
	return dir
}

// noteFiles says what goes with the next message.
func (m *Main) noteFiles(files []attached.File) {
	for _, f := range files {
		m.note("attached %s", f)
	}
}
