// Package guard is what an application adds to decide what an agent may see and do: guardrails, hooks and the
// deny callback (GR, AP2).
//
//   - A [Guardrail] looks at a text at one or several points of its way: what the user says and attaches, what a
//     model is sent, what a tool returned, what a model answers. It lets the text pass, gives another one, or blocks it.
//   - A [Hook] sees a whole request before a model does, or a tool's result before anybody else, and may refuse
//     the one and replace the other.
//   - A [Deny] function is the application's own hard check of an action: no approval and no grant gets past it.
//
// All of them are registered with a process, by name where agents and turns choose them. They may be called
// concurrently and, after a crash, again with the same input: they must be repeatable. One that fails, panics or
// does not answer in time lets nothing pass.
//
// Imports: api, model.
package guard
