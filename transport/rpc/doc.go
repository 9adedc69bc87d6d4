// Package rpc is the protocol that a client and a runtime on its standard input and output speak (FA2): JSON-RPC 2.0, one
// message a line. It holds the methods with the types of what they carry, how errors are told, and the lines.
//
// A line has at most [MaxFrameBytes], without its newline, each way. A longer one is refused with frame_too_large under its
// id, or under null where that is not to be found, and the connection goes on. A message that does not fit a line (a list, an
// agent with many tools, a request that a hook is to see) is sent as several lines of the method rpc/part, which other lines may
// stand between; see [Part].
//
// Both sides send requests. The client speaks first, with initialize: versions, what it can do, where credentials come from.
// It then calls what package api's Service has, method by method, and registers tools, guardrails and hooks, whose code runs
// in the client: the runtime calls it. Requests are worked on at once, in no order but that all wait for initialize: one that
// needs another's effect is sent when that one is answered. Events are fetched (event/next), so that a client that does not read a subscription
// holds up that one alone. A request is given up with the notification rpc/cancel; both sides take it.
//
// Imports: the standard library, api; jrpc2 for its channel and its error type.
package rpc
