// Package openai speaks OpenAI's Responses API, streamed and without state: nothing is stored at the provider, the
// whole conversation goes with each request, and a model's reasoning comes back sealed and returns in its place.
//
// An attempt is: encode (encode.go and items.go, with the SDK's types, each item once, and by hand what may hold files), one POST by the SDK over the
// client of model/internal/wire (stream.go), events into an answer (event.go, answer.go). Of the SDK only packages
// responses, option, param and shared are used: its root takes minutes to compile. Its service reads no environment,
// its retries are off. Its reader of streams is not used: it bounds no event, and its union of all events takes six
// times as long to decode.
//
// The end mark is the event response.completed, response.incomplete or response.failed. A stream that ends without
// one is kind cut.
//
// What is streamed counts: an item's text is what was emitted of it. The event that ends an item, and the one
// that ends the answer, add what had not come before, since some servers leave out the small events, or all of them.
// Pieces of two texts mixed with each other, or an end that contradicts the pieces, break the protocol.
//
// Stop reasons go by the content: calls are calls whatever the status says, except that an incomplete answer, or
// one with an incomplete call, is an output limit, and one that the filter stopped is filtered.
//
// Reasoning goes back as the whole item that came, in front of what it led to, and only to the model that gave
// it. The API refuses it alone, so it is left out where what followed it is gone. Other items go back
// without the provider's IDs, which it would look up in what it has not stored.
//
// Imports: api, model, model/facts, model/internal/wire.
package openai
