package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openworkerai/openworker/store"
)

// Backend is a kind of store.
type Backend struct {
	// New makes an empty world, which the test cleans up itself.
	New func(t *testing.T) World
}

// World is one set of data.
type World interface {
	// Connect returns a store over the data, as a process of its own would open it. Two calls may return the
	// same value, if that is how the store is shared.
	Connect(t *testing.T) store.Store
	// Kill makes a registered process dead: it runs no code any more and its death can be proven.
	Kill(t *testing.T, process string)
}

// Run runs the suite.
func Run(t *testing.T, b Backend) {
	for name, topic := range map[string]func(*testing.T, Backend){
		"identity": testIdentity,
		"append":   testAppend,
		"any head": testAnyHead,
		"repeat":   testRepeat,
		"claim":    testClaim,
		"create":   testCreate,
		"read":     testRead,
		"snapshot": testSnapshot,
		"process":  testProcess,
		"work":     testWork,
		"delete":   testDelete,

		"stage":              testStage,
		"chunk":              testChunk,
		"seal":               testSeal,
		"discard":            testDiscard,
		"file quota":         testFileQuota,
		"file expiry":        testFileExpiry,
		"accept":             testAccept,
		"append and discard": testAppendDiscard,
		"new file":           testNewFile,
		"deleted with files": testFilesOfADeletedSession,
		"files together":     testFilesTogether,

		"agent":      testAgent,
		"list":       testList,
		"usage":      testUsage,
		"watch":      testWatch,
		"concurrent": testConcurrent,
		"model":      testModel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic(t, b)
		})
	}
}

// epoch is when all tests begin; the fraction is one that a store must keep.
var epoch = time.Date(2026, 3, 4, 5, 6, 7, 89*int(time.Millisecond), time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// fixture is one world with one connection to it.
type fixture struct {
	*testing.T
	world World
	store.Store
	ids atomic.Int64
}

// scenario is one test on a world of its own.
type scenario func(f *fixture)

func each(t *testing.T, b Backend, scenarios map[string]scenario) {
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := b.New(t)
			run(&fixture{T: t, world: world, Store: world.Connect(t)})
		})
	}
}

func (f *fixture) ctx() context.Context { return f.Context() }

// change is an append of records of the kinds given, behind the head known.
func (f *fixture) change(session string, known uint64, kinds ...string) store.Append {
	a := store.Append{
		ID:      fmt.Sprintf("append-%d", f.ids.Add(1)),
		Session: session,
		Known:   known,
		Time:    epoch,
		Index:   store.Index{Activity: "idle"},
	}
	for _, kind := range kinds {
		a.Records = append(a.Records, store.Record{Kind: kind, Version: 1, Data: []byte(`{"kind":"` + kind + `"}`)})
	}
	return a
}

// creation is an append that makes a session of owner "ann" and agent "helper".
func (f *fixture) creation(session string) store.Append {
	a := f.change(session, 0, "created")
	a.Create = &store.Creation{Owner: "ann", Agent: "helper", Digest: "d1"}
	return a
}

// created makes a session with one record.
func (f *fixture) created(session string) {
	f.Helper()
	f.commit(f.creation(session))
}

// commit appends and fails the test if it cannot.
func (f *fixture) commit(a store.Append) store.Appended {
	f.Helper()
	appended, err := f.Append(f.ctx(), a)
	if err != nil {
		f.Fatalf("append %s to %s: %v", a.ID, a.Session, err)
	}
	return appended
}

// refused appends, fails the test unless the error is the one wanted, and checks that nothing was written.
func (f *fixture) refused(a store.Append, want error) store.Appended {
	f.Helper()
	before := f.journal(a.Session)
	appended, err := f.Append(f.ctx(), a)
	if !errors.Is(err, want) {
		f.Fatalf("append %s to %s: error %v, want %v", a.ID, a.Session, err, want)
	}
	f.same("journal after a refused append", f.journal(a.Session), before)
	return appended
}

// register adds a process whose lease ends at the second given.
func (f *fixture) register(id string, lease int) {
	f.Helper()
	f.must("register "+id, f.Register(f.ctx(), store.Process{ID: id, LeaseUntil: at(lease), Host: "host", PID: 7, Address: "unix:x"}))
}

// held makes a session that the process holds under the claim "claim-"+process, with epoch 1 and head 1.
func (f *fixture) held(session, process string) {
	f.Helper()
	a := f.creation(session)
	a.Claim = &store.Claim{Process: process, Claim: "claim-" + process}
	f.commit(a)
}

// journal returns everything that a session holds, for comparisons; nothing for one that is not there.
func (f *fixture) journal(session string) store.Loaded {
	f.Helper()
	loaded, err := f.Load(f.ctx(), session, "")
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDeleted) {
		f.Fatalf("load %s: %v", session, err)
	}
	return loaded
}

// row returns a session's row.
func (f *fixture) row(session string) store.Session {
	f.Helper()
	row, err := f.Session(f.ctx(), session)
	f.must("session "+session, err)
	return row
}

func (f *fixture) must(what string, err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

func (f *fixture) fails(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("%s: error %v, want %v", what, err, want)
	}
}

func (f *fixture) same(what string, got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// kinds returns the kinds of records, in order.
func kinds(records []store.Record) []string {
	var all []string
	for _, r := range records {
		all = append(all, r.Kind)
	}
	return all
}
