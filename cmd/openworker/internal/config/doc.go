// Package config is what the command line knows of model providers: those that are built in, those of the
// configuration file, and what the environment says of either.
//
// [Load] puts them together, each value with where it comes from; the environment goes before the file, and the file
// before what is built in. A file with anything wrong in it is refused as a whole, each fault with its line and column.
// [Provider.Open] makes the adapter that speaks a provider's protocol, [Provider.List] asks its server for its
// models, and [Config.Look] finds out which of the local servers, whose addresses are well known, is there.
//
// Keys come from the environment and from the file of [Config.SetKey], at each call anew, so that a key which is set
// while a turn waits for it lets the turn go on (RE5). They are in no value of this package that can be printed.
//
// Imports: api, model, model/anthropic, model/google, model/openai, model/openaichat, the root package (for
// credentials), cmd/openworker/internal/document.
package config
