// Package protocol is how a system under measurement speaks with the driver of the benchmark.
//
// A system is a process. It prints {"ready":true} when it is open, then answers each line on its standard
// input with one line of JSON, and ends at the end of its input:
//
//	load SESSIONS SECONDS TURNS   run so many sessions at once for so long, each replaced after so many turns
//	turns N                       run N more turns of the one long session, which outlives the process
//
// What it prints about time it measured itself; memory, processor and disk are measured from outside.
//
// This package stands twice, byte for byte: in the module of OpenWorker, and in a module without requirements
// that the peers' modules can use without taking on the versions of ours.
//
// Imports: nothing but the standard library.
package protocol
