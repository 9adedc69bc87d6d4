// Command bench measures OpenWorker, the floor of the machine and its peers in one run, and prints tables and
// JSON.
//
// A turn is: a user message, a model call, a tool call in the process, a model call, text. The model is a
// zero-latency server in a process of its own, reached over loopback. Each system is a process that speaks
// [github.com/openworkerai/openworker/bench/protocol]: OpenWorker is one too, so that processor, memory and disk
// are counted for all of them alike, from outside. The server asks each time for another sum, so a system that
// left out a call or a tool is noticed, and the run fails. Within a round the systems take turns; medians of
// the rounds are told. Only ratios of one run mean anything: the disk and the cores of a shared machine vary by
// more than the differences that matter.
//
// Peers stand in peers/, each with its own module or package, so that the requirements of OpenWorker stay its own.
// What can't be built on a machine is named with the reason, and the run ends with an error.
//
// Imports: the root package, model, model/openaichat, store, store/sqlite, tool, bench/protocol.
package main
