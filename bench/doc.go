// Command bench measures OpenWorker and the floor of the machine in one run, and prints a table and JSON.
//
// A turn is: a user message, a model call, a tool call in the process, a model call, text. The model is a
// zero-latency server in another process, reached by streaming Chat Completions over loopback. The floor is
// the same loop through the same client without any durability. Only ratios of one run mean anything: the
// disk and the cores of a shared machine vary by more than the differences that matter.
//
// Imports: the root package, model, store/sqlite, the fake model server.
package main
