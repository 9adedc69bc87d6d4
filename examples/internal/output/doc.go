// Package output runs the main function of an example for its test.
//
// Imports: the standard library.
package output
