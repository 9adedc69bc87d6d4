// Package providers holds the tests of what must be the same whichever provider answers: the harness with the
// official SDKs on one side and a server that is as strict as the real ones on the other, in memory and with a
// clock of its own. Faults end as they should with each attempt in the journal; a conversation may change its
// provider at every turn; and every request of the simulation, and every one that is well-formed, is one that each of the four servers takes.
//
// Imports: everything; no other package imports it.
package providers
