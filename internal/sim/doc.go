// Package sim plays whole histories of the runtime in one goroutine: several processes over one store, with
// crashes, pauses, lost answers, late commits and impatient users, all drawn from one seed.
//
// The machines under test are the runtime's own: [runtime.Actor], [runtime.Leaser], [runtime.Claimer] and
// [runtime.Hub], with the functions that decide what an effect came to. The simulation stands in for the thin
// shell around them: clocks, timers, the store's calls, providers and tools. Everything that takes time is a
// task; the scheduler draws which of the tasks that are ready runs next, and nothing else decides an order.
// So a seed that fails fails again, and with a trace it tells how.
//
// A history has two parts. In the first, everything that can go wrong does. Then faults stop, and each turn
// must end or wait for a person, each open question is answered, and an idle session must take no step.
// Throughout, the journal is folded as it grows and held against what was promised: see truth.go for the
// journal, calls.go for who decides on a tool call, context.go for the conversation that a model sees, ledger.go for
// the world's side of effects, client.go and answer.go for what callers were told, files.go for the files of a session,
// upload.go and attach.go for the ways in which they come, import.go for what a conversation begins with.
//
// A [Plant] breaks one guarantee on purpose, to show that the simulation would notice.
//
// Imports: api, internal/content, internal/engine, internal/policy, internal/runtime, store, store/memstore, model, tool.
package sim
