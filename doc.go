// Package openworker embeds durable agents in a Go program.
//
// An agent is a named, immutable definition. A session is one durable conversation with an agent. A
// message to a session starts a turn, and a [Run] is the handle on its execution. Whatever a session
// does is an event in its journal, which is written before the world sees the effect; so a process can
// die at any instant, and the next one that opens the same state directory goes on where it stood,
// without asking a model twice for an answer that it has and without repeating an action that ran.
//
//	harness, err := openworker.Open(ctx, openworker.Options{
//		StateDir:  "./state",
//		Providers: []openworker.Provider{provider},
//	})
//	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
//		Name:         "support",
//		Instructions: "Help the customer.",
//		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "gpt-5-mini"},
//	})
//	session, err := agent.NewSession(ctx)
//	save(session.Reference()) // a small JSON value; ResumeSession finds the session again
//	result, err := session.Run(ctx, "Where is my parcel?")
//
// The ways to send a message: [Session.Run] waits for the result, [Session.Send] returns as soon as the
// message is durable, [Session.RunStreamed] gives the events as they come, and [Session.RunWith] goes to
// the end and answers approvals and the like through handlers. None of them ties the turn to its caller:
// who stops waiting, stops only waiting.
//
// A result may say that the run is interrupted: it waits for a person ([Result].Interactions) or for
// something that is missing ([Result].WaitingFor), and goes on by itself once it is there.
//
// Options are plain structs whose zero value is the default, and every method that takes them takes none
// or one. Every error is an [*Error] with a code out of a closed list: errors.Is(err,
// openworker.ErrSessionBusy). All methods may be called concurrently, unless they say otherwise. Most types
// here are those of package api, so nothing else needs to be imported but a provider; their fields are shown
// by "go doc github.com/openworkerai/openworker/api Answer" and the like, and those of guardrails and hooks by
// "go doc github.com/openworkerai/openworker/guard Guardrail". Marks such as RU3 are the numbers
// of docs/requirements.md.
//
// Imports: api, guard, internal/content, internal/service, store, store/sqlite, model, tool.
package openworker
