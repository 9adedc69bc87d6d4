// Package tool is the seam between the runtime and an action in the world: the [Tool] interface, what a
// call is told, and the answers of an inspection. [New] makes a Tool of a plain Go function; [Schema]
// checks the arguments that a model wrote before any body sees them.
//
// A tool's call ID is its idempotency key: the runtime never starts a second attempt of a side effect
// on its own, and the window that no journal can close (the process dies between the effect and its
// record) is closed by a tool that hands the call ID to the system it acts on.
//
// Imports: api, internal/strictjson; google/jsonschema-go to infer a schema, santhosh-tekuri/jsonschema to enforce one.
package tool
