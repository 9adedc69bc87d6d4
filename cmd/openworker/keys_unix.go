//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminalKeys has the terminal give each key as it comes and echo none. Unlike in raw mode Ctrl-C is a signal
// still, and what is written needs no carriage returns.
func terminalKeys() (size func() (width, height int), restore func(), err error) {
	fd := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	each := *before
	each.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	each.Cc[unix.VMIN], each.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &each); err != nil {
		return nil, nil, err
	}
	size = func() (int, int) {
		width, height, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return 0, 0 // the editor has its own idea then
		}
		return width, height
	}
	return size, func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil
}
