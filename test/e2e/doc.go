// Package e2e runs the openworker binary as people and programs do: from a pipe, beside another process on the
// same directory, and killed in the middle. The model is the strict server in the test's process, or the
// offline one.
//
// Imports: nothing but in tests.
package e2e
