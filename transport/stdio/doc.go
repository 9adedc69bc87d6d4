// Package stdio is the face for managed subprocesses (FA2): a runtime that a client starts, and speaks to over its standard
// input and output in the protocol of package rpc.
//
// [Serve] runs one connection. It opens the host when the client has said what it is made of (initialize), answers the methods
// of api.Service with it, and stands in for the client's tools, guardrails and hooks: each call of one is a request to the
// client. Requests are answered in the order in which they are done, so that one that waits holds up no other. Events wait in
// the host until the client fetches them.
//
// When the input ends, what was read is answered, whatever waits is told that it is closed, and the host stops as a program
// does that ends well. Bodies that run in the client are not known to have ended then: nothing is stored of them, and
// whoever opens the store next finds out (RE3).
//
// Imports: api, guard, model, tool, transport/rpc; jrpc2.
package stdio
