package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/openworkerai/openworker/store"
)

// margin is what every Fence of the suite gives.
const margin = 5 * time.Second

// fence lets a process fence others and checks whom it fenced.
func (f *fixture) fence(self string, now time.Time, want ...string) {
	f.Helper()
	got, err := f.Fence(f.ctx(), self, now, margin)
	f.must("fence", err)
	slices.Sort(got)
	f.same("fenced", got, want)
}

func testProcess(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"an id is registered once": func(f *fixture) {
			f.register("p1", 10)
			f.fails("register", f.Register(f.ctx(), store.Process{ID: "p1"}), store.ErrExists)
			f.must("unregister", f.Unregister(f.ctx(), "p1"))
			f.register("p1", 10)
		},
		"a lease is renewed": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 10)
			f.held("s", "p1")
			f.must("renew", f.Renew(f.ctx(), "p1", at(40)))
			f.same("lease", f.row("s").LeaseUntil, at(40))
			f.fence("p2", at(30))
		},
		"a stranger has no lease to renew": func(f *fixture) {
			f.fails("renew", f.Renew(f.ctx(), "nobody", at(1)), store.ErrFenced)
		},
		"a lease that ended is fenced only after the margin": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 99)
			f.fence("p2", at(14))
			f.fence("p2", at(15))
			f.must("renew", f.Renew(f.ctx(), "p1", at(11)))
			f.fence("p2", at(15))
			f.fence("p2", at(17), "p1")
			f.fails("renew", f.Renew(f.ctx(), "p1", at(99)), store.ErrFenced)
			f.fence("p2", at(17))
			f.fails("renew", f.Renew(f.ctx(), "p1", at(99)), store.ErrFenced)
		},
		"a process does not fence itself": func(f *fixture) {
			f.register("p1", 10)
			f.fence("p1", at(1000))
			f.must("renew", f.Renew(f.ctx(), "p1", at(2000)))
		},
		"a proven death is fenced at once": func(f *fixture) {
			f.register("p1", 1000)
			f.register("p2", 1000)
			f.held("s", "p1")
			f.fence("p2", at(0))
			f.world.Kill(f.T, "p1")
			f.fence("p2", at(0), "p1")
			f.same("gone", f.row("s").HolderGone, true)
		},
		"another connection fences too": func(f *fixture) {
			f.register("p1", 10)
			other := &fixture{T: f.T, world: f.world, Store: f.world.Connect(f.T)}
			other.register("p2", 1000)
			other.fence("p2", at(0))
			other.fence("p2", at(100), "p1")
			f.fails("renew", f.Renew(f.ctx(), "p1", at(200)), store.ErrFenced)
		},
		"one that holds sessions is fenced by its unregistering": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 10)
			f.held("s", "p1")
			f.must("unregister", f.Unregister(f.ctx(), "p1"))
			row := f.row("s")
			f.same("row", [2]any{row.Holder, row.HolderGone}, [2]any{"p1", true})
			f.fails("renew", f.Renew(f.ctx(), "p1", at(99)), store.ErrFenced)
			a := f.change("s", 1, "taken over")
			a.Claim = &store.Claim{Process: "p2", Claim: "c2", Epoch: 1, From: "p1"}
			f.commit(a)
		},
		"unregistering a stranger is a no-op": func(f *fixture) {
			f.must("unregister", f.Unregister(f.ctx(), "nobody"))
		},
		"a fenced process that holds sessions stays known as gone": func(f *fixture) {
			f.register("p1", 0)
			f.register("p2", 1000)
			f.held("s", "p1")
			for range 3 {
				_, err := f.Fence(f.ctx(), "p2", at(100), margin)
				f.must("fence", err)
				row := f.row("s")
				f.same("row", [2]any{row.Holder, row.HolderGone}, [2]any{"p1", true})
			}
		},
	})
}

func testWork(t *testing.T, b Backend) {
	due := func(f *fixture, session string, seconds int, needs ...string) {
		a := f.creation(session)
		a.Index = store.Index{Due: at(seconds), Needs: needs, Activity: "active"}
		f.commit(a)
	}
	work := func(f *fixture, q store.WorkQuery, next time.Time, want ...string) store.WorkPage {
		f.Helper()
		page, err := f.Work(f.ctx(), q)
		f.must("work", err)
		var ids []string
		for _, w := range page.Work {
			ids = append(ids, w.Session)
		}
		f.same("work", ids, want)
		f.same("next", page.Next, next)
		return page
	}
	never := time.Time{}
	each(t, b, map[string]scenario{
		"lists what is due, the longest due first, and says when the next one is": func(f *fixture) {
			f.created("idle")
			due(f, "later", 50)
			due(f, "b", 20)
			due(f, "a", 10)
			due(f, "same", 20)
			due(f, "soon", 31)
			page := work(f, store.WorkQuery{Now: at(30)}, at(31), "a", "b", "same")
			f.same("first", page.Work[0], store.Work{Session: "a", Due: at(10)})
			work(f, store.WorkQuery{Now: at(31)}, at(50), "a", "b", "same", "soon")
			work(f, store.WorkQuery{Now: at(30), Limit: 2}, at(31), "a", "b")
			work(f, store.WorkQuery{Now: at(1)}, at(10))
			work(f, store.WorkQuery{Now: at(90)}, never, "a", "b", "same", "soon", "later")
		},
		"a session that is no longer due is not listed": func(f *fixture) {
			due(f, "s", 10)
			f.commit(f.change("s", 1, "done"))
			work(f, store.WorkQuery{Now: at(30)}, never)
		},
		"a holder keeps a session off the list until it is fenced": func(f *fixture) {
			f.register("p1", 10)
			f.register("p2", 99)
			for session, seconds := range map[string]int{"now": 0, "later": 90} {
				a := f.creation(session)
				a.Claim = &store.Claim{Process: "p1", Claim: "c"}
				a.Index.Due = at(seconds)
				f.commit(a)
			}
			work(f, store.WorkQuery{Now: at(30)}, never)
			f.fence("p2", at(30), "p1")
			page := work(f, store.WorkQuery{Now: at(30)}, at(90), "now")
			f.same("work", page.Work[0], store.Work{Session: "now", Holder: "p1", Due: at(0)})
		},
		"only what the caller can run is listed": func(f *fixture) {
			due(f, "none", 0)
			due(f, "go", 1, "go")
			due(f, "both", 2, "go", "rust")
			due(f, "rust later", 40, "rust")
			can := func(have ...string) func(string) bool {
				return func(need string) bool { return slices.Contains(have, need) }
			}
			work(f, store.WorkQuery{Now: at(30), Can: can()}, never, "none")
			work(f, store.WorkQuery{Now: at(30), Can: can("go")}, never, "none", "go")
			work(f, store.WorkQuery{Now: at(30), Can: can("go", "rust")}, at(40), "none", "go", "both")
			work(f, store.WorkQuery{Now: at(30), Can: can("go"), Limit: 1}, never, "none")
			work(f, store.WorkQuery{Now: at(30)}, at(40), "none", "go", "both")
		},
		"work that the caller cannot run does not hide what it can": func(f *fixture) {
			for i := range 30 {
				due(f, "foreign"+string(rune('a'+i)), i%3, "rust")
			}
			due(f, "mine", 20)
			work(f, store.WorkQuery{
				Now: at(30), Limit: 2, Can: func(string) bool { return false },
			}, never, "mine")
		},
		"a parked session is offered to other builds only, until it is unparked": func(f *fixture) {
			due(f, "s", 0)
			due(f, "later", 90)
			f.must("park", f.Park(f.ctx(), "s", "cannot fold record 7", "build1"))
			f.must("park", f.Park(f.ctx(), "later", "cannot fold record 7", "build1"))
			f.same("parked", f.row("s").Parked, "cannot fold record 7")
			work(f, store.WorkQuery{Now: at(30), Build: "build1"}, never)
			work(f, store.WorkQuery{Now: at(30), Build: "build2"}, at(90), "s")
			f.must("unpark", f.Park(f.ctx(), "s", "", "build1"))
			f.same("parked", f.row("s").Parked, "")
			work(f, store.WorkQuery{Now: at(30), Build: "build1"}, never, "s")
		},
		"a parked session says for whom it is": func(f *fixture) {
			due(f, "s", 0)
			f.must("park", f.Park(f.ctx(), "s", "why", "build1"))
			for name, row := range map[string]store.Session{"row": f.row("s"), "load": f.journal("s").Session, "list": listed(f)} {
				f.same(name, []string{row.Parked, row.ParkedBuild}, []string{"why", "build1"})
				f.same(name+" for its build", row.ParkedFor("build1"), "why")
				f.same(name+" for another", row.ParkedFor("build2"), "")
			}
			f.must("park by another", f.Park(f.ctx(), "s", "not for me", "build2"))
			f.same("the first build may try again", f.row("s").ParkedFor("build1"), "")
			f.must("unpark", f.Park(f.ctx(), "s", "", "build2"))
			f.same("nobody's", f.row("s").ParkedBuild, "")
		},
		"an append of who has read all of a parked session unparks it": func(f *fixture) {
			due(f, "s", 0)
			f.must("park", f.Park(f.ctx(), "s", "why", "build1"))
			a := f.change("s", 1, "input")
			a.Index.Due = at(0)
			f.commit(a)
			f.same("parked", f.row("s").Parked, "")
			work(f, store.WorkQuery{Now: at(30), Build: "build1"}, never, "s")
		},
		"an append that jumps over what its author has not read keeps a session parked": func(f *fixture) {
			due(f, "s", 0)
			f.commit(f.change("s", 1, "input"))
			f.must("park", f.Park(f.ctx(), "s", "why", "build1"))
			a := f.change("s", 1, "outcome")
			a.AnyHead = true
			f.commit(a)
			f.same("parked", f.row("s").ParkedFor("build1"), "why")
		},
	})
}

// listed is the only session of a world, as a list has it.
func listed(f *fixture) store.Session {
	f.Helper()
	rows, _, err := f.Sessions(f.ctx(), store.SessionQuery{})
	f.must("list", err)
	if len(rows) != 1 {
		f.Fatalf("%d sessions", len(rows))
	}
	return rows[0]
}
