// Package modeltestserver is a Chat Completions server for tests: strict about what it is sent, scripted in what it
// answers. It listens on loopback, so that the tests of other packages, the chaos runs and the benchmark in
// another process can use one server.
//
// It refuses with 400 what real servers refuse (a call without its result, a result without its call, results
// that do not directly follow their calls, IDs that recur, arguments that are not JSON, unknown roles and
// fields) and remembers each refusal: a test ends with a look at [Server.Refusals].
//
// Imports: the standard library.
package modeltestserver
