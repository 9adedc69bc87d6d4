// Package engine is the pure core: a session is a journal, and its state is a function of that journal.
//
//   - [Apply] folds one stored event into a [State].
//   - [Decide] turns a [Command] (a message, an answer, a cancel, the outcome of an effect, a take-over)
//     into events, or refuses it with a typed error and changes nothing.
//   - [Pending] selects the effects that a state asks for, and [Due] says when the session next needs a
//     process. Nothing else remembers work, so going on after a crash is the ordinary path: fold, then Pending.
//
// Pending never decides. What another build might decide otherwise (call IDs, verdicts, resolved limits,
// retry times) is a recorded fact. A state holds control facts and event numbers only, a few KB however
// long the session is; bodies are read by number into a [Transcript] when a request is built.
//
// The package knows no clock, no randomness, no context, no network and no file: [Env] brings time and IDs.
//
// Imports: api.
package engine
