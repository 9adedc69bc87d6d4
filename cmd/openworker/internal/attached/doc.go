// Package attached has the files that go with a message, as somebody at a command line or in a chat handles them.
//
// [Paths] reads paths as people type, quote and drop them, and [Complete] ends one. [Read] takes a [File] into memory and
// checks it; [Check] holds a message with files against its bounds. A [Tray] keeps the files of the next message until that is
// sent. [Pieces] and [Files] show a message that was accepted, and [References] tell programs of its files. Whatever is returned to be shown is fit for a terminal.
//
// Imports: the root package, api, internal/content; internal/plain of this command.
package attached
