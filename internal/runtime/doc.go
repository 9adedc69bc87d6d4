// Package runtime is the only place where effects happen.
//
// Its deciding parts are synchronous machines that start no goroutine and read no clock: an [Actor] for
// each session with work, a [Leaser] for the process's lease, a [Claimer] for work that nobody holds, and a
// [Hub] for those who watch. A machine takes an input and answers with actions. The simulation drives the
// machines with a seeded scheduler; in a program the [Runtime] does, a thin shell of goroutines, timers and
// I/O around them.
//
// Three points wait for the disk: before an input is acknowledged, before a side effect starts, and before
// a result is told. What only a repeatable effect depends on commits while that effect runs.
//
// Imports: api, guard, internal/engine, internal/policy, internal/strictjson, store, model, tool.
package runtime
