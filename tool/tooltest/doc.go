// Package tooltest is the suite that every tool passes: call [Run] from the tool's own tests. It holds a
// tool to what the runtime relies on: a declaration that does not change, arguments that its schema
// covers, an end soon after its context's, calls side by side, and an inspection that tells the truth
// twice.
//
// Imports: api, tool.
package tooltest
