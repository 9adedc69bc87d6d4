// Package definition checks and identifies what an application writes down once and for all: agent
// definitions, and the options of sessions and turns.
//
// [Normalize] turns a definition into the one form of its meaning: every rule checked, provider names in
// their one spelling, options that stand at their default left out. [Digest] of that form is the agent's
// identity (AG2). An option that is added later must be omitted at its default, so that no digest that
// was ever handed out changes; testdata/digests.json holds such digests.
//
// Everything here is a pure function of its arguments.
//
// Imports: api, tool; gowebpki/jcs for RFC 8785.
package definition
