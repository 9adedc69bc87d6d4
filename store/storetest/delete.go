package storetest

import (
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// deleted deletes a session at the head given.
func (f *fixture) deleted(session string, head uint64) {
	f.Helper()
	a := f.change(session, head, "deleted")
	a.Delete = true
	f.commit(a)
}

// cleaned cleans a deleted session to the end, in small steps.
func (f *fixture) cleaned(session string) (steps int) {
	f.Helper()
	for {
		steps++
		more, err := f.Clean(f.ctx(), session, 3)
		f.must("clean", err)
		if !more {
			return steps
		}
		if steps > 100 {
			f.Fatal("cleaning does not end")
		}
	}
}

func testDelete(t *testing.T, b Backend) {
	gone := func(f *fixture, session string) {
		f.Helper()
		_, err := f.Load(f.ctx(), session, "")
		f.fails("load", err, store.ErrDeleted)
		_, err = f.Records(f.ctx(), store.RecordQuery{Session: session})
		f.fails("records", err, store.ErrDeleted)
		_, err = f.Terminal(f.ctx(), session, "r")
		f.fails("terminal", err, store.ErrDeleted)
		_, err = f.Receipt(f.ctx(), session, "k")
		f.fails("receipt", err, store.ErrDeleted)
		f.fails("park", f.Park(f.ctx(), session, "why", "b"), store.ErrDeleted)
		row := f.row(session)
		f.same("row", [2]any{row.ID, row.Deleted}, [2]any{session, true})
		for _, known := range []uint64{0, 2, 7} {
			f.refused(f.change(session, known, "late"), store.ErrDeleted)
		}
		f.refused(f.creation(session), store.ErrExists)
		sessions, _, err := f.Sessions(f.ctx(), store.SessionQuery{})
		f.must("sessions", err)
		open, _, err := f.Interactions(f.ctx(), "", "", 0)
		f.must("interactions", err)
		page, err := f.Work(f.ctx(), store.WorkQuery{Now: at(1000)})
		f.must("work", err)
		if len(sessions)+len(open)+len(page.Work) != 0 || !page.Next.IsZero() {
			f.Fatalf("a deleted session is listed: %v %v %v", sessions, open, page)
		}
	}
	full := func(f *fixture, session string) {
		a := f.creation(session)
		a.Create.Key, a.Create.Metadata = "key", map[string]string{"a": "b"}
		a.Claim = &store.Claim{Process: "p1", Claim: "claim-p1"}
		f.commit(a)
		a = f.change(session, 1, "2", "3", "4", "5", "6", "7", "8")
		a.Receipts = []store.Receipt{{Key: "k", Run: "r"}, {Key: "k2", Run: "r"}}
		a.Opened = []store.Interaction{{ID: "i1", Data: []byte("{}")}}
		a.Snapshot = &store.Snapshot{Schema: "x", Head: 8, Data: []byte("x")}
		a.Index = store.Index{Due: at(1), Needs: []string{"n"}, Activity: "waiting"}
		f.commit(a)
	}
	each(t, b, map[string]scenario{
		"a deleted session is gone for all, its holder too, before and after cleaning": func(f *fixture) {
			f.register("p1", 60)
			full(f, "s")
			f.deleted("s", 8)
			row := f.row("s")
			f.same("row", [3]any{row.Epoch, row.Holder, row.Claim}, [3]any{uint64(2), "", ""})
			late := f.change("s", 9, "late")
			late.Fence = &store.Fence{Epoch: 1, Claim: "claim-p1"}
			late.AnyHead = true
			f.refused(late, store.ErrDeleted)
			gone(f, "s")
			if steps := f.cleaned("s"); steps < 3 {
				f.Fatalf("nine records and more were cleaned in %d steps of three", steps)
			}
			gone(f, "s")
			more, err := f.Clean(f.ctx(), "s", 3)
			f.must("clean again", err)
			f.same("more", more, false)
		},
		"the tombstone outlives a restart": func(f *fixture) {
			f.register("p1", 60)
			full(f, "s")
			f.deleted("s", 8)
			f.cleaned("s")
			gone(&fixture{T: f.T, world: f.world, Store: f.world.Connect(f.T)}, "s")
		},
		"its creation key is free again": func(f *fixture) {
			f.register("p1", 60)
			full(f, "s")
			f.deleted("s", 8)
			_, _, err := f.CreationKey(f.ctx(), "ann", "helper", "key")
			f.fails("creation key", err, store.ErrNotFound)
			full(f, "s2")
			f.cleaned("s")
			session, _, err := f.CreationKey(f.ctx(), "ann", "helper", "key")
			f.must("creation key", err)
			f.same("creation key", session, "s2")
		},
		"its neighbours keep everything": func(f *fixture) {
			f.register("p1", 60)
			f.created("before")
			full(f, "s")
			f.created("after")
			before, after := f.journal("before"), f.journal("after")
			f.deleted("s", 8)
			f.cleaned("s")
			f.same("before", f.journal("before"), before)
			f.same("after", f.journal("after"), after)
		},
		"deleted sessions wait for their cleaning, others never do": func(f *fixture) {
			for _, id := range []string{"s1", "s2", "s3"} {
				f.created(id)
			}
			waiting := func(limit int, want ...string) {
				f.Helper()
				got, err := f.Deleted(f.ctx(), limit)
				f.must("deleted", err)
				f.same("deleted", got, want)
			}
			waiting(0)
			f.deleted("s3", 1)
			f.deleted("s1", 1)
			waiting(0, "s1", "s3")
			waiting(1, "s1")
			_, err := f.Clean(f.ctx(), "s2", 10)
			f.fails("clean of a live session", err, &api.Error{Code: api.CodeInvalidRequest})
			_, err = f.Clean(f.ctx(), "nobody", 10)
			f.fails("clean of no session", err, store.ErrNotFound)
			f.same("live session", len(f.journal("s2").Records), 1)
			f.cleaned("s1")
			waiting(0, "s3")
			f.cleaned("s3")
			waiting(0)
		},
		"an old head is no way round a deletion": func(f *fixture) {
			f.created("s")
			f.commit(f.change("s", 1, "one"))
			a := f.change("s", 1, "deleted")
			a.Delete = true
			f.refused(a, store.ErrHeadMoved)
			f.same("deleted", f.row("s").Deleted, false)
		},
	})
}
