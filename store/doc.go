// Package store is the seam between the runtime and a database: the [Store] interface, its records
// and its sentinel errors. Package store/storetest is the suite that every implementation passes.
//
// A store keeps one journal a session. One [Append] is one transaction: the events, the head, the
// receipt, the work row and everything else that an append names commit together or not at all.
// Whatever stands beside the events is an index that can be rebuilt from them.
//
// A session's [Files] are what users attach. They are staged beside the journal, chunk by chunk, and an append accepts
// them in the transaction of the message that refers to them; from then on they stay as long as the session.
//
// Imports: api.
package store
