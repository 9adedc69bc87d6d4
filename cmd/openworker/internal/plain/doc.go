// Package plain makes somebody else's text fit for a terminal: what a model, a tool or a user wrote must not steer it.
//
// Imports: the standard library only.
package plain
