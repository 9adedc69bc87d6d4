// Package child runs the openworker binary as a client's child process in the protocol of package rpc, for tests. A [Runtime] is
// written to byte by byte, and what it writes is held against the protocol's own rules, whatever a test asks: each line is
// JSON in UTF-8 of at most 1 MiB, messages of several lines join to one, and standard error has nothing but log lines.
//
// Each runtime has a process group of its own. It is ended by its own process ID, at the latest when its test is over.
//
// Imports: transport/rpc.
package child
