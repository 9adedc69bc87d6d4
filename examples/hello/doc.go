// Package main is the program of the README: an agent with a tool, a session, and a turn, offline.
//
//	go run ./examples/hello
//
// It keeps its state in ./state of the directory that it is started in.
//
// Imports: the root package, model/scripted.
package main
