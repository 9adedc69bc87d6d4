// Package sqlite keeps the store in one SQLite file, openworker.db in the state directory: the embedded
// default (ST1).
//
// One goroutine writes. It takes what is queued, up to 64 operations of any sessions and half a MiB of files, the
// operations without files first, checks and writes each within a savepoint of one BEGIN IMMEDIATE, commits once, and only then tells anybody anything: also
// a refusal, since it may rest on what another operation of the same commit wrote. Sessions that commit at
// the same moment so share one sync of the disk. A caller's context bounds how long the caller waits; it
// never reaches the database, where it would roll back what others had in the same commit.
//
// Every commit is synced (synchronous=FULL, WAL). An error that is not one of our own checks ends the whole
// commit: it is rolled back, its connection is thrown away, and all that took part learn that nothing was
// written, or, once COMMIT was sent, that their fate is unknown.
//
// Reads come from a pool of connections and see committed data only; none is open over a wait, and a writer
// that waits for another process does not hold them up.
//
// What users attach is kept in chunks, a row each. A removal takes the file's row and leaves its chunks to the writer,
// which overwrites them with zeros in steps of a MiB, whenever nobody waits, and then empties the log: so the largest
// removal holds nobody up, and no byte stays (GR3). That there is something to erase stands in the table removed, from the
// transaction of the removal until the log is empty. The remover's writer knows without looking; others look when they
// open the store and whenever they look for dead processes, so that no removal depends on its process. Triggers write the
// table, also for processes of schema 1, which know of no files.
//
// Each registered process keeps a lock of the operating system on its file in owners/. The kernel drops it
// with the process, however that ends: so a free lock proves a death at once, and a lock that is held while
// the lease has run out means a process that stands still.
//
// Nothing but SQLite may open the database file within a process that uses it: closing any descriptor of it
// drops SQLite's locks. The directory is 0700 and its files are 0600 (ST4). Network file systems are refused.
//
// Imports: api, store, modernc.org/sqlite (through database/sql/driver: database/sql itself costs more time
// than a commit has), golang.org/x/sys.
package sqlite
