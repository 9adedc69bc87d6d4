// Package main is a loop over approvals and questions in a terminal: the run goes on by itself, and stops where a
// person is asked.
//
//	go run ./examples/approvals
//
// It keeps its state in ./state of the directory that it is started in, and speaks to an offline model. What is left
// open when it ends can be answered later: openworker --state-dir ./state approvals lists it.
//
// Imports: the root package, model/scripted.
package main
