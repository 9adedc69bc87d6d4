// Package spec writes the protocol down once for all languages: a JSON Schema of every type that crosses it, made from the Go
// types and their comments, and from that schema the types of the TypeScript SDK.
//
//	transport/rpc, api ── Build ──▶ spec/rpc.json ──▶ src/generated/protocol.ts
//	api.Codes          ── Codes ──▶ spec/codes.json ─▶ src/generated/errors.ts
//
// What Go cannot say stands in the tables of shapes.go: which fields belong to which kind of a type (a text block has no
// source), what a json.RawMessage holds, what a plain string may be. The tests write the files with -update, and fail where one
// of them is not what the source says.
//
// The schema is exact: a field that it does not know does not validate, as the runtime refuses one with unsupported_option.
// Clients are to pass over fields that a later runtime adds to its answers.
//
// Imports: the standard library, api, transport/rpc.
package spec
