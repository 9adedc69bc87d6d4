// Package google speaks the Gemini API's generateContent, streamed, as Google AI Studio serves it. Vertex AI, whose
// addresses and credentials are others, is not spoken.
//
// Requests and answers are written and read here over the types of google.golang.org/genai; its client is not used,
// since it cannot be exact. It decodes a call's arguments into floats, so that an ID of 64 bits comes out as
// another ID; it stops at a comment in a stream and takes a stream without an end for whole; it writes to the
// process's log; it turns the whole history into maps at each call. The tests have it as their reference: what is
// sent is what it sends, and what it reads of a plain stream is what is read here.
//
// An attempt is: encode (encode.go, contents.go), one POST (stream.go), chunks into an answer (chunk.go, answer.go),
// failures into kinds (model/internal/wire).
//
// The end mark. An answer counts when a finishReason or a blocked prompt was told and the body then ended in order.
// A finishReason that is no end (a malformed call, OTHER without calls) is a failed attempt.
//
// Signatures. A model signs pieces of its answer: texts, thoughts, calls. A signature is kept as [model.Private]
// with the length of the text that it stands on, and goes back on that very piece, to the provider and model that
// made it; where the text is no longer the one that was signed, without it. Newer models refuse a call of the
// turn under way that has none: calls of others get the placeholder that the API documents. Thoughts without a
// signature are not sent back.
//
// A content of results holds nothing else, since newer models refuse what is mixed; what a user says in a row is one
// content, since roles alternate. A document's name is not told: only Google's cloud has a field for it. A tool whose name begins with a digit or a dash, but for
// underscores, is "_" and its name to Gemini, which wants a letter or an underscore first.
//
// Imports: model, model/facts, model/internal/wire, api.
package google
