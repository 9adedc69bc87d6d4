// Package content knows what a message may be made of, what a file is by its bytes, and what a conversation must be like
// to be imported. It reads and checks; it stores nothing and asks nobody.
//
// [Blocks] checks the blocks of a message and [Inspect] the bytes of a file, [Import] a conversation that a session is to
// begin with, and [Portable] writes one that Import takes. [Bounds] are all limits in one table, which the documentation
// shows.
//
// Imports: api, internal/strictjson.
package content
