// Command openworker talks to durable agents from a terminal, and shows what they did.
//
// [Main] is the program with everything that it touches as a field, so that tests run it in-process. Each
// command has a file of its own; what several share is: open.go (the store), choose.go (which provider's model answers,
// and why; what is configured is package config's), complete.go (what shells are offered), join.go (the session that is talked to, and whether this program can go on with it), terminal.go (the chat of a person,
// over package chatui), turn.go (following one turn in plain lines, Ctrl-C), ask.go (answering interactions there, over package decide), lines.go
// (what is typed there, or comes through a pipe), screen.go and progress.go (a turn on a terminal, and for whoever waits),
// timeline.go (a journal as lines) and advice.go (what to do about an error). Only this package reads the environment.
//
// message.go checks a message and reads the files that go with it, which are package attached's; staging.go keeps them
// between the lines of a chat that no person types. import.go and export.go carry conversations in and out.
//
// What sessions wait for is listed by approvals.go and answered by decisions.go, from any process. The guardrails that the
// program has are in guards.go; every harness that it opens has them, so that sessions which name them go on.
//
// doctor.go makes its checks in order and changes nothing. Agents in files are package agentfile's, and the faults of
// either kind of file come from package document.
//
// The demo starts the program again as its own worker, to have somebody to kill; see demo.go.
//
// Imports: everything of the module that is public; cobra, x/term.
package main
