// Package screen is a terminal for tests of programs that draw: it takes what a program writes, and tests wait for
// what stands on it.
//
// Imports: charmbracelet's x/vt and ultraviolet.
package screen
