// Package modeltestserver is a model server for tests: strict about what it is sent, scripted in what it answers. It
// speaks four protocols: OpenAI's Chat Completions and Responses, Anthropic's Messages and Google's generateContent.
// A test's script sees one [Request] and gives one [Reply], whatever the protocol. It listens on loopback, so that
// the tests of other packages, the chaos runs and the benchmark in another process can use one server.
//
// It refuses with 400 what real servers refuse: a call without its result, a result without its call, results
// that do not directly follow their calls, IDs that recur, arguments that are not JSON, unknown roles and fields, and
// what each protocol has of its own: the form, the type and the place of files, and bounds on an image and on a request,
// which Anthropic answers with 413. It remembers each refusal: a test ends with a look at [Server.Refusals]. The
// same checks are there without a network: [DecodeChat], [DecodeResponses], [DecodeMessages], [DecodeGemini].
//
// Reasoning comes with private data (encrypted content, signatures) that is bound to its protocol and model, as the
// real ones are. Any server of this package verifies it when it comes back, and refuses what is changed or foreign.
//
// A protocol's files begin with its name: what a request holds, its messages, and how a reply is told. What holds in
// all protocols is in conversation.go and reply.go.
//
// Imports: the standard library.
package modeltestserver
