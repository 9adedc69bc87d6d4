// Package window holds the tests of long conversations with small windows (CO1–CO3, C45): the harness with a strict
// server that counts tokens and refuses what is too much, in memory and with a clock of its own. The model knows what it
// is shown and nothing else: it counts its rounds by the results and summaries that it sees, and tells at the end of
// each turn what it was told in all turns before. So a fact that a plan or a summary loses fails a test.
//
// Imports: everything; no other package imports it.
package window
