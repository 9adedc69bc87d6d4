// Package model is the seam between the runtime and a language model: the [Provider] interface, the
// request and response that cross it, and one typed error. Package model/modeltest is the suite that
// every provider passes; model/scripted is an offline provider, model/openaichat speaks to any server of
// the Chat Completions protocol.
//
// A provider makes one attempt a call: it never retries, reads no environment, and reports an answer
// only when the stream's end mark has come. Retries, their times and their journal are the runtime's.
//
// Imports: api, internal/strictjson.
package model
