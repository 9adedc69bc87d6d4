package storetest

import (
	"fmt"
	"testing"

	"github.com/openworkerai/openworker/store"
)

func testRead(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"what is not there is not found": func(f *fixture) {
			_, err := f.Load(f.ctx(), "nobody", "")
			f.fails("load", err, store.ErrNotFound)
			_, err = f.Session(f.ctx(), "nobody")
			f.fails("session", err, store.ErrNotFound)
			_, err = f.Records(f.ctx(), store.RecordQuery{Session: "nobody"})
			f.fails("records", err, store.ErrNotFound)
			_, err = f.Terminal(f.ctx(), "nobody", "r")
			f.fails("terminal", err, store.ErrNotFound)
			f.fails("park", f.Park(f.ctx(), "nobody", "why", "b1"), store.ErrNotFound)
		},
		"records are selected by number, item and limit": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "2", "3", "4", "5", "6", "7")
			for i := range a.Records {
				a.Records[i].Item = i%2 == 0 // 2, 4, 6
			}
			f.commit(a)
			f.created("s2") // a neighbour must not show
			for _, tc := range []struct {
				query store.RecordQuery
				want  string
			}{
				{store.RecordQuery{}, "[1 2 3 4 5 6 7]"},
				{store.RecordQuery{After: 3}, "[4 5 6 7]"},
				{store.RecordQuery{After: 3, Until: 5}, "[4 5]"},
				{store.RecordQuery{Until: 2}, "[1 2]"},
				{store.RecordQuery{After: 5, Until: 5}, "[]"},
				{store.RecordQuery{After: 7}, "[]"},
				{store.RecordQuery{After: 1 << 40}, "[]"},
				{store.RecordQuery{Until: 1 << 40}, "[1 2 3 4 5 6 7]"},
				{store.RecordQuery{Limit: 3}, "[1 2 3]"},
				{store.RecordQuery{Items: true}, "[2 4 6]"},
				{store.RecordQuery{Items: true, Limit: 2}, "[2 4]"},
				{store.RecordQuery{Items: true, After: 2, Until: 5}, "[4]"},
			} {
				tc.query.Session = "s"
				got, err := f.Records(f.ctx(), tc.query)
				f.must("records", err)
				numbers := []uint64{}
				for _, r := range got {
					numbers = append(numbers, r.Number)
				}
				f.same(fmt.Sprintf("%+v", tc.query), fmt.Sprint(numbers), tc.want)
			}
		},
		"a run's terminal record is found": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "started", "ended", "started", "noise")
			a.Records[0].Run, a.Records[1].Run, a.Records[2].Run = "r1", "r1", "r2"
			a.Records[1].Terminal = true
			f.commit(a)
			got, err := f.Terminal(f.ctx(), "s", "r1")
			f.must("terminal", err)
			f.same("terminal", got, f.journal("s").Records[2])
			_, err = f.Terminal(f.ctx(), "s", "r2")
			f.fails("terminal of a running run", err, store.ErrNotFound)
			f.created("s2")
			_, err = f.Terminal(f.ctx(), "s2", "r1")
			f.fails("terminal of another session's run", err, store.ErrNotFound)
		},
		"heads of sessions": func(f *fixture) {
			f.created("s1")
			f.created("s2")
			f.created("s3")
			f.commit(f.change("s2", 1, "one", "two"))
			deleted := f.change("s3", 1, "gone")
			deleted.Delete = true
			f.commit(deleted)
			got, err := f.Heads(f.ctx(), []string{"s1", "s2", "s3", "nobody"})
			f.must("heads", err)
			f.same("heads", got, map[string]uint64{"s1": 1, "s2": 3})
			got, err = f.Heads(f.ctx(), nil)
			f.must("no heads", err)
			f.same("no heads", got, map[string]uint64{})
		},
		"many sessions' heads come in one call": func(f *fixture) {
			var ids []string
			want := map[string]uint64{}
			for i := range 50 {
				id := fmt.Sprintf("s%d", i)
				f.created(id)
				want[id] = 1
				ids = append(ids, id)
			}
			for i := range 2000 {
				ids = append(ids, fmt.Sprintf("unknown%d", i))
			}
			got, err := f.Heads(f.ctx(), ids)
			f.must("heads", err)
			f.same("heads", got, want)
		},
	})
}

func testSnapshot(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"a load starts behind the snapshot of its schema": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "two")
			a.Snapshot = &store.Snapshot{Schema: "x", Head: 2, Data: []byte("state at two")}
			f.commit(a)
			f.commit(f.change("s", 2, "three"))
			loaded, err := f.Load(f.ctx(), "s", "x")
			f.must("load", err)
			f.same("snapshot", loaded.Snapshot, a.Snapshot)
			f.same("records", kinds(loaded.Records), []string{"three"})
			for _, schema := range []string{"", "y"} {
				loaded, err = f.Load(f.ctx(), "s", schema)
				f.must("load", err)
				if loaded.Snapshot != nil {
					f.Fatalf("schema %q got the snapshot of x", schema)
				}
				f.same("records", kinds(loaded.Records), []string{"created", "two", "three"})
			}
		},
		"a new snapshot replaces the old one": func(f *fixture) {
			f.created("s")
			for i, schema := range []string{"x", "x", "y"} {
				a := f.change("s", uint64(i+1), "more")
				a.Snapshot = &store.Snapshot{Schema: schema, Head: uint64(i + 2), Data: []byte{byte(i)}}
				f.commit(a)
			}
			loaded, err := f.Load(f.ctx(), "s", "y")
			f.must("load", err)
			f.same("snapshot", loaded.Snapshot, &store.Snapshot{Schema: "y", Head: 4, Data: []byte{2}})
			loaded, err = f.Load(f.ctx(), "s", "x")
			f.must("load", err)
			if loaded.Snapshot != nil {
				f.Fatal("the replaced snapshot is still there")
			}
		},
		"a snapshot older than the append is kept as it is": func(f *fixture) {
			f.created("s")
			a := f.change("s", 1, "two", "three")
			a.Snapshot = &store.Snapshot{Schema: "x", Head: 1}
			f.commit(a)
			loaded, err := f.Load(f.ctx(), "s", "x")
			f.must("load", err)
			f.same("records", kinds(loaded.Records), []string{"two", "three"})
		},
	})
}
