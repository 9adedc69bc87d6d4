package storetest

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/store"
)

func testFileQuota(t *testing.T, b Backend) {
	// Three files of ten bytes each, in every state.
	full := func(f *fixture) {
		f.created("s")
		f.staged("s", described("s-open", 10))
		f.sealed("s", described("s-sealed", 10))
		f.accepted("s", described("s-accepted", 10))
	}
	scenarios := map[string]scenario{
		"a file that is there needs nothing more": func(f *fixture) {
			full(f)
			for _, id := range []string{"s-open", "s-sealed", "s-accepted"} {
				_, err := f.Stage(f.ctx(), "s", described(id, 10), at(0), store.FileQuota{})
				f.must("stage "+id, err)
			}
		},
		"is each session's own": func(f *fixture) {
			full(f)
			f.created("s2")
			_, err := f.Stage(f.ctx(), "s2", described("s2-new", 5), at(0), store.FileQuota{Files: 1, Bytes: 5})
			f.must("stage", err)
		},
		"what was discarded counts no more": func(f *fixture) {
			full(f)
			f.must("discard", f.Discard(f.ctx(), "s", "s-open"))
			_, err := f.Stage(f.ctx(), "s", described("s-new", 11), at(0), store.FileQuota{Files: 3, Bytes: 30})
			f.fails("stage", err, store.ErrFileQuota)
			_, err = f.Stage(f.ctx(), "s", described("s-new", 10), at(0), store.FileQuota{Files: 3, Bytes: 30})
			f.must("stage", err)
		},
		"what has expired counts no more, unless it was accepted": func(f *fixture) {
			full(f)
			_, err := f.Stage(f.ctx(), "s", described("s-new", 21), at(100), store.FileQuota{Files: 2, Bytes: 30})
			f.fails("stage", err, store.ErrFileQuota)
			_, err = f.Stage(f.ctx(), "s", described("s-new", 20), at(100), store.FileQuota{Files: 2, Bytes: 30})
			f.must("stage", err)
			f.lacks("s", "s-open", "s-sealed")
			f.has("s", settled(described("s-accepted", 10), store.FileAccepted))
		},
	}
	for name, tc := range map[string]struct {
		quota store.FileQuota
		want  error
	}{
		"room for exactly one file more of exactly its size": {store.FileQuota{Files: 4, Bytes: 35}, nil},
		"room for a file less":                               {store.FileQuota{Files: 3, Bytes: 35}, store.ErrFileQuota},
		"room for a byte less":                               {store.FileQuota{Files: 4, Bytes: 34}, store.ErrFileQuota},
		"less room than is used already":                     {store.FileQuota{Files: 1, Bytes: 1}, store.ErrFileQuota},
		"no room at all":                                     {store.FileQuota{}, store.ErrFileQuota},
	} {
		scenarios[name] = func(f *fixture) {
			full(f)
			_, err := f.Stage(f.ctx(), "s", described("s-new", 5), at(0), tc.quota)
			f.fails("stage", err, tc.want)
			a := f.change("s", f.row("s").Head, "new")
			a.Files, a.FileQuota = []store.NewFile{{File: described("s-new2", 5), Data: content("s-new2", 5)}}, tc.quota
			if tc.want != nil {
				f.lacks("s", "s-new")
				f.refused(a, tc.want)
				f.lacks("s", "s-new2")
				return
			}
			f.refused(a, store.ErrFileQuota) // the staged one has taken the room
			a.Discard = []string{"s-new"}
			f.commit(a)
			f.lacks("s", "s-new")
		}
	}
	each(t, b, scenarios)
}

func testFileExpiry(t *testing.T, b Backend) {
	end := at(100)
	scenarios := map[string]scenario{
		"the next staging takes away what nobody accepted, of this session alone": func(f *fixture) {
			f.created("s")
			f.created("s2")
			f.written("s", described("s-open", 9))
			f.sealed("s", described("s-sealed", 9))
			f.accepted("s", described("s-accepted", 9))
			later := described("s-later", 9)
			later.Expires = end.Add(time.Millisecond)
			f.sealed("s", later)
			f.sealed("s2", described("s2-sealed", 9))
			_, err := f.Stage(f.ctx(), "s", described("s-before", 1), end.Add(-time.Millisecond), ample)
			f.must("stage", err)
			f.has("s", settled(described("s-sealed", 9), store.FileSealed))
			next := described("s-next", 9)
			next.Expires = at(200)
			_, err = f.Stage(f.ctx(), "s", next, end, ample)
			f.must("stage", err)
			f.lacks("s", "s-open", "s-sealed", "s-before")
			f.has("s", settled(described("s-accepted", 9), store.FileAccepted))
			f.has("s", settled(later, store.FileSealed))
			f.has("s", opened(next))
			f.has("s2", settled(described("s2-sealed", 9), store.FileSealed))
		},
		"what has expired is staged anew, whatever it was": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			other := described("s-a1", 4)
			other.Expires = at(200)
			got, err := f.Stage(f.ctx(), "s", other, end, store.FileQuota{Files: 1, Bytes: 4})
			f.must("stage", err)
			f.same("staged", got, opened(other))
			f.has("s", opened(other))
			_, err = f.Chunk(f.ctx(), "s", "s-a1", 0)
			f.fails("chunk", err, store.ErrFileNotFound)
		},
		"a staging that is refused takes nothing away": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			later := described("s-a2", 9)
			later.Expires = at(200)
			f.sealed("s", later)
			_, err := f.Stage(f.ctx(), "s", described("s-new", 9), end, store.FileQuota{Files: 1, Bytes: 100})
			f.fails("stage", err, store.ErrFileQuota)
			_, err = f.Stage(f.ctx(), "s", described("s-a2", 8), end, ample)
			f.fails("stage", err, store.ErrFileConflict)
			f.has("s", settled(described("s-a1", 9), store.FileSealed))
		},
		"what has expired can be discarded": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			f.must("discard", f.Discard(f.ctx(), "s", "s-a1"))
			f.lacks("s", "s-a1")
		},
		"a file without an end has expired as it begins": func(f *fixture) {
			f.created("s")
			file := described("s-a1", 9)
			file.Expires = time.Time{}
			f.same("staged", f.staged("s", file), opened(file))
			f.fails("put", f.PutChunk(f.ctx(), "s", "s-a1", 0, chunk("s-a1", 9, 0), at(0)), store.ErrFileNotFound)
		},
	}
	for name, tc := range map[string]struct {
		now  time.Time
		want error
	}{
		"a millisecond before its end all goes on":        {end.Add(-time.Millisecond), nil},
		"the last moment before its end is not its end":   {end.Add(-time.Nanosecond), nil},
		"at its end a file has expired":                   {end, store.ErrFileNotFound},
		"within the millisecond of its end it has, too":   {end.Add(300 * time.Microsecond), store.ErrFileNotFound},
		"long behind its end it has expired all the same": {end.Add(1e6 * time.Hour), store.ErrFileNotFound},
	} {
		scenarios[name] = func(f *fixture) {
			f.created("s")
			open, sealed, kept := described("s-open", 9), described("s-sealed", 9), described("s-accepted", 9)
			open.Expires = end.Add(900 * time.Microsecond) // cut to the millisecond
			f.written("s", open)
			open.Expires = end
			f.sealed("s", sealed)
			f.accepted("s", kept)
			a := f.change("s", f.row("s").Head, "late")
			a.Time, a.Accept = tc.now, []string{"s-accepted", "s-sealed"}
			f.fails("put", f.PutChunk(f.ctx(), "s", "s-open", 0, chunk("s-open", 9, 0), tc.now), tc.want)
			if tc.want != nil {
				f.fails("put of what does not fit", f.PutChunk(f.ctx(), "s", "s-open", 9, nil, tc.now), tc.want)
			}
			_, err := f.Seal(f.ctx(), "s", "s-open", image, tc.now)
			f.fails("seal", err, tc.want)
			_, err = f.Seal(f.ctx(), "s", "s-sealed", image, tc.now)
			f.fails("seal again", err, tc.want)
			if tc.want != nil {
				f.refused(a, tc.want)
				// It is there until it is removed.
				open.Missing, open.State = nil, store.FileOpen
				f.has("s", open)
				f.has("s", settled(sealed, store.FileSealed))
			} else {
				f.commit(a)
			}
			// Whoever was accepted does not expire.
			f.must("put", f.PutChunk(f.ctx(), "s", "s-accepted", 0, chunk("s-accepted", 9, 0), tc.now))
			got, err := f.Seal(f.ctx(), "s", "s-accepted", image, tc.now)
			f.must("seal of an accepted one", err)
			f.same("accepted", got, settled(kept, store.FileAccepted))
			a = f.change("s", f.row("s").Head, "again")
			a.Time, a.Accept = tc.now, []string{"s-accepted"}
			f.commit(a)
		}
	}
	each(t, b, scenarios)
}
