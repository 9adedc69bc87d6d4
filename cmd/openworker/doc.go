// Command openworker talks to durable agents from a terminal, and shows what they did.
//
// [Main] is the program with everything that it touches as a field, so that tests run it in-process. Each
// command has a file of its own; what several share is: open.go (the store and the choice of a model),
// join.go (the session that is talked to, and whether this program can go on with it), terminal.go (the chat of a person,
// over package chatui), turn.go (following one turn in plain lines, Ctrl-C), ask.go (answering interactions there), lines.go
// (what is typed there, or comes through a pipe), screen.go and progress.go (a turn on a terminal, and for whoever waits),
// timeline.go (a journal as lines) and advice.go (what to do about an error). Only this package reads the environment.
//
// The demo starts the program again as its own worker, to have somebody to kill; see demo.go.
//
// Imports: everything of the module that is public; cobra, x/term.
package main
