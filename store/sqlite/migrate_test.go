package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

// versionOne is what a build of schema 1 left behind: a session with records, a receipt, a snapshot and an open
// interaction, a deleted one, a process, an agent and usage.
const versionOne = `
	INSERT INTO meta (key, value) VALUES ('store', 'the old store'), ('version', '1');
	INSERT INTO processes (key, id, lease, fenced, host, pid, address) VALUES (3, 'p', 1000000, 1, 'host', 7, '');
	INSERT INTO sessions (key, id, state, owner, agent, digest, metadata, creation_key, fingerprint, created) VALUES
		(1, 's', 0, 'ann', 'helper', 'd', '{"a":"b"}', 'key', 'print', 1000),
		(2, 'gone', 1, 'ann', 'helper', 'd', '', NULL, '', 1000);
	INSERT INTO heads (key, head, epoch, claim, holder, due, updated, activity, needs, parked, parked_build) VALUES
		(1, 3, 2, 'c', 3, 2000, 2000, 'active', '["n"]', '', ''),
		(2, 1, 1, '', 0, 0, 1000, 'idle', '', '', '');
	INSERT INTO events (id, session, number, count, time, append, version, flags, kind, run, data) VALUES
		(1, 1, 1, 1, 1000, 'a1', 1, 0, 'created', '', x'7b7d'),
		(2, 2, 1, 1, 1000, 'a2', 1, 0, 'created', '', x'7b7d'),
		(3, 1, 2, 2, 2000, 'a3', 1, 1, 'accepted', '~.r1', x'01'),
		(4, 1, 3, 0, 0, '', 1, 2, 'ended', '~.r1', x'02');
	INSERT INTO receipts (session, key, run, accepted, fields) VALUES (1, 'k', '~.r1', 2, '{"message":"h"}');
	INSERT INTO snapshots (session, head, schema, data) VALUES (1, 2, 'shape', x'ff');
	INSERT INTO interactions (number, session, id, data) VALUES (1, 1, 'i', x'7b7d');
	INSERT INTO usage (owner, day, agent, turns, input, cached, output, reasoning, estimated) VALUES ('ann', '2026-03-04', 'helper', 1, 2, 3, 4, 5, 0);
	INSERT INTO agents (owner, name, digest, definition, created) VALUES ('ann', 'helper', 'd', x'7b7d', 1000);`

// oldStore makes a state directory with a store of schema 1.
func oldStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := (&database{path: filepath.Join(dir, File), busy: time.Second}).openWriter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, err := migrations.ReadFile("migrations/0001.sql")
	if err := errors.Join(err, c.script(background, string(first)), c.script(background, versionOne), c.close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// everything is what a store says about what versionOne left.
func everything(t *testing.T, s *Store) map[string]any {
	t.Helper()
	all := map[string]any{"id": s.ID(), "format": s.WriteFormat()}
	keep := func(what string, got any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		all[what] = got
	}
	loaded, err := s.Load(t.Context(), "s", "shape")
	keep("session", loaded, err)
	records, err := s.Records(t.Context(), store.RecordQuery{Session: "s"})
	keep("records", records, err)
	terminal, err := s.Terminal(t.Context(), "s", "s.r1")
	keep("terminal", terminal, err)
	receipt, err := s.Receipt(t.Context(), "s", "k")
	keep("receipt", receipt, err)
	open, _, err := s.Interactions(t.Context(), "ann", "", 0)
	keep("interactions", open, err)
	usage, err := s.Usage(t.Context(), "ann", time.Time{})
	keep("usage", usage, err)
	agent, err := s.Agent(t.Context(), "ann", "helper")
	keep("agent", agent, err)
	session, fingerprint, err := s.CreationKey(t.Context(), "ann", "helper", "key")
	keep("creation key", session+fingerprint, err)
	deleted, err := s.Deleted(t.Context(), 0)
	keep("deleted", deleted, err)
	return all
}

// wantEverything is versionOne in the store's terms.
func wantEverything() map[string]any {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	records := []store.Record{
		{Number: 1, Time: at(1), Kind: "created", Version: 1, Append: "a1", Data: []byte("{}")},
		{Number: 2, Time: at(2), Kind: "accepted", Version: 1, Run: "s.r1", Item: true, Append: "a3", Data: []byte{1}},
		{Number: 3, Time: at(2), Kind: "ended", Version: 1, Run: "s.r1", Terminal: true, Append: "a3", Data: []byte{2}},
	}
	return map[string]any{
		"id": "the old store", "format": 1,
		"session": store.Loaded{
			Session: store.Session{
				ID: "s", Owner: "ann", Agent: "helper", Digest: "d", Metadata: map[string]string{"a": "b"}, Head: 3, Epoch: 2,
				Claim: "c", Holder: "p", HolderGone: true, LeaseUntil: at(1000), Created: at(1), Updated: at(2),
				Index: store.Index{Due: at(2), Needs: []string{"n"}, Activity: "active"},
			},
			Snapshot: &store.Snapshot{Schema: "shape", Head: 2, Data: []byte{0xff}},
			Records:  records[2:],
		},
		"records": records, "terminal": records[2],
		"receipt":      store.Receipt{Key: "k", Run: "s.r1", Accepted: 2, Fields: map[string]string{"message": "h"}},
		"interactions": []store.SessionInteraction{{Session: "s", Interaction: store.Interaction{ID: "i", Data: []byte("{}")}}},
		"usage":        []store.Usage{{Agent: "helper", UsageDelta: store.UsageDelta{Day: "2026-03-04", Turns: 1, Input: 2, Cached: 3, Output: 4, Reasoning: 5}}},
		"agent":        store.Agent{Owner: "ann", Name: "helper", Digest: "d", Definition: []byte("{}"), Created: at(1)},
		"creation key": "sprint", "deleted": []string{"gone"},
	}
}

func TestAStoreOfSchema1IsBroughtUpToDateWithAllThatIsInIt(t *testing.T) {
	t.Parallel()
	dir := oldStore(t)
	before, err := Inspect(t.Context(), dir)
	if diff := cmp.Diff(Inspection{Exists: true, Store: "the old store", Schema: 1, Known: schema}, before); diff != "" || err != nil {
		t.Fatalf("an inspection of the old store (-want +got), %v:\n%s", err, diff)
	}
	s := opened(t, Config{Dir: dir})
	if diff := cmp.Diff(wantEverything(), everything(t, s)); diff != "" {
		t.Errorf("after the migration (-want +got):\n%s", diff)
	}
	meta, err := metaOf(t, dir)
	if err != nil || meta.version != schema || meta.oldest != 2 || meta.id != "the old store" {
		t.Errorf("the store says %+v, %v", meta, err)
	}
	// The old session takes files, and the old deleted one can be cleaned.
	sealedFile(t, s, "s", "s-a1", marked(1000))
	a := change("s", "message", 3, 1)
	a.Accept = []string{"s-a1"}
	appended(t, s, a)
	if more, err := s.Clean(t.Context(), "gone", 100); more || err != nil {
		t.Errorf("clean: %t, %v", more, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, Config{Dir: dir})
	if got := recordKinds(t, s, "s"); len(got) != 4 {
		t.Errorf("opened again: records %v", got)
	}
	if f, err := s.File(t.Context(), "s", "s-a1"); err != nil || f.State != store.FileAccepted {
		t.Errorf("opened again: file %+v, %v", f, err)
	}
}

func TestManyWhoMigrateAtOnceDoItOnce(t *testing.T) {
	t.Parallel()
	dir := oldStore(t)
	stores := make([]*Store, 6)
	var group sync.WaitGroup
	for i := range stores {
		group.Go(func() {
			var err error
			if stores[i], err = Open(t.Context(), Config{Dir: dir, BusyTimeout: 30 * time.Second}); err != nil {
				t.Errorf("open %d: %v", i, err)
			}
		})
	}
	group.Wait()
	for i, s := range stores {
		if s == nil {
			continue
		}
		if diff := cmp.Diff(wantEverything(), everything(t, s)); diff != "" {
			t.Errorf("store %d (-want +got):\n%s", i, diff)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close %d: %v", i, err)
		}
	}
}

func TestAMigrationThatFailsLeavesTheOldStore(t *testing.T) {
	t.Parallel()
	dir := oldStore(t)
	for _, at := range []struct {
		statement string
		before    bool
	}{
		{`-- Schema 2`, true}, {`-- Schema 2`, false},
		{`INSERT INTO meta`, true}, {`INSERT INTO meta`, false},
		{`COMMIT`, true},
	} {
		t.Run(fmt.Sprint("at ", at.statement, " before it: ", at.before), func(t *testing.T) {
			strike := func(query string) error {
				if strings.HasPrefix(query, at.statement) {
					return errFault
				}
				return nil
			}
			tap := &tap{after: strike}
			if at.before {
				tap.before, tap.after = strike, nil
			}
			if _, err := Open(t.Context(), Config{Dir: dir, wrap: tap.wrap}); err == nil {
				t.Fatal("it opened")
			}
			meta, err := metaOf(t, dir)
			if err != nil || meta.version != 1 || meta.oldest != 1 {
				t.Fatalf("the store says %+v, %v", meta, err)
			}
		})
	}
	s := opened(t, Config{Dir: dir})
	if diff := cmp.Diff(wantEverything(), everything(t, s)); diff != "" {
		t.Errorf("after the migration (-want +got):\n%s", diff)
	}
}

func TestABuildOfSchema1KeepsOffAStoreWithFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	opened(t, Config{Dir: dir})
	const its = 1 // that build holds its own schema against what the store says
	if meta, err := metaOf(t, dir); err != nil || meta.version <= its || meta.oldest <= its {
		t.Errorf("the store says %+v, %v", meta, err)
	}
}

func metaOf(t *testing.T, dir string) (m meta, err error) {
	t.Helper()
	c, err := (&database{path: filepath.Join(dir, File), busy: time.Second}).open("ro")
	if err != nil {
		t.Fatal(err)
	}
	m, err = readMeta(c)
	return m, errors.Join(err, c.close())
}
