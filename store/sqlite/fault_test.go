package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// errFault is what an injected fault looks like to the writer.
var errFault = errors.New("injected fault")

// creation is an append that makes a session with one record.
func creation(session string) store.Append {
	return store.Append{
		ID: "make-" + session, Session: session, Create: &store.Creation{Owner: "ann", Agent: "helper"}, Time: time.Unix(1, 0),
		Records: []store.Record{{Kind: "created"}},
	}
}

func change(session, id string, known uint64, records int) store.Append {
	a := store.Append{ID: id, Session: session, Known: known, Time: time.Unix(2, 0)}
	for i := range records {
		a.Records = append(a.Records, store.Record{Kind: fmt.Sprintf("%s/%d", id, i), Data: []byte(session)})
	}
	return a
}

func appended(t testing.TB, s store.Store, a store.Append) store.Appended {
	t.Helper()
	got, err := s.Append(t.Context(), a)
	if err != nil {
		t.Fatalf("append %s to %s: %v", a.ID, a.Session, err)
	}
	return got
}

func recordKinds(t *testing.T, s store.Store, session string) (kinds []string) {
	t.Helper()
	loaded, err := s.Load(t.Context(), session, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range loaded.Records {
		if r.Number != uint64(i+1) {
			t.Fatalf("record %d of %s has number %d", i+1, session, r.Number)
		}
		kinds = append(kinds, r.Kind)
	}
	if loaded.Session.Head != uint64(len(kinds)) {
		t.Fatalf("head of %s is %d with %d records", session, loaded.Session.Head, len(kinds))
	}
	return kinds
}

func TestACallersContextNeverReachesTheDatabase(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{
		"before its first statement": `SAVEPOINT one`,
		"in its check":               `SELECT s.key`,
		"in its write":               `INSERT INTO events`,
		"before the commit":          `COMMIT`,
	} {
		t.Run("a caller gives up "+name, func(t *testing.T) {
			t.Parallel()
			ctx, giveUp := context.WithCancel(t.Context())
			armed := false
			tap := &tap{before: func(query string) error {
				if armed && strings.HasPrefix(query, at) {
					giveUp()
				}
				return nil
			}}
			s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
			sessions := []string{"impatient", "b", "c"}
			for _, session := range sessions {
				appended(t, s, creation(session))
			}
			errs := make([]error, len(sessions))
			var calls []func()
			for i, session := range sessions {
				callerCtx := t.Context()
				if i == 0 {
					callerCtx = ctx
				}
				calls = append(calls, func() { _, errs[i] = s.Append(callerCtx, change(session, "x", 1, 2)) })
			}
			// The impatient one comes first in its commit, as one whose context might be taken for the commit's.
			together(t, s, tap, func() { armed = true }, calls...)
			for i, session := range sessions[1:] {
				if errs[i+1] != nil {
					t.Errorf("append to %s: %v", session, errs[i+1])
				}
			}
			if errs[0] != nil && !errors.Is(errs[0], store.ErrFateUnknown) {
				t.Errorf("the impatient caller's append: %v, want ErrFateUnknown or none", errs[0])
			}
			for _, session := range sessions {
				appended(t, s, change(session, "x", 1, 2)) // settles the unknown one
				if diff := cmp.Diff([]string{"created", "x/0", "x/1"}, recordKinds(t, s, session)); diff != "" {
					t.Errorf("records of %s (-want +got):\n%s", session, diff)
				}
			}
		})
	}
}

func TestAnErrorOfTheDatabaseEndsTheWholeCommit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after string // the statement that a fault comes before or after
		nth           int
		unknown       bool // the fate is open
		there         bool // it committed all the same
	}{
		"before it began":                   {before: `BEGIN IMMEDIATE`},
		"after it began":                    {after: `BEGIN IMMEDIATE`},
		"at the first savepoint":            {before: `SAVEPOINT one`},
		"in the check of the second":        {before: `SELECT s.key`, nth: 1},
		"in the write of the first":         {before: `UPDATE heads`},
		"in the write of the second":        {after: `INSERT INTO events`, nth: 2},
		"at the end of the first savepoint": {before: `RELEASE one`},
		"right before COMMIT":               {before: `COMMIT`, unknown: true},
		"right after COMMIT":                {after: `COMMIT`, unknown: true, there: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			armed, seen := false, 0
			hit := func(query, want string) error {
				if !armed || want == "" || !strings.HasPrefix(query, want) {
					return nil
				}
				if seen++; seen <= tc.nth {
					return nil
				}
				armed = false
				return errFault
			}
			tap := &tap{
				before: func(query string) error { return hit(query, tc.before) },
				after:  func(query string) error { return hit(query, tc.after) },
			}
			s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
			sessions := []string{"a", "b", "late"}
			for _, session := range sessions {
				appended(t, s, creation(session))
			}
			errs := make([]error, 3)
			calls := []func(){
				func() { _, errs[0] = s.Append(t.Context(), change("a", "x", 1, 2)) },
				func() { _, errs[1] = s.Append(t.Context(), change("b", "x", 1, 2)) },
				// A refusal of this commit rests on nothing if the commit fails, so it must not be told.
				func() { _, errs[2] = s.Append(t.Context(), change("a", "y", 1, 1)) },
			}
			together(t, s, tap, func() { armed = true }, calls...)
			for i, err := range errs {
				if err == nil {
					t.Errorf("append %d was acknowledged", i)
				}
				if errors.Is(err, store.ErrHeadMoved) {
					t.Errorf("append %d was told what never was: %v", i, err)
				}
				if errors.Is(err, store.ErrFateUnknown) != tc.unknown {
					t.Errorf("append %d: error %v, want an unknown fate: %t", i, err, tc.unknown)
				}
				if !errors.Is(err, &api.Error{Code: api.CodeStoreUnavailable}) {
					t.Errorf("append %d: error %v has not the code store_unavailable", i, err)
				}
			}
			want := []string{"created"}
			if tc.there {
				want = append(want, "x/0", "x/1")
			}
			for _, session := range sessions[:2] {
				if diff := cmp.Diff(want, recordKinds(t, s, session)); diff != "" {
					t.Errorf("records of %s (-want +got):\n%s", session, diff)
				}
				if got := appended(t, s, change(session, "x", 1, 2)); got.Repeated != tc.there || got.First != 2 {
					t.Errorf("written again: %+v", got)
				}
				if diff := cmp.Diff([]string{"created", "x/0", "x/1"}, recordKinds(t, s, session)); diff != "" {
					t.Errorf("records of %s once settled (-want +got):\n%s", session, diff)
				}
			}
		})
	}
}

// TestAppendsUnderSeededFaults lets many callers append to their sessions while faults strike at random. What
// was acknowledged is there, what was refused is not, and what is unknown is settled by writing it again.
func TestAppendsUnderSeededFaults(t *testing.T) {
	t.Parallel()
	const seeds, sessions, appends = 40, 6, 12
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			on := false
			strike := func(string) error { // the writer's goroutine alone calls it
				if on && random.IntN(60) == 0 {
					return errFault
				}
				return nil
			}
			tap := &tap{before: strike, after: strike}
			s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
			for i := range sessions {
				appended(t, s, creation(fmt.Sprint("s", i)))
			}
			together(t, s, tap, func() { on = true })
			var group sync.WaitGroup
			for i := range sessions {
				impatience := rand.New(rand.NewPCG(seed, uint64(100+i)))
				group.Go(func() { appendUnderFaults(t, s, fmt.Sprint("s", i), appends, impatience) })
			}
			group.Wait()
			for i := range sessions {
				want := []string{"created"}
				for n := range appends {
					want = append(want, fmt.Sprintf("x%d/0", n), fmt.Sprintf("x%d/1", n))
				}
				if diff := cmp.Diff(want, recordKinds(t, s, fmt.Sprint("s", i))); diff != "" {
					t.Errorf("records of session %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func appendUnderFaults(t *testing.T, s *Store, session string, appends int, impatience *rand.Rand) {
	head, unknown := uint64(1), false
	for n := 0; n < appends; {
		ctx, cancel := t.Context(), func() {}
		if impatience.IntN(4) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(impatience.IntN(3000))*time.Microsecond)
		}
		a := change(session, fmt.Sprint("x", n), head, 2)
		got, err := s.Append(ctx, a)
		cancel()
		switch {
		case err == nil && got.First == head+1 && got.Head == head+2:
			head += 2
			n++
			unknown = false
		case err == nil:
			t.Errorf("%s got %+v behind head %d", a.ID, got, head)
			return
		case errors.Is(err, store.ErrFateUnknown):
			unknown = true // it is written again, unchanged
		case errors.Is(err, &api.Error{Code: api.CodeStoreUnavailable}):
			if unknown {
				continue // this try wrote nothing, which says nothing about the one before
			}
			loaded, err := s.Load(t.Context(), session, "")
			if err != nil || loaded.Session.Head != head || uint64(len(loaded.Records)) != head {
				t.Errorf("after a definite failure behind head %d: head %d, %d records, %v", head, loaded.Session.Head, len(loaded.Records), err)
				return
			}
		default:
			t.Errorf("%s: %v", a.ID, err)
			return
		}
	}
}

func TestAnOperationsOwnFailureLeavesItsNeighboursAlone(t *testing.T) {
	t.Parallel()
	tap := &tap{}
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
	appended(t, s, creation("a"))
	var ownErr, neighbourErr error
	together(t, s, tap, func() {},
		func() {
			ownErr = s.write(t.Context(), func(ctx context.Context, c *conn) (refusal, err error) {
				if err := c.exec(ctx, `UPDATE heads SET head = 99`); err != nil {
					return nil, err
				}
				return nil, c.exec(ctx, `INSERT INTO sessions SELECT * FROM sessions`)
			})
		},
		func() { _, neighbourErr = s.Append(t.Context(), change("a", "x", 1, 1)) },
	)
	if !errors.Is(ownErr, &api.Error{Code: api.CodeInternal}) {
		t.Errorf("the operation that breaks a constraint: %v", ownErr)
	}
	if neighbourErr != nil {
		t.Errorf("its neighbour: %v", neighbourErr)
	}
	if diff := cmp.Diff([]string{"created", "x/0"}, recordKinds(t, s, "a")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
