// Package servicetest is the behaviour suite of api.Service: what every face and every store owes its
// callers, tried through the interface alone (FA9).
//
// A [Host] makes empty stores; a [Store] is opened by any number of processes, together or one after
// another, and a [Process] can be stopped or crashed. A [World] holds what a process acts in: a model and
// tools, in this package's own plain types, which the host adapts to those of its seams. Each test begins
// with an empty store and ends with an audit of every session that it made: numbers gap-free, one end for
// each run, one result for each call, in order.
//
// Tests wait for conditions and never for a time, so a host may run them under a false clock (see
// [Host].Around) or a real one.
//
// Imports: the standard library, api.
package servicetest
