// Package tool is the seam between the runtime and an action in the world: the [Tool] interface, what a
// call is told, and the answers of an inspection.
//
// A tool's call ID is its idempotency key: the runtime never starts a second attempt of a side effect
// on its own, and the window that no journal can close (the process dies between the effect and its
// record) is closed by a tool that hands the call ID to the system it acts on.
//
// Imports: api.
package tool
