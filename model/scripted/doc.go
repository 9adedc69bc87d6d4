// Package scripted is a provider that needs no network: the one of every test, and the offline model that
// `openworker` talks to when no server is configured.
//
// With a [Config.Script] it answers as the script says, after checking each request with [model.Check], and
// remembers the requests and what was wrong with them. Without one it is the [Demo] model, a few honest rules.
// A [Reply] says everything that an attempt can do: text, reasoning and calls in pieces, delays, an error,
// a cut stream, silence, a panic.
//
// Nothing here is random or reads a clock: a reply that is a function of the request is the same in
// another process, so a run that is killed and recovered sees the same model.
//
// Imports: model, api.
package scripted
