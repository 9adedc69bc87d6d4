package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/store"
)

// naive is a store as one would explain it: flat lists, searched from end to end.
type naive struct {
	sessions  []*naiveSession
	processes map[string]string // id → "live" or "fenced"
	keys      map[string]string // creation key → session
}

type naiveSession struct {
	id, key        string
	records        []store.Record
	receipts       map[string]store.Receipt
	epoch          uint64
	claim, holder  string
	index          store.Index
	updated        time.Time
	deleted, clean bool
	open           []string
	files          []*naiveFile
}

func (n *naive) find(id string) *naiveSession {
	for _, s := range n.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}

// append says what must happen to an append, and does it.
func (n *naive) append(a store.Append) (store.Appended, error) {
	s := n.find(a.Session)
	if s == nil && a.Create == nil {
		return store.Appended{}, store.ErrNotFound
	}
	if s != nil {
		var own []store.Record
		var before []store.Record
		for _, r := range s.records {
			if r.Number > a.Known && r.Append == a.ID {
				own = append(own, r)
			} else if r.Number > a.Known && len(own) == 0 {
				before = append(before, r)
			}
		}
		if len(own) > 0 {
			return store.Appended{
				First: own[0].Number, Head: own[len(own)-1].Number, Tail: before,
				Epoch: s.epoch, Holder: s.holder, Repeated: true,
			}, nil
		}
		if a.Create != nil {
			return store.Appended{}, store.ErrExists
		}
		if s.deleted {
			return store.Appended{}, store.ErrDeleted
		}
	} else {
		if a.Create.Key != "" && n.keys[a.Create.Key] != "" {
			return store.Appended{}, store.ErrExists
		}
		s = &naiveSession{id: a.Session, key: a.Create.Key, receipts: map[string]store.Receipt{}}
	}
	for _, r := range a.Receipts {
		if _, taken := s.receipts[r.Key]; taken {
			return store.Appended{}, store.ErrReceiptTaken
		}
	}
	head := uint64(len(s.records))
	met := store.Appended{Head: head, Epoch: s.epoch, Holder: s.holder}
	for _, r := range s.records {
		if r.Number > a.Known {
			met.Tail = append(met.Tail, r)
		}
	}
	gone := s.holder != "" && n.processes[s.holder] != "live"
	if a.Known > head || a.Known < head && !a.AnyHead {
		return met, store.ErrHeadMoved
	}
	if a.Fence != nil && (s.holder == "" || gone || s.epoch != a.Fence.Epoch || s.claim != a.Fence.Claim) {
		return met, store.ErrFenced
	}
	if a.Claim != nil {
		if a.Claim.Epoch != s.epoch || a.Claim.From != s.holder || s.holder != "" && !gone {
			return met, store.ErrClaimed
		}
		if n.processes[a.Claim.Process] != "live" {
			return met, store.ErrFenced
		}
	}
	files := s.copyFiles()
	if err := s.change(a); err != nil {
		s.files = files
		return store.Appended{}, err
	}
	if a.Claim != nil {
		s.epoch, s.claim, s.holder = s.epoch+1, a.Claim.Claim, a.Claim.Process
	}
	if a.Create != nil {
		n.sessions = append(n.sessions, s)
		if a.Create.Key != "" {
			n.keys[a.Create.Key] = s.id
		}
	}
	for _, r := range a.Records {
		r.Number, r.Append, r.Time = uint64(len(s.records)+1), a.ID, a.Time
		s.records = append(s.records, r)
	}
	for _, r := range a.Receipts {
		s.receipts[r.Key] = r
	}
	s.updated = a.Time
	if len(met.Tail) > 0 {
		s.index.Due = a.Time
	} else {
		s.index = a.Index
		if a.Release {
			s.claim, s.holder = "", ""
		}
	}
	for _, in := range a.Opened {
		if !slices.Contains(s.open, in.ID) {
			s.open = append(s.open, in.ID)
		}
	}
	s.open = slices.DeleteFunc(s.open, func(id string) bool { return slices.Contains(a.Closed, id) })
	if a.Delete {
		s.deleted, s.epoch, s.claim, s.holder = true, s.epoch+1, "", ""
		delete(n.keys, s.key)
	}
	return store.Appended{First: head + 1, Head: uint64(len(s.records)), Tail: met.Tail, Epoch: s.epoch, Holder: s.holder}, nil
}

// work lists what is due and free, as ids.
func (n *naive) work(now time.Time) []string {
	var due []*naiveSession
	for _, s := range n.sessions {
		if !s.deleted && !s.index.Due.IsZero() && !s.index.Due.After(now) && (s.holder == "" || n.processes[s.holder] != "live") {
			due = append(due, s)
		}
	}
	slices.SortStableFunc(due, func(a, b *naiveSession) int { return a.index.Due.Compare(b.index.Due) })
	var ids []string
	for _, s := range due {
		ids = append(ids, s.id)
	}
	return ids
}

// list lists sessions as lists do, as ids.
func (n *naive) list() []string {
	type aged struct {
		age int
		s   *naiveSession
	}
	var live []aged
	for i, s := range n.sessions {
		if !s.deleted {
			live = append(live, aged{i, s})
		}
	}
	slices.SortFunc(live, func(a, b aged) int {
		return cmp.Or(b.s.updated.Compare(a.s.updated), cmp.Compare(b.age, a.age))
	})
	var ids []string
	for _, l := range live {
		ids = append(ids, l.s.id)
	}
	return ids
}

func testModel(t *testing.T, b Backend) {
	// One world for all runs, and two connections, since making them is dear: each run's names are its own.
	world := b.New(t)
	stores := []store.Store{world.Connect(t), world.Connect(t)}
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &machine{
			T: rt, stores: stores, prefix: fmt.Sprintf("run%d-", run), world: world, t: t,
			naive: &naive{processes: map[string]string{}, keys: map[string]string{}},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"again":    m.again,
			"register": m.register,
			"kill":     m.kill,
			"clean":    m.clean,
			"stage":    m.stage,
			"put":      m.put,
			"seal":     m.seal,
			"discard":  m.discard,
			"":         m.compare,
		})
	})
}

type machine struct {
	*rapid.T
	t      *testing.T
	world  World
	stores []store.Store
	prefix string
	naive  *naive
	ids    int
	done   []store.Append
}

func (m *machine) any(rt *rapid.T) store.Store {
	return rapid.SampledFrom(m.stores).Draw(rt, "connection")
}

func (m *machine) id(rt *rapid.T, kind string, n int) string {
	return m.prefix + kind + fmt.Sprint(rapid.IntRange(1, n).Draw(rt, kind))
}

func (m *machine) append(rt *rapid.T) {
	m.ids++
	a := store.Append{
		ID: fmt.Sprintf("%sa%d", m.prefix, m.ids), Session: m.id(rt, "s", 4),
		Time: at(rapid.IntRange(0, 5).Draw(rt, "time")),
		Index: store.Index{
			Activity: rapid.SampledFrom([]string{"idle", "active"}).Draw(rt, "activity"),
			// Needs keep runs that share a world apart.
			Needs: []string{m.prefix},
		},
	}
	if rapid.Bool().Draw(rt, "due") {
		a.Index.Due = at(rapid.IntRange(0, 5).Draw(rt, "due at"))
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "records") {
		a.Records = append(a.Records, store.Record{Kind: fmt.Sprint("k", i), Version: 1, Item: i == 0, Data: []byte(a.ID)})
	}
	if s := m.naive.find(a.Session); s == nil || rapid.IntRange(0, 9).Draw(rt, "create again") == 0 {
		a.Create = &store.Creation{Owner: m.prefix, Agent: "helper"}
		if rapid.Bool().Draw(rt, "keyed") {
			a.Create.Key = m.id(rt, "key", 2)
		}
		if s == nil && rapid.Bool().Draw(rt, "claimed") {
			a.Claim = &store.Claim{Process: m.id(rt, "p", 4), Claim: a.ID}
		}
	} else {
		m.aim(rt, &a, s)
	}
	if rapid.Bool().Draw(rt, "receipt") {
		a.Receipts = []store.Receipt{{Key: m.id(rt, "r", 6), Run: a.ID, Accepted: a.Known + 1}}
	}
	if rapid.Bool().Draw(rt, "open") {
		a.Opened = []store.Interaction{{ID: m.id(rt, "i", 3), Data: []byte("{}")}}
	}
	if rapid.Bool().Draw(rt, "close") {
		a.Closed = []string{m.id(rt, "i", 3)}
	}
	if rapid.Bool().Draw(rt, "files") {
		m.addFiles(rt, &a)
	}
	m.apply(rt, a)
}

// aim makes an append to a session that is there: mostly right, sometimes late or of somebody else.
func (m *machine) aim(rt *rapid.T, a *store.Append, s *naiveSession) {
	back := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(rt, "known before head")
	a.Known = uint64(max(0, len(s.records)-back))
	a.AnyHead = rapid.IntRange(0, 3).Draw(rt, "any head") == 0
	off := uint64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "epoch off"))
	switch rapid.IntRange(0, 3).Draw(rt, "right") {
	case 0:
		a.Fence = &store.Fence{Epoch: s.epoch - min(off, s.epoch), Claim: s.claim}
		a.Release = rapid.Bool().Draw(rt, "release")
	case 1:
		a.Claim = &store.Claim{Process: m.id(rt, "p", 4), Claim: a.ID, Epoch: s.epoch - min(off, s.epoch), From: s.holder}
		a.Release = rapid.IntRange(0, 4).Draw(rt, "release at once") == 0
	}
	a.Delete = rapid.IntRange(0, 14).Draw(rt, "delete") == 0
}

func (m *machine) again(rt *rapid.T) {
	if len(m.done) == 0 {
		rt.Skip("nothing was appended yet")
	}
	m.apply(rt, rapid.SampledFrom(m.done).Draw(rt, "repeated"))
}

func (m *machine) apply(rt *rapid.T, a store.Append) {
	got, gotErr := m.any(rt).Append(m.t.Context(), a)
	want, wantErr := m.naive.append(a)
	if !errors.Is(gotErr, wantErr) {
		rt.Fatalf("append %+v: error %v, want %v", a, gotErr, wantErr)
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("append %+v (-want +got):\n%s", a, diff)
	}
	if gotErr == nil && !got.Repeated {
		m.done = append(m.done, a)
	}
}

func (m *machine) register(rt *rapid.T) {
	id := m.id(rt, "p", 4)
	if m.naive.processes[id] != "" {
		rt.Skip("it is registered")
	}
	if err := m.any(rt).Register(m.t.Context(), store.Process{ID: id, LeaseUntil: at(1 << 20)}); err != nil {
		rt.Fatal(err)
	}
	m.naive.processes[id] = "live"
}

func (m *machine) kill(rt *rapid.T) {
	id := m.id(rt, "p", 4)
	if m.naive.processes[id] != "live" {
		rt.Skip("it is not alive")
	}
	m.world.Kill(m.t, id)
	fenced, err := m.any(rt).Fence(m.t.Context(), "", at(0), margin)
	if err != nil || !slices.Equal(fenced, []string{id}) {
		rt.Fatalf("fenced %v, %v, want %s", fenced, err, id)
	}
	m.naive.processes[id] = "fenced"
}

func (m *machine) clean(rt *rapid.T) {
	s := m.naive.find(m.id(rt, "s", 4))
	if s == nil || !s.deleted {
		rt.Skip("it is not deleted")
	}
	for more := true; more; {
		var err error
		if more, err = m.any(rt).Clean(m.t.Context(), s.id, 2); err != nil {
			rt.Fatal(err)
		}
	}
	*s = naiveSession{id: s.id, deleted: true, clean: true}
}

func (m *machine) same(rt *rapid.T, what string, got, want any) {
	rt.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// compare holds everything that can be read against the model.
func (m *machine) compare(rt *rapid.T) {
	ctx, s := m.t.Context(), m.any(rt)
	same := func(what string, got, want any) {
		rt.Helper()
		m.same(rt, what, got, want)
	}
	for _, want := range m.naive.sessions {
		loaded, err := s.Load(ctx, want.id, "")
		if want.deleted {
			if !errors.Is(err, store.ErrDeleted) {
				rt.Fatalf("load of deleted %s: %v", want.id, err)
			}
			continue
		}
		if err != nil {
			rt.Fatal(err)
		}
		row := loaded.Session
		same("records of "+want.id, loaded.Records, want.records)
		same("claim of "+want.id, [4]any{row.Head, row.Epoch, row.Claim, row.Holder},
			[4]any{uint64(len(want.records)), want.epoch, want.claim, want.holder})
		same("index of "+want.id, row.Index, want.index)
		same("holder gone of "+want.id, row.HolderGone, want.holder != "" && m.naive.processes[want.holder] != "live")
		m.compareFiles(rt, s, want)
	}
	page, err := s.Work(ctx, store.WorkQuery{Now: at(2), Can: func(need string) bool { return need == m.prefix }})
	if err != nil {
		rt.Fatal(err)
	}
	var work []string
	for _, w := range page.Work {
		work = append(work, w.Session)
	}
	same("work", work, m.naive.work(at(2)))
	var rows []string
	for cursor := ""; ; {
		page, next, err := s.Sessions(ctx, store.SessionQuery{Owner: m.prefix, Cursor: cursor, Limit: 2})
		if err != nil {
			rt.Fatal(err)
		}
		for _, row := range page {
			rows = append(rows, row.ID)
		}
		if cursor = next; next == "" {
			break
		}
	}
	same("list", rows, m.naive.list())
	open, _, err := s.Interactions(ctx, m.prefix, "", 0)
	if err != nil {
		rt.Fatal(err)
	}
	want := 0
	for _, naive := range m.naive.sessions {
		if !naive.deleted {
			want += len(naive.open)
		}
	}
	same("open interactions", len(open), want)
}
