// Package openaichat speaks OpenAI's Chat Completions protocol, streamed, to any server that offers it. Servers
// deviate, so the decoder is our own: it takes what it can understand without guessing, and an answer that it
// cannot take whole is a failed attempt.
//
// An attempt is: encode (encode.go, by hand into a pooled buffer, since a history is encoded at every call),
// one POST (stream.go), events off the wire within bounds, chunks into an answer (chunk.go, calls.go, answer.go),
// failures into kinds (model/internal/wire).
//
// The end mark. An answer counts when the stream said [DONE], or when a finish_reason came and the body then
// ended in order: by then all content is there. A body that ends without either, or is torn off before
// [DONE], is kind cut. An error object wherever it stands makes the attempt an error. A JSON body in place of
// a stream is its own end mark.
//
// Stop reasons go by the content: calls are calls whatever finish_reason says, except that "length" is an
// output limit and "content_filter" a filter whatever else is there.
//
// Calls are kept apart by index, else by ID, else by order. Fragments that could mean two things are joined:
// what is joined wrongly does not parse and is never run (RU8), what is split wrongly might run twice.
//
// Files go as the protocol has them, images as data URLs and PDFs as files with their names, which many servers do not
// take. What a user says in a row stays a message each, and calls are sent whether their tools are declared or not:
// the protocol's owner takes both.
//
// Imports: model, model/facts, model/internal/wire, api.
package openaichat
