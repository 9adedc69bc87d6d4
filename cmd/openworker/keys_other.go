//go:build !unix

package main

// terminalKeys is nil where the system edits lines itself.
var terminalKeys func() (size func() (width, height int), restore func(), err error)
