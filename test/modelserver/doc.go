// Command modelserver is a scripted model as a process of its own, so that programs in any language can be tested against
// one and the same model. It is a front of package model/modeltest/server: strict about what it is sent, on loopback, in four
// protocols (OpenAI's Chat Completions and Responses, Anthropic's Messages, Google's generateContent).
//
//	modelserver [-script FILE]
//
// Without -script the first line of standard input is the script. What goes over standard input and output afterwards is
// one JSON object a line:
//
//	out {"listening":"http://127.0.0.1:41233","openai":"http://127.0.0.1:41233/v1"}   once it listens
//	in  {"open":"NAME"}        opens a gate: replies with "wait":"NAME" end, those to come too
//	out {"opened":"NAME"}
//	in  {"requests":true}      asks what models were sent so far
//	out {"requests":[{"number":1,"model":"m","messages":[{"role":"user","content":"hello"}],…}]}
//	in  {"arrived":3}          waits until three requests were answered or are being answered, refused ones included
//	out {"arrived":3}
//
// The end of standard input ends it. It writes {"report":{"requests":N,"refusals":[…],"unscripted":[…]}} and exits with 1 if
// a request broke its protocol or met no rule: a test asks for exit status 0. So does anything wrong on standard input.
//
// # Scripts
//
// A script is {"rules":[…]}, with "credential" if requests must bear one and "models" if only some are served:
//
//	{"rules": [
//	  {"user": "weather?", "round": 0, "reply": {"calls": [{"name": "app__weather", "arguments": {"city": "Oslo"}}]}},
//	  {"user": "weather?", "round": 1, "reply": {"text": "It rains."}},
//	  {"user": "again", "replies": [{"status": 429, "error": {"message": "slow down"}}, {"text": "ok"}]},
//	  {"reply": {"text": "ok"}}
//	]}
//
// The first rule whose conditions all hold gives the reply; see [Rule] and [Reply] for the fields. Unknown fields are refused.
//
// Imports: model/modeltest/server.
package main
