// Package document reads YAML files that people write, so that whatever is wrong in one is told with the place
// where it stands, and all of it at once.
//
// [Parse] makes a tree of a file's text: each [Value] knows its line, its column and its path ("limits.maxModelCalls").
// The caller goes through the tree with [Document.Map], [Document.List], [Document.Text] and the like, each of which
// either hands on what is there or notes a [Fault] and goes on. [Document.Err] is what came together, as one error.
//
// A file is at most [MaxBytes] long and has at most [MaxTokens] of what the parser takes apart. An alias is the value
// that it names, merge keys are resolved, and with them a tree has at most [MaxValues] values, [MaxDepth] deep: what
// multiplies itself is refused before it is built. A key that stands twice is a fault, and so is a second document.
//
// Imports: api, goccy/go-yaml.
package document
