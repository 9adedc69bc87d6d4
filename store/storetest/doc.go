// Package storetest is the suite that every [store.Store] passes: call [Run] from the store's own tests.
//
// A [World] is one set of data that several processes connect to. Each test gets a world of its own. The
// suite holds what the contract promises, topic by topic; Model compares a long run of random operations
// with a naive model of a store that shares no code with any of them.
//
// Imports: api, store.
package storetest
