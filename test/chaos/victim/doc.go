// Command victim is the program that the chaos tests kill: the service on a SQLite state directory, with
// tools of each effect class that write into a ledger, and points at which it ends or stops itself.
//
// Imports: api, internal/service, model, model/openaichat, store/sqlite, tool, test/chaos.
package main
