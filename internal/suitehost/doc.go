// Package suitehost makes hosts for the suite of api.Service (package servicetest): processes of the real service on a
// store, which can crash, in the world that a test describes. A face's test says how a process is reached ([Start]); all else
// is the same for all of them.
//
// Imports: api, guard, internal/runtime, internal/service, model, model/scripted, store, store/memstore, store/sqlite, tool, transport/servicetest.
package suitehost
