package storetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

func testIdentity(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"every connection sees the same identity and format": func(f *fixture) {
			other := f.world.Connect(f.T)
			if f.ID() == "" || f.ID() != other.ID() {
				f.Fatalf("identities %q and %q", f.ID(), other.ID())
			}
			if f.WriteFormat() < 1 || f.WriteFormat() != other.WriteFormat() {
				f.Fatalf("formats %d and %d", f.WriteFormat(), other.WriteFormat())
			}
		},
		"another connection sees everything that was written": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			f.same("journal", (&fixture{T: f.T, Store: f.world.Connect(f.T)}).journal("s"), f.journal("s"))
		},
	})
}

func testAppend(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"keeps every field of every record": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1)
			a.Time = at(1).Add(300 * time.Microsecond)
			a.Records = []store.Record{
				{Kind: "plain", Version: 1, Data: []byte(`{}`)},
				{Kind: "full", Version: 3, Run: "s.r1", Item: true, Terminal: true, Data: []byte("\x00\xff binary")},
				{Kind: "other run", Version: 1, Run: "elsewhere", Data: []byte("x")},
			}
			appended := f.commit(a)
			f.same("appended", appended, store.Appended{First: 2, Head: 4})
			want := []store.Record{a.Records[0], a.Records[1], a.Records[2]}
			for i := range want {
				want[i].Number, want[i].Time, want[i].Append = uint64(i+2), at(1), a.ID
			}
			got, err := f.Records(f.ctx(), store.RecordQuery{Session: "s", After: 1})
			f.must("records", err)
			f.same("records", got, want)
		},
		"keeps a large body": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "large")
			a.Records[0].Data = make([]byte, 3<<20)
			for i := range a.Records[0].Data {
				a.Records[0].Data[i] = byte(i * 7)
			}
			f.commit(a)
			// A diff of millions of bytes takes seconds, and nobody reads it.
			if got := f.journal("s").Records[1].Data; !bytes.Equal(got, a.Records[0].Data) {
				f.Fatalf("a body of %d bytes came back as %d others", len(a.Records[0].Data), len(got))
			}
		},
		"moves the row": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "one", "two")
			a.Time = at(9)
			a.Index = store.Index{Due: at(20), Needs: []string{"a", "b"}, Activity: "active"}
			f.commit(a)
			f.same("row", f.row("s"), store.Session{
				ID: "s", Owner: "ann", Agent: "helper", Digest: "d1", Head: 3, Index: a.Index,
				Created: epoch, Updated: at(9),
			})
			a = f.change("s", 3, "three")
			a.Index = store.Index{Activity: "waiting"}
			f.commit(a)
			f.same("index", f.row("s").Index, a.Index)
		},
		"does not take what the caller changes afterwards": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "one")
			f.commit(a)
			a.Records[0].Data[0] = 'X'
			f.same("data", string(f.journal("s").Records[1].Data), `{"kind":"one"}`)
		},
		"refuses an append that could not be settled or makes no sense": func(f *fixture) {
			f.created("s")
			for name, spoil := range map[string]func(*store.Append){
				"no id":                   func(a *store.Append) { a.ID = "" },
				"no session":              func(a *store.Append) { a.Session = "" },
				"no record":               func(a *store.Append) { a.Records = nil },
				"fence and claim":         func(a *store.Append) { a.Fence, a.Claim = &store.Fence{}, &store.Claim{} },
				"release of nothing":      func(a *store.Append) { a.Release = true },
				"creation behind a head":  func(a *store.Append) { a.Create = &store.Creation{} },
				"creation that is fenced": func(a *store.Append) { a.Known, a.Create, a.Fence = 0, &store.Creation{}, &store.Fence{} },
			} {
				a := f.change("s", 1, "spoilt")
				a.ID = name
				spoil(&a)
				f.refused(a, &api.Error{Code: api.CodeInternal})
			}
		},
		"to a session that is not there fails": func(f *fixture) {
			f.refused(f.change("nobody", 0, "one"), store.ErrNotFound)
		},
		"behind an old head learns the tail": func(f *fixture) {
			f.created("s")
			f.commit(f.change("s", 1, "one"))
			f.commit(f.change("s", 2, "two"))
			met := f.refused(f.change("s", 1, "late"), store.ErrHeadMoved)
			f.same("tail", kinds(met.Tail), []string{"one", "two"})
			f.same("head", met.Head, uint64(3))
			f.same("tail as read", met.Tail, f.journal("s").Records[1:])
		},
		"behind a head that is not there yet fails": func(f *fixture) {
			f.created("s")
			met := f.refused(f.change("s", 5, "early"), store.ErrHeadMoved)
			f.same("tail", met.Tail, []store.Record(nil))
			early := f.change("s", 5, "early")
			early.AnyHead = true
			f.refused(early, store.ErrHeadMoved)
		},
		"writes its receipts": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "accepted")
			a.Receipts = []store.Receipt{
				{Key: "k1", Run: "s.r1", Accepted: 2, Fields: map[string]string{"message": "h1"}},
				{Key: "k2", Run: "s.r2", Accepted: 2},
			}
			f.commit(a)
			for _, want := range a.Receipts {
				got, err := f.Receipt(f.ctx(), "s", want.Key)
				f.must("receipt", err)
				f.same("receipt", got, want)
			}
			_, err := f.Receipt(f.ctx(), "s", "k3")
			f.fails("unknown receipt", err, store.ErrNotFound)
			_, err = f.Receipt(f.ctx(), "nobody", "k1")
			f.fails("receipt of no session", err, store.ErrNotFound)
		},
		"with a receipt that is taken fails before the head is looked at": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "accepted")
			a.Receipts = []store.Receipt{{Key: "k", Run: "r1"}}
			f.commit(a)
			for _, known := range []uint64{1, 2, 9} {
				again := f.change("s", known, "again")
				again.Receipts = []store.Receipt{{Key: "new", Run: "r2"}, {Key: "k", Run: "r2"}}
				f.refused(again, store.ErrReceiptTaken)
			}
			twice := f.change("s", 2, "twice")
			twice.Receipts = []store.Receipt{{Key: "t", Run: "r3"}, {Key: "t", Run: "r3"}}
			f.refused(twice, store.ErrReceiptTaken)
			for _, key := range []string{"new", "t"} {
				_, err := f.Receipt(f.ctx(), "s", key)
				f.fails("receipt of a refused append", err, store.ErrNotFound)
			}
		},
		"a refused append leaves nothing of any kind": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			before := f.journal("s")
			a := f.change("s", 1, "one")
			a.Fence = &store.Fence{Epoch: 1, Claim: "wrong"}
			a.Release = true
			a.Receipts = []store.Receipt{{Key: "k", Run: "r"}}
			a.Opened = []store.Interaction{{ID: "i", Data: []byte("{}")}}
			a.Usage = []store.UsageDelta{{Day: "2026-03-04", Turns: 1}}
			a.Snapshot = &store.Snapshot{Schema: "x", Head: 2}
			a.Index = store.Index{Due: at(1), Activity: "active"}
			f.refused(a, store.ErrFenced)
			loaded, err := f.Load(f.ctx(), "s", "x")
			f.must("load", err)
			f.same("session", loaded, before)
			open, _, err := f.Interactions(f.ctx(), "", "", 0)
			f.must("interactions", err)
			usage, err := f.Usage(f.ctx(), "", time.Time{})
			f.must("usage", err)
			if len(open) != 0 || len(usage) != 0 {
				f.Fatalf("left behind: %v %v", open, usage)
			}
			_, err = f.Receipt(f.ctx(), "s", "k")
			f.fails("receipt", err, store.ErrNotFound)
		},
	})
}

func testAnyHead(t *testing.T, b Backend) {
	outcome := func(f *fixture, known uint64) store.Append {
		a := f.change("s", known, "outcome")
		a.AnyHead = true
		a.Fence = &store.Fence{Epoch: 1, Claim: "claim-p1"}
		a.Index = store.Index{Activity: "idle"}
		a.Time = at(50)
		return a
	}
	each(t, b, map[string]scenario{
		"at the head it is an append like any other": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			a := outcome(f, 1)
			a.Release = true
			f.same("appended", f.commit(a), store.Appended{First: 2, Head: 2, Epoch: 1})
			f.same("index", f.row("s").Index, a.Index)
		},
		"behind inputs it learns them, leaves the session due and held": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			input := f.change("s", 1, "input", "input2")
			input.Index = store.Index{Due: at(99), Needs: []string{"n"}, Activity: "active"}
			f.commit(input)
			a := outcome(f, 1)
			a.Release = true
			a.Snapshot = &store.Snapshot{Schema: "x", Head: 2, Data: []byte("folded without the inputs")}
			appended := f.commit(a)
			f.same("tail", kinds(appended.Tail), []string{"input", "input2"})
			f.same("appended", [2]uint64{appended.First, appended.Head}, [2]uint64{4, 4})
			f.same("holder", appended.Holder, "p1")
			row := f.row("s")
			f.same("index", row.Index, store.Index{Due: at(50), Needs: []string{"n"}, Activity: "active"})
			f.same("held", [2]string{row.Holder, row.Claim}, [2]string{"p1", "claim-p1"})
			loaded, err := f.Load(f.ctx(), "s", "x")
			f.must("load", err)
			if loaded.Snapshot != nil {
				f.Fatal("a snapshot that misses records was stored")
			}
		},
		"of a fenced claim is refused": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			a := outcome(f, 1)
			a.Fence.Epoch = 0
			f.refused(a, store.ErrFenced)
		},
	})
}

func testRepeat(t *testing.T, b Backend) {
	again := func(f *fixture, a store.Append, first store.Appended) {
		f.Helper()
		before := f.journal(a.Session)
		got := f.commit(a)
		f.same("journal after a repeat", f.journal(a.Session), before)
		first.Repeated = true
		first.Epoch, first.Holder = before.Session.Epoch, before.Session.Holder
		f.same("repeated answer", got, first)
	}
	each(t, b, map[string]scenario{
		"a repeat answers as the first did, whatever came since": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "one", "two")
			a.Receipts = []store.Receipt{{Key: "k", Run: "r"}}
			a.Usage = []store.UsageDelta{{Day: "2026-03-04", Turns: 1}}
			first := f.commit(a)
			again(f, a, first)
			f.commit(f.change("s", 3, "three"))
			again(f, a, first)
			usage, err := f.Usage(f.ctx(), "", time.Time{})
			f.must("usage", err)
			f.same("usage counted once", usage, []store.Usage{{Agent: "helper", UsageDelta: a.Usage[0]}})
		},
		"a repeated creation answers as the first did": func(f *fixture) {
			a := f.creation("s")
			a.Create.Key = "key"
			first := f.commit(a)
			again(f, a, first)
			f.commit(f.change("s", 1, "one"))
			again(f, a, first)
		},
		"a repeated claim and a repeated release answer as the first did": func(f *fixture) {
			f.register("p1", 60)
			f.created("s")
			a := f.change("s", 1, "taken")
			a.Claim = &store.Claim{Process: "p1", Claim: "c1"}
			first := f.commit(a)
			again(f, a, first)
			release := f.change("s", 2, "given up")
			release.Fence, release.Release = &store.Fence{Epoch: 1, Claim: "c1"}, true
			first = f.commit(release)
			again(f, release, first)
		},
		"a repeat after a take-over answers as the first did": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 99)
			f.held("s", "p1")
			a := f.change("s", 1, "late")
			a.Fence = &store.Fence{Epoch: 1, Claim: "claim-p1"}
			first := f.commit(a)
			f.world.Kill(f.T, "p1")
			f.fence("p2", at(0), "p1")
			takeover := f.change("s", 2, "taken over")
			takeover.Claim = &store.Claim{Process: "p2", Claim: "c2", Epoch: 1, From: "p1"}
			f.commit(takeover)
			again(f, a, first)
		},
		"a repeat at any head answers with the tail of then": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			f.commit(f.change("s", 1, "input"))
			a := f.change("s", 1, "outcome", "more")
			a.AnyHead, a.Fence = true, &store.Fence{Epoch: 1, Claim: "claim-p1"}
			first := f.commit(a)
			f.same("tail", kinds(first.Tail), []string{"input"})
			f.commit(f.change("s", 4, "after"))
			again(f, a, first)
		},
		"a repeated deletion answers as the first did, until it is cleaned": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "deleted")
			a.Delete = true
			f.commit(a)
			got, err := f.Append(f.ctx(), a)
			f.must("repeat", err)
			if !got.Repeated || got.First != 2 || got.Head != 2 {
				f.Fatalf("repeated deletion: %+v", got)
			}
			f.cleaned("s")
			f.refused(a, store.ErrDeleted)
		},
		"the same id at a head that includes it is a new append": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "one")
			f.commit(a)
			a.Known = 2
			f.same("appended", f.commit(a), store.Appended{First: 3, Head: 3})
		},
	})
}
