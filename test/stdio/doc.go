// Package stdio runs the openworker binary as the child of a client that keeps to no rule: lines of any length and content,
// requests in any order, a client that stops reading, goes away or is killed. Whatever comes, the runtime answers or refuses
// it and lives on. A recorded session of each version of the protocol is played to it (spec/transcripts).
//
// Imports: nothing but in tests.
package stdio
