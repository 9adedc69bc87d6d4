// Package content holds the tests of what the four adapters make of files and of imported history: the same order, the
// same bytes and the same names in each protocol, read from the captured request by that protocol's own schema; no
// more memory than the body has; and requests that the real APIs take although no tool is declared.
//
// Imports: model and its adapters, api; no other package imports it.
package content
