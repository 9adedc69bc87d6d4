package memstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/storetest"
)

type world struct{ *memstore.Store }

func (w world) Connect(*testing.T) store.Store    { return w.Store }
func (w world) Kill(_ *testing.T, process string) { w.Store.Kill(process) }
func newWorld(*testing.T) storetest.World         { return world{memstore.New(memstore.Config{})} }
func TestStore(t *testing.T)                      { storetest.Run(t, storetest.Backend{New: newWorld}) }
func fates(f ...memstore.Fate) func(store.Append) memstore.Fate {
	return func(store.Append) memstore.Fate {
		if len(f) == 0 {
			return memstore.Commit
		}
		next := f[0]
		f = f[1:]
		return next
	}
}

func change(id string, known uint64) store.Append {
	return store.Append{ID: id, Session: "s", Known: known, Time: time.Unix(1, 0), Records: []store.Record{{Kind: id}}}
}

func TestFates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fate memstore.Fate
		want error
		// after says which records are there after the append, and after landing.
		after, landed []string
	}{
		"a sound append":                     {memstore.Commit, nil, []string{"made", "x"}, []string{"made", "x"}},
		"a failure that wrote nothing":       {memstore.FailBefore, &api.Error{Code: api.CodeStoreUnavailable}, []string{"made"}, []string{"made"}},
		"an unknown fate that wrote nothing": {memstore.LoseUnknown, store.ErrFateUnknown, []string{"made"}, []string{"made"}},
		"an unknown fate that committed":     {memstore.CommitThenUnknown, store.ErrFateUnknown, []string{"made", "x"}, []string{"made", "x"}},
		"an unknown fate that commits later": {memstore.CommitLater, store.ErrFateUnknown, []string{"made"}, []string{"made", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memstore.New(memstore.Config{Fault: fates(memstore.Commit, tc.fate)})
			made := change("made", 0)
			made.Create = &store.Creation{}
			if _, err := s.Append(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			x := change("x", 1)
			if _, err := s.Append(t.Context(), x); !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			check := func(when string, want []string) {
				t.Helper()
				loaded, err := s.Load(t.Context(), "s", "")
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range loaded.Records {
					got = append(got, r.Kind)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("records %s (-want +got):\n%s", when, diff)
				}
			}
			check("after the append", tc.after)
			s.Land()
			check("after landing", tc.landed)
			again, err := s.Append(t.Context(), x)
			if err != nil || again.First != 2 || again.Head != 2 {
				t.Fatalf("written again: %+v, %v", again, err)
			}
			check("after writing it again", []string{"made", "x"})
		})
	}
}

func TestALateCommitComesBeforeTheNextAppendOfItsSession(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Config{Fault: fates(memstore.Commit, memstore.CommitLater)})
	made := change("made", 0)
	made.Create = &store.Creation{}
	if _, err := s.Append(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), change("late", 1)); !errors.Is(err, store.ErrFateUnknown) {
		t.Fatal(err)
	}
	met, err := s.Append(t.Context(), change("next", 1))
	if !errors.Is(err, store.ErrHeadMoved) || len(met.Tail) != 1 || met.Tail[0].Append != "late" {
		t.Fatalf("%+v, %v; want the late append in the tail", met, err)
	}
}
