// Package memstore is a complete [store.Store] in memory, for simulations and tests.
//
// Everything that happens to it happens inside a call: it has no goroutine, no clock and no randomness, so
// the same calls give the same answers. Several "processes" of one test share one *[Store]: each registers
// under its own id, [Store.Kill] makes one proven dead, and [Config].Fault decides the fate of appends.
// Slices that it returns are shared with it and must not be changed.
//
// Imports: api, store.
package memstore
