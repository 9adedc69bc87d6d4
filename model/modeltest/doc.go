// Package modeltest is the suite that every provider passes. It plays recorded answers of a protocol to the
// provider from a server on loopback and compares what the runtime would see.
//
// The cases of [Cases] have one name and one expectation for all protocols; a protocol brings a recording for
// each, and may add cases of its own. A recording is a file named after its case: header lines, an empty line,
// the body. Header names that begin with @ direct the server: "@end: cut" tears the connection down after the
// body, "@end: silent" keeps it open, "@split: 3" sends three bytes at a time, "@crlf: yes" ends lines in CR LF.
//
// Imports: model, api.
package modeltest
