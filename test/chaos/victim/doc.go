// Command victim is the program that the chaos tests kill: the service on a SQLite state directory, with
// tools of each effect class that write into a ledger, and points at which it ends or stops itself. With
// -face go its client is the Go package.
//
// Imports: the root package, api, guard, internal/service, model, model/anthropic, model/google, model/openai, model/openaichat,
// store, store/sqlite, tool, test/chaos.
package main
