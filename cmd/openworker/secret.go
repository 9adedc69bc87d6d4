package main

import (
	"os"

	"golang.org/x/term"
)

// terminalSecret reads a line without showing it. restore gives the terminal back as it was, also while a read waits.
func terminalSecret() (read func() (string, error), restore func(), err error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, nil, err
	}
	read = func() (string, error) {
		line, err := term.ReadPassword(fd)
		return string(line), err
	}
	return read, func() { _ = term.Restore(fd, before) }, nil
}
