// Package main has each action reviewed by a second model before it runs: what it allows runs, what it denies does not,
// and a person is asked where it is not sure.
//
//	go run ./examples/reviewer
//
// It keeps its state in ./state of the directory that it is started in. Both models are offline ones: replace the
// provider, and name a model that you trust to judge as the reviewer.
//
// Imports: the root package, model, model/scripted.
package main
