// Package main keeps secrets out of what is stored and of what a model is sent: with the guardrail that ships, and with
// one of the program's own.
//
//	go run ./examples/redact
//
// It keeps its state in ./state of the directory that it is started in, and speaks to an offline model.
//
// Imports: the root package, guard/sensitive, model/scripted.
package main
