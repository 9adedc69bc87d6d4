// Package conformance runs the scenarios of spec/conformance through faces of the product and holds what comes out against
// what they expect (FA9): through the Go package in this process, and through `openworker stdio`, to which it speaks in plain
// lines of JSON, without a client of ours. The TypeScript SDK runs the same files with a runner of its own.
//
// A scenario is an application (tools, guardrails, hooks and agents by behaviour), a scripted model and steps. The model is
// the program test/modelserver, a process of its own for each scenario: no request of any face may break its protocol. Each
// code of the table of errors must be met by a scenario, or stand in spec/conformance/codes.json with the reason why none
// can meet it.
//
// The files: scenario_test.go has the form, values_test.go references and generated values, match_test.go expectations,
// application_test.go the behaviours, steps_test.go the steps, and a file begins with the name of its face.
//
// Imports: the standard library alone outside of its tests.
package conformance
