// Package tty holds the tests of the command line as a person meets it: the built program on a pseudo-terminal, with
// keys going in and a screen to read. What is tested elsewhere without a terminal is not tested here again.
//
// Imports: in its tests, creack/pty, x/term and package screen.
package tty
