package storetest

import (
	"testing"

	"github.com/openworkerai/openworker/store"
)

func testClaim(t *testing.T, b Backend) {
	claim := func(f *fixture, known uint64, c store.Claim) store.Append {
		a := f.change("s", known, "claimed")
		a.Claim = &c
		return a
	}
	fenced := func(f *fixture, known uint64, epoch uint64, random string) store.Append {
		a := f.change("s", known, "fenced")
		a.Fence = &store.Fence{Epoch: epoch, Claim: random}
		return a
	}
	each(t, b, map[string]scenario{
		"a free session can be claimed once": func(f *fixture) {
			f.register("p1", 60)
			f.register("p2", 60)
			f.created("s")
			got := f.commit(claim(f, 1, store.Claim{Process: "p1", Claim: "c1"}))
			f.same("appended", got, store.Appended{First: 2, Head: 2, Epoch: 1, Holder: "p1"})
			row := f.row("s")
			f.same("row", [3]any{row.Holder, row.Claim, row.Epoch}, [3]any{"p1", "c1", uint64(1)})
			f.same("lease", row.LeaseUntil, at(60))
			met := f.refused(claim(f, 2, store.Claim{Process: "p2", Claim: "c2"}), store.ErrClaimed)
			f.same("met", [2]any{met.Epoch, met.Holder}, [2]any{uint64(1), "p1"})
			f.refused(claim(f, 2, store.Claim{Process: "p2", Claim: "c2", Epoch: 1}), store.ErrClaimed)
			f.refused(claim(f, 2, store.Claim{Process: "p2", Claim: "c2", Epoch: 1, From: "p1"}), store.ErrClaimed)
			f.refused(claim(f, 2, store.Claim{Process: "p1", Claim: "c3", Epoch: 1, From: "p1"}), store.ErrClaimed)
		},
		"only a registered process that is not fenced can claim": func(f *fixture) {
			f.register("p1", 0)
			f.register("p2", 60)
			f.created("s")
			f.refused(claim(f, 1, store.Claim{Process: "stranger", Claim: "c"}), store.ErrFenced)
			f.fence("p2", at(100), "p1")
			f.refused(claim(f, 1, store.Claim{Process: "p1", Claim: "c"}), store.ErrFenced)
			creation := f.creation("other")
			creation.Claim = &store.Claim{Process: "p1", Claim: "c"}
			f.refused(creation, store.ErrFenced)
			_, err := f.Session(f.ctx(), "other")
			f.fails("session of a refused creation", err, store.ErrNotFound)
		},
		"a claim whose epoch moved is refused": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			release := fenced(f, 1, 1, "claim-p1")
			release.Release = true
			f.commit(release)
			f.refused(claim(f, 2, store.Claim{Process: "p1", Claim: "c2"}), store.ErrClaimed)
			f.commit(claim(f, 2, store.Claim{Process: "p1", Claim: "c2", Epoch: 1}))
		},
		"a moved head is told before a lost claim": func(f *fixture) {
			f.register("p1", 60)
			f.register("p2", 60)
			f.held("s", "p1")
			met := f.refused(claim(f, 0, store.Claim{Process: "p2", Claim: "c2"}), store.ErrHeadMoved)
			f.same("met", [2]any{met.Epoch, met.Holder}, [2]any{uint64(1), "p1"})
			f.refused(fenced(f, 0, 0, "old"), store.ErrHeadMoved)
		},
		"a fence needs both the epoch and the claim": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			f.refused(fenced(f, 1, 1, "other"), store.ErrFenced)
			f.refused(fenced(f, 1, 2, "claim-p1"), store.ErrFenced)
			f.refused(fenced(f, 1, 0, ""), store.ErrFenced)
			f.commit(fenced(f, 1, 1, "claim-p1"))
		},
		"nothing is fenced by an empty claim on a free session": func(f *fixture) {
			f.created("s")
			f.refused(fenced(f, 1, 0, ""), store.ErrFenced)
		},
		"an input needs no fence": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			f.commit(f.change("s", 1, "input"))
			f.same("holder", f.row("s").Holder, "p1")
		},
		"a release frees the session and ends the claim": func(f *fixture) {
			f.register("p1", 60)
			f.register("p2", 60)
			f.held("s", "p1")
			a := fenced(f, 1, 1, "claim-p1")
			a.Release = true
			f.same("appended", f.commit(a), store.Appended{First: 2, Head: 2, Epoch: 1})
			row := f.row("s")
			f.same("row", [3]any{row.Holder, row.Claim, row.Epoch}, [3]any{"", "", uint64(1)})
			f.refused(fenced(f, 2, 1, "claim-p1"), store.ErrFenced)
			f.refused(fenced(f, 2, 1, ""), store.ErrFenced)
			f.commit(claim(f, 2, store.Claim{Process: "p2", Claim: "c2", Epoch: 1}))
		},
		"a claim and a release in one append leave a new epoch and no holder": func(f *fixture) {
			f.register("p1", 60)
			f.created("s")
			a := claim(f, 1, store.Claim{Process: "p1", Claim: "c1"})
			a.Release = true
			f.same("appended", f.commit(a), store.Appended{First: 2, Head: 2, Epoch: 1})
		},
		"a take-over waits for the fence and then shuts out the old holder": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 99)
			f.held("s", "p1")
			takeover := claim(f, 1, store.Claim{Process: "p2", Claim: "c2", Epoch: 1, From: "p1"})
			f.refused(takeover, store.ErrClaimed)
			f.same("gone", f.row("s").HolderGone, false)
			f.fence("p2", at(100), "p1")
			f.same("gone", f.row("s").HolderGone, true)
			f.refused(fenced(f, 1, 1, "claim-p1"), store.ErrFenced)
			f.refused(claim(f, 1, store.Claim{Process: "p2", Claim: "c2", Epoch: 1}), store.ErrClaimed)
			f.same("appended", f.commit(takeover), store.Appended{First: 2, Head: 2, Epoch: 2, Holder: "p2"})
			late := fenced(f, 1, 1, "claim-p1")
			late.AnyHead = true
			met := f.refused(late, store.ErrFenced)
			f.same("tail", kinds(met.Tail), []string{"claimed"})
			f.same("met", [2]any{met.Epoch, met.Holder}, [2]any{uint64(2), "p2"})
			f.commit(fenced(f, 2, 2, "c2"))
		},
		"a session is taken over once": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 99)
			f.register("p3", 99)
			f.held("s", "p1")
			f.fence("p2", at(50), "p1")
			f.commit(claim(f, 1, store.Claim{Process: "p2", Claim: "c2", Epoch: 1, From: "p1"}))
			f.refused(claim(f, 2, store.Claim{Process: "p3", Claim: "c3", Epoch: 1, From: "p1"}), store.ErrClaimed)
			f.refused(claim(f, 2, store.Claim{Process: "p3", Claim: "c3", Epoch: 2, From: "p2"}), store.ErrClaimed)
		},
	})
}

func testCreate(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"makes the session and its first records in one": func(f *fixture) {
			f.register("p1", 60)
			a := f.creation("s")
			a.Records = f.change("s", 0, "created", "accepted").Records
			a.Create.Metadata = map[string]string{"k": "v", "empty": ""}
			a.Claim = &store.Claim{Process: "p1", Claim: "c"}
			a.Receipts = []store.Receipt{{Key: "sub", Run: "s.r1", Accepted: 2}}
			a.Index = store.Index{Due: at(0), Activity: "active"}
			f.same("appended", f.commit(a), store.Appended{First: 1, Head: 2, Epoch: 1, Holder: "p1"})
			f.same("row", f.row("s"), store.Session{
				ID: "s", Owner: "ann", Agent: "helper", Digest: "d1", Metadata: a.Create.Metadata, Head: 2, Epoch: 1,
				Claim: "c", Holder: "p1", LeaseUntil: at(60), Index: a.Index, Created: epoch, Updated: epoch,
			})
			_, err := f.Receipt(f.ctx(), "s", "sub")
			f.must("receipt", err)
		},
		"under a taken id fails": func(f *fixture) {
			f.created("s")
			f.refused(f.creation("s"), store.ErrExists)
			f.commit(f.change("s", 1, "one"))
			f.refused(f.creation("s"), store.ErrExists)
		},
		"under a taken key fails within owner and agent only": func(f *fixture) {
			keyed := func(session, owner, agent string) store.Append {
				a := f.creation(session)
				a.Create.Owner, a.Create.Agent, a.Create.Key, a.Create.Fingerprint = owner, agent, "key", "print-"+session
				return a
			}
			f.commit(keyed("s1", "ann", "helper"))
			f.refused(keyed("s2", "ann", "helper"), store.ErrExists)
			_, err := f.Session(f.ctx(), "s2")
			f.fails("session", err, store.ErrNotFound)
			f.commit(keyed("s3", "bob", "helper"))
			f.commit(keyed("s4", "ann", "other"))
			f.commit(f.creation("s5"))
			f.commit(f.creation("s6"))
			session, print, err := f.CreationKey(f.ctx(), "ann", "helper", "key")
			f.must("creation key", err)
			f.same("creation", [2]string{session, print}, [2]string{"s1", "print-s1"})
			for _, missing := range [][3]string{{"ann", "helper", "no"}, {"eve", "helper", "key"}, {"ann", "helper", ""}} {
				_, _, err = f.CreationKey(f.ctx(), missing[0], missing[1], missing[2])
				f.fails("missing creation key", err, store.ErrNotFound)
			}
		},
	})
}
