package main

import (
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// staging keeps the files of the next message of a chat that is no terminal's.
type staging struct {
	m    *Main
	tray attached.Tray
}

// take carries out a line that is /attach or /detach, and says whether it was one. Another is the message: with a second
// slash in front of either name it is sent with one.
func (s *staging) take(line string) (message string, done bool, err error) {
	command, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch command {
	case "/attach":
		return "", true, s.attach(strings.TrimSpace(argument))
	case "/detach":
		files, err := s.tray.Drop(strings.TrimSpace(argument))
		for _, f := range files {
			s.m.note("taken back: %s", f)
		}
		return "", true, err
	case "//attach", "//detach":
		return strings.Replace(line, "/", "", 1), false, nil
	}
	return line, false, nil
}

func (s *staging) attach(argument string) error {
	if argument == "" {
		s.list()
		return nil
	}
	paths, err := attached.Paths(argument, s.m.home())
	if err != nil {
		return err
	}
	files, err := attached.Read(paths...)
	if err != nil {
		return err
	}
	if err := s.tray.Put(files...); err != nil {
		return err
	}
	s.m.noteFiles(files)
	return nil
}

// list says what goes with the next message.
func (s *staging) list() {
	if len(s.tray.Files()) == 0 {
		s.m.note(attached.Nothing)
		return
	}
	s.m.note(attached.Heading)
	for _, f := range s.tray.Files() {
		s.m.note("  %s", f)
	}
}

// left is the error of an end of input behind files that no message followed.
func (s *staging) left() error {
	names := strings.Join(s.tray.Names(), ", ")
	if names == "" {
		return nil
	}
	return advised{api.Errorf(api.CodeInvalidRequest, "attached and not sent: %s; no message followed", names),
		"write a line behind it, or send files alone with openworker run --attach"}
}
