// Package strictjson reads JSON as the strictest of those do who read it after us: what passes here has one meaning, and
// no provider refuses it. encoding/json lets more pass: an object in which a key stands twice, numbers that a float64 has
// no place for, text that is not UTF-8.
//
// Whatever becomes a part of a conversation is sent with each later request. A call's arguments are therefore read with
// [Object] before they are stored (RU5, RU8, IM3).
//
// Imports: nothing of the module.
package strictjson
