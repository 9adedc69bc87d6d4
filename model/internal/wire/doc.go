// Package wire is what all providers over HTTP share, so that a fault means the same at each: a client that
// goes nowhere but to the address it was given, a watch over one exchange (silence, bounds, what was refused),
// the classes of errors, and what is counted.
//
// An adapter makes a [Watch] for an attempt, has its SDK or its own code make one request in the watch's context
// over a client of [NewClient], and hands whatever error comes out of it to [Watch.Error], which knows better
// than the SDK what has happened: the watch has seen status, headers and the first bytes itself. Error objects
// inside a stream go to [Watch.Fault].
//
// Imports: api, model.
package wire
