// Package anthropic speaks Anthropic's Messages API, streamed, through Anthropic's own SDK.
//
// An attempt is: a body (encode.go, blocks.go), one POST by the SDK (stream.go), events into an answer (answer.go).
// The SDK gives the types of the protocol and makes the request. It keeps nothing of ours: it is told everything,
// reads no environment, retries nothing, and neither logs nor traces. Package wire splits the stream into events,
// which the SDK would do without a bound, and tells what has failed.
//
// The body. Head and answers are encoded by the SDK's types, users' messages by hand, so that a file is encoded once
// and straight into the body; the messages of a conversation that only grows are kept encoded ([model.Encoded]) and
// copied. So each item gives the same bytes whatever comes
// after it, and what depends on the whole conversation stands in the head. Users' items in a row are messages in a
// row, which the API takes as one; the results of an answer's calls are one message. The API refuses calls in a
// request that declares no tools: where none is, those that were called are declared by name, and forbidden.
//
// Caching. Three points of four: behind the tools, behind the system text, and the one that the API itself moves to
// the end of the conversation. Usage counts what was read from the cache and what was written to it as input.
//
// Reasoning goes back as it came, to its own provider and model; elsewhere it is left out as a whole (C08). With a
// budget the API wants the open turn to begin with reasoning: where another model began the turn, the call is made
// without. Models from 5.1 on bind reasoning to all that stands before it and refuse it when that has changed, by
// guidance for a turn or by compaction; they are asked to drop it instead.
//
// The end mark is the event message_stop; a stream that ends without it is kind cut. Stop reasons go by the
// content: calls are calls whatever the reason says, except that an answer cut off by max_tokens or by the context
// window is an output limit, and a refusal is filtered. A call that was cut off keeps the part of its arguments
// that came (C40). Blocks of types that we did not ask for are left out of the answer.
//
// Imports: model, model/facts, model/internal/wire, api, github.com/anthropics/anthropic-sdk-go/v2.
package anthropic
