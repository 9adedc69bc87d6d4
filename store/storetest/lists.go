package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

func testAgent(t *testing.T, b Backend) {
	agent := func(owner, name, digest string) store.Agent {
		return store.Agent{Owner: owner, Name: name, Digest: digest, Definition: []byte(`{"name":"` + name + `"}`), Created: at(1)}
	}
	each(t, b, map[string]scenario{
		"the first definition of a name stands": func(f *fixture) {
			first := agent("ann", "a", "d1")
			got, made, err := f.PutAgent(f.ctx(), first)
			f.must("put", err)
			f.same("put", got, first)
			f.same("made", made, true)
			for _, later := range []store.Agent{first, agent("ann", "a", "d2")} {
				got, made, err = f.PutAgent(f.ctx(), later)
				f.must("put again", err)
				f.same("put again", got, first)
				f.same("made again", made, false)
			}
			_, made, err = f.PutAgent(f.ctx(), agent("bob", "a", "d2"))
			f.must("put of another owner", err)
			f.same("made for another owner", made, true)
		},
		"a definition is found by name and by digest": func(f *fixture) {
			want := agent("ann", "a", "d1")
			_, _, err := f.PutAgent(f.ctx(), want)
			f.must("put", err)
			got, err := f.Agent(f.ctx(), "ann", "a")
			f.must("by name", err)
			f.same("by name", got, want)
			got, err = f.AgentByDigest(f.ctx(), "d1")
			f.must("by digest", err)
			f.same("by digest", got, want)
			_, err = f.Agent(f.ctx(), "bob", "a")
			f.fails("another owner's", err, store.ErrNotFound)
			_, err = f.AgentByDigest(f.ctx(), "d2")
			f.fails("unknown digest", err, store.ErrNotFound)
		},
		"an owner's definitions are paged by name": func(f *fixture) {
			for _, name := range []string{"c", "a", "e", "d", "b"} {
				_, _, err := f.PutAgent(f.ctx(), agent("", name, "d"+name))
				f.must("put", err)
			}
			_, _, err := f.PutAgent(f.ctx(), agent("bob", "bb", "x"))
			f.must("put", err)
			var names []string
			pages := paged(f, func(cursor string, limit int) ([]store.Agent, string, error) {
				return f.Agents(f.ctx(), "", cursor, limit)
			}, 2)
			for _, a := range pages {
				names = append(names, a.Name)
			}
			f.same("names", names, []string{"a", "b", "c", "d", "e"})
		},
	})
}

// paged reads a list to its end and checks that each page but the last is full.
func paged[T any](f *fixture, list func(cursor string, limit int) ([]T, string, error), limit int) []T {
	f.Helper()
	var all []T
	for cursor := ""; ; {
		page, next, err := list(cursor, limit)
		f.must("page", err)
		all = append(all, page...)
		if next == "" {
			return all
		}
		if len(page) != limit || next == cursor {
			f.Fatalf("page of %d with more to come behind %q, then %q", len(page), cursor, next)
		}
		cursor = next
	}
}

func testList(t *testing.T, b Backend) {
	session := func(f *fixture, id, owner, agent, activity string, seconds int) {
		a := f.creation(id)
		a.Create.Owner, a.Create.Agent = owner, agent
		a.Time, a.Index.Activity = at(seconds), activity
		f.commit(a)
	}
	ids := func(rows []store.Session) []string {
		var all []string
		for _, row := range rows {
			all = append(all, row.ID)
		}
		return all
	}
	each(t, b, map[string]scenario{
		"sessions come newest first, the younger one first at the same moment, on pages of any size": func(f *fixture) {
			for i, seconds := range []int{5, 5, 9, 5, 1, 5, 9} {
				session(f, fmt.Sprintf("s%d", i), "ann", "helper", "idle", seconds)
			}
			touched := f.change("s4", 1, "again")
			touched.Time = at(20)
			f.commit(touched)
			want := []string{"s4", "s6", "s2", "s5", "s3", "s1", "s0"}
			for limit := 1; limit <= 8; limit++ {
				rows := paged(f, func(cursor string, limit int) ([]store.Session, string, error) {
					return f.Sessions(f.ctx(), store.SessionQuery{Cursor: cursor, Limit: limit})
				}, limit)
				f.same("sessions", ids(rows), want)
			}
			rows, next, err := f.Sessions(f.ctx(), store.SessionQuery{})
			f.must("sessions", err)
			f.same("all at once", [2]any{ids(rows), next}, [2]any{want, ""})
			f.same("row", rows[3], f.row("s5"))
		},
		"sessions are selected by owner, agent, activity and age": func(f *fixture) {
			session(f, "1", "ann", "a", "idle", 1)
			session(f, "2", "ann", "b", "active", 2)
			session(f, "3", "bob", "a", "idle", 3)
			session(f, "4", "ann", "a", "waiting", 4)
			for _, tc := range []struct {
				query store.SessionQuery
				want  []string
			}{
				{store.SessionQuery{Owner: "ann"}, []string{"4", "2", "1"}},
				{store.SessionQuery{Agent: "a"}, []string{"4", "3", "1"}},
				{store.SessionQuery{Activity: "idle"}, []string{"3", "1"}},
				{store.SessionQuery{Before: at(3)}, []string{"2", "1"}},
				{store.SessionQuery{Owner: "ann", Agent: "a", Activity: "waiting"}, []string{"4"}},
				{store.SessionQuery{Owner: "eve"}, nil},
			} {
				rows, next, err := f.Sessions(f.ctx(), tc.query)
				f.must("sessions", err)
				f.same(fmt.Sprintf("%+v", tc.query), ids(rows), tc.want)
				f.same("next", next, "")
			}
		},
		"a cursor of nobody's is refused": func(f *fixture) {
			f.created("s")
			invalid := &api.Error{Code: api.CodeInvalidRequest}
			_, _, err := f.Sessions(f.ctx(), store.SessionQuery{Cursor: "nonsense"})
			f.fails("sessions", err, invalid)
			_, _, err = f.Interactions(f.ctx(), "", "nonsense", 1)
			f.fails("interactions", err, invalid)
		},
		"open interactions come oldest first until they are closed": func(f *fixture) {
			session(f, "s1", "ann", "helper", "waiting", 0)
			session(f, "s2", "bob", "helper", "waiting", 0)
			open := func(session string, known uint64, opened []string, closed ...string) {
				f.Helper()
				a := f.change(session, known, "asked")
				for _, id := range opened {
					a.Opened = append(a.Opened, store.Interaction{ID: id, Data: []byte("about " + id)})
				}
				a.Closed = closed
				f.commit(a)
			}
			list := func(owner string) (got []string) {
				f.Helper()
				for _, in := range paged(f, func(cursor string, limit int) ([]store.SessionInteraction, string, error) {
					return f.Interactions(f.ctx(), owner, cursor, limit)
				}, 2) {
					got = append(got, in.Session+"/"+in.ID+": "+string(in.Data))
				}
				return got
			}
			open("s1", 1, []string{"z"})
			open("s2", 1, []string{"a", "b"})
			open("s1", 2, []string{"c"})
			f.same("all", list(""), []string{"s1/z: about z", "s2/a: about a", "s2/b: about b", "s1/c: about c"})
			f.same("ann's", list("ann"), []string{"s1/z: about z", "s1/c: about c"})
			open("s1", 3, []string{"d", "e"}, "z", "e", "unknown")
			f.same("later", list(""), []string{"s2/a: about a", "s2/b: about b", "s1/c: about c", "s1/d: about d"})
			again := f.change("s1", 4, "changed")
			again.Opened = []store.Interaction{{ID: "c", Data: []byte("anew")}}
			f.commit(again)
			f.same("opened again", list("ann"), []string{"s1/c: anew", "s1/d: about d"})
		},
		"an id of one session's interaction says nothing about another's": func(f *fixture) {
			for _, id := range []string{"s1", "s2"} {
				f.created(id)
				a := f.change(id, 1, "asked")
				a.Opened = []store.Interaction{{ID: "i", Data: []byte(id)}}
				f.commit(a)
			}
			a := f.change("s1", 2, "answered")
			a.Closed = []string{"i"}
			f.commit(a)
			got, _, err := f.Interactions(f.ctx(), "", "", 0)
			f.must("interactions", err)
			f.same("open", got, []store.SessionInteraction{{Session: "s2", Interaction: store.Interaction{ID: "i", Data: []byte("s2")}}})
		},
	})
}

func testUsage(t *testing.T, b Backend) {
	use := func(f *fixture, session string, known uint64, deltas ...store.UsageDelta) {
		f.Helper()
		a := f.change(session, known, "used")
		a.Usage = deltas
		f.commit(a)
	}
	each(t, b, map[string]scenario{
		"is summed by agent and day, of an owner or of all": func(f *fixture) {
			for id, of := range map[string][2]string{"s1": {"ann", "a"}, "s2": {"ann", "b"}, "s3": {"bob", "a"}} {
				a := f.creation(id)
				a.Create.Owner, a.Create.Agent = of[0], of[1]
				f.commit(a)
			}
			use(f, "s1", 1, store.UsageDelta{Day: "2026-03-04", Turns: 1, Input: 10, Cached: 2, Output: 3, Reasoning: 1})
			use(f, "s1", 2, store.UsageDelta{Day: "2026-03-04", Input: 5, Estimated: true}, store.UsageDelta{Day: "2026-03-05", Turns: 1})
			use(f, "s2", 1, store.UsageDelta{Day: "2026-03-04", Turns: 7})
			use(f, "s3", 1, store.UsageDelta{Day: "2026-03-04", Turns: 2, Output: 1})
			a4 := store.UsageDelta{Day: "2026-03-04", Turns: 1, Input: 15, Cached: 2, Output: 3, Reasoning: 1, Estimated: true}
			both := a4
			both.Turns, both.Output = 3, 4
			b4 := store.UsageDelta{Day: "2026-03-04", Turns: 7}
			a5 := store.UsageDelta{Day: "2026-03-05", Turns: 1}
			for _, tc := range []struct {
				owner string
				since time.Time
				want  []store.Usage
			}{
				{"ann", time.Time{}, []store.Usage{{Agent: "a", UsageDelta: a4}, {Agent: "b", UsageDelta: b4}, {Agent: "a", UsageDelta: a5}}},
				{"", time.Time{}, []store.Usage{{Agent: "a", UsageDelta: both}, {Agent: "b", UsageDelta: b4}, {Agent: "a", UsageDelta: a5}}},
				{"ann", time.Date(2026, 3, 5, 23, 0, 0, 0, time.UTC), []store.Usage{{Agent: "a", UsageDelta: a5}}},
				{"eve", time.Time{}, nil},
			} {
				got, err := f.Usage(f.ctx(), tc.owner, tc.since)
				f.must("usage", err)
				f.same("usage of "+tc.owner, got, tc.want)
			}
		},
		"outlives its session": func(f *fixture) {
			f.created("s")
			use(f, "s", 1, store.UsageDelta{Day: "2026-03-04", Turns: 3})
			f.deleted("s", 2)
			f.cleaned("s")
			got, err := f.Usage(f.ctx(), "ann", time.Time{})
			f.must("usage", err)
			f.same("usage", got, []store.Usage{{Agent: "helper", UsageDelta: store.UsageDelta{Day: "2026-03-04", Turns: 3}}})
		},
	})
}
