// Package client speaks to a runtime in the protocol of package rpc, over a pair of pipes (FA2).
//
// A [Client] is api.Service, so that whatever works with a service in its own process works with one in another. Tools,
// guardrails and hooks that are bound to it, and the check and the credentials of its [Config], run here: the runtime
// asks for each call. Their panics are contained, and become what they are in one process.
//
// Errors have the codes that the service gave them. There is one more: runtime_exited, when the runtime or the connection
// is gone. What was under way then has been accepted or not, and a new runtime on the same state tells which: the
// same SubmissionID or IdempotencyKey is never taken twice.
//
// Whoever gives a request up has the runtime's answer all the same, unless that takes more than five seconds: so an
// error of code cancelled says that nothing was changed, and a submission that was accepted meanwhile is told as such.
//
// Imports: api, guard, model, tool, transport/rpc; jrpc2 for its error type.
package client
