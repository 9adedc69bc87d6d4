// Package service implements api.Service on the runtime and a store: it checks what comes in, looks up
// receipts before anything else, hands commands to the runtime, and answers reads from the journal and the
// lease alone, so that every process gives the same answer.
//
// Imports: api, guard, internal/runtime, internal/engine, internal/content, internal/definition, internal/policy, store, model, tool.
package service
