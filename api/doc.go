// Package api is the contract that every face and every client of OpenWorker speaks: the [Service]
// interface, the data types that cross it, the public events, the one error type with its closed
// list of codes, the limits, and the capabilities of a host.
//
// Words: an agent is an immutable named definition; a session is one durable conversation with its
// execution state; a turn is one accepted message and all that follows from it; a run is the handle
// on a turn's execution; the journal is the session's append-only list of events.
//
// Spelling: options, results and state are camelCase in JSON; event types and the keys inside event
// data are snake_case. Plain option structs use their zero value as the default; a pointer field has
// three states (absent, cleared, set; see [Set]).
//
// Imports: the standard library only.
package api
