// Package chaos ends, stops and starves real processes and checks what is left.
//
// A victim (victim/) is a small program around the service, on a SQLite state directory. The test drives it
// over a pipe with [Command]s. Its tools write each effect into a ledger outside the state directory, and its
// model is a strict server in the test's process, so that effects and requests are counted where no crash can
// lose them. A victim can be told to kill or stop itself at the n-th time that it reaches a named point.
//
// A scenario is written as a client that sends again what was not acknowledged. It is run once undisturbed,
// which lists the points that it reaches, then once for each point with a kill there and a second victim that
// goes on. Both runs must come to the same. Where two victims answer at once, what may come out depends on which was
// faster: then what happened must be what was acknowledged.
//
// Imports: api.
package chaos
