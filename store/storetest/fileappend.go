package storetest

import (
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// brought is a file that comes with an append.
func brought(id string, size int64) store.NewFile {
	file := described(id, size)
	file.FileType = image
	return store.NewFile{File: file, Data: content(id, size)}
}

func testAccept(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"a sealed file is the session's for good": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			a := f.change("s", 1, "message")
			a.Accept = []string{"s-a1", "s-a1"}
			f.commit(a)
			want := settled(described("s-a1", 9), store.FileAccepted)
			f.has("s", want)
			again := f.change("s", 2, "the same once more")
			again.Accept, again.Time = a.Accept, at(1000)
			f.commit(again)
			f.has("s", want)
			_, err := f.Stage(f.ctx(), "s", described("s-a2", 9), at(1000), ample)
			f.must("stage", err)
			f.has("s", want)
		},
		"what is not whole or not there fails the append, and nothing of it is written": func(f *fixture) {
			f.created("s")
			f.created("s2")
			f.sealed("s", described("s-sealed", 9))
			f.staged("s", described("s-open", 9))
			f.written("s", described("s-written", 9))
			f.sealed("s2", described("s2-sealed", 9))
			for _, id := range []string{"s-open", "s-written", "s2-sealed", "nothing", ""} {
				a := f.change("s", 1, "message")
				a.Accept, a.Discard = []string{"s-sealed", id}, []string{"s-written"}
				a.Files, a.FileQuota = []store.NewFile{brought("s-new", 9)}, ample
				a.Receipts = []store.Receipt{{Key: "k", Run: "r"}}
				f.same("met", f.refused(a, store.ErrFileNotFound), store.Appended{})
			}
			f.has("s", settled(described("s-sealed", 9), store.FileSealed))
			f.lacks("s", "s-new")
			_, err := f.File(f.ctx(), "s", "s-written")
			f.must("file", err)
			_, err = f.Receipt(f.ctx(), "s", "k")
			f.fails("receipt", err, store.ErrNotFound)
		},
		"files are looked at behind everything else": func(f *fixture) {
			f.register("p1", 60)
			f.held("s", "p1")
			taken := f.change("s", 1, "taken")
			taken.Receipts = []store.Receipt{{Key: "k", Run: "r"}}
			f.commit(taken)
			spoilt := func(known uint64) store.Append {
				a := f.change("s", known, "spoilt")
				a.Accept, a.Files = []string{"nothing"}, []store.NewFile{brought("s-new", 9)}
				return a
			}
			a := spoilt(2)
			a.Receipts = taken.Receipts
			f.refused(a, store.ErrReceiptTaken)
			f.refused(spoilt(1), store.ErrHeadMoved)
			a = spoilt(2)
			a.Fence = &store.Fence{Epoch: 1, Claim: "wrong"}
			f.refused(a, store.ErrFenced)
			a = spoilt(2)
			a.Claim = &store.Claim{Process: "p1", Claim: "c2", Epoch: 1, From: "p1"}
			f.refused(a, store.ErrClaimed)
			f.created("free")
			a = spoilt(1)
			a.Session, a.Claim = "free", &store.Claim{Process: "nobody", Claim: "c"}
			f.refused(a, store.ErrFenced)
			a = spoilt(0)
			a.Session = "nobody"
			f.refused(a, store.ErrNotFound)
			f.refused(spoilt(2), store.ErrFileNotFound)
			a = spoilt(2)
			a.Accept = nil
			f.refused(a, store.ErrFileQuota)
		},
		"behind records that were jumped over it is the same": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			f.sealed("s", described("s-a2", 9))
			f.commit(f.change("s", 1, "between"))
			a := f.change("s", 1, "outcome")
			a.AnyHead, a.Accept, a.Discard = true, []string{"s-a1"}, []string{"s-a2"}
			f.commit(a)
			f.has("s", settled(described("s-a1", 9), store.FileAccepted))
			f.lacks("s", "s-a2")
		},
	})
}

func testAppendDiscard(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"takes away what no append has accepted, this one included": func(f *fixture) {
			f.created("s")
			f.accepted("s", described("s-before", 9))
			f.written("s", described("s-open", 9))
			f.sealed("s", described("s-sealed", 9))
			f.sealed("s", described("s-now", 9))
			f.sealed("s", described("s-brought", 9))
			f.sealed("s", described("s-other", 9))
			a := f.change("s", 2, "message")
			a.Accept = []string{"s-now"}
			a.Files = []store.NewFile{brought("s-brought", 9), brought("s-new", 9)}
			a.FileQuota = ample
			a.Discard = []string{"s-before", "s-open", "s-sealed", "s-sealed", "s-now", "s-brought", "s-new", "nothing", ""}
			f.commit(a)
			f.lacks("s", "s-open", "s-sealed")
			for _, id := range []string{"s-before", "s-now", "s-brought", "s-new"} {
				f.has("s", settled(described(id, 9), store.FileAccepted))
			}
			f.has("s", settled(described("s-other", 9), store.FileSealed))
		},
		"of another session's file does nothing": func(f *fixture) {
			f.created("s")
			f.created("s2")
			f.sealed("s2", described("s2-a1", 9))
			a := f.change("s", 1, "message")
			a.Discard = []string{"s2-a1"}
			f.commit(a)
			f.has("s2", settled(described("s2-a1", 9), store.FileSealed))
		},
		"takes what has expired as well": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			f.sealed("s", described("s-a2", 9))
			a := f.change("s", 1, "message")
			a.Discard, a.Time = []string{"s-a1"}, at(1000)
			f.commit(a)
			f.lacks("s", "s-a1")
			f.has("s", settled(described("s-a2", 9), store.FileSealed)) // no new file needs its room
		},
	})
}

func testNewFile(t *testing.T, b Backend) {
	with := func(f *fixture, quota store.FileQuota, files ...store.NewFile) store.Append {
		a := f.change("s", f.row("s").Head, "message")
		a.Files, a.FileQuota = files, quota
		return a
	}
	const large = 2*store.ChunkBytes + 5
	each(t, b, map[string]scenario{
		"is stored whole and accepted": func(f *fixture) {
			f.created("s")
			f.commit(with(f, ample, brought("s-large", large), brought("s-even", store.ChunkBytes), brought("s-empty", 0)))
			for id, size := range map[string]int64{"s-large": large, "s-even": store.ChunkBytes, "s-empty": 0} {
				f.has("s", settled(described(id, size), store.FileAccepted))
				_, err := f.Chunk(f.ctx(), "s", id, store.Chunks(size))
				f.fails("a chunk too many", err, store.ErrFileNotFound)
				f.must("discard", f.Discard(f.ctx(), "s", id))
				f.has("s", settled(described(id, size), store.FileAccepted))
			}
		},
		"comes with a session that is made": func(f *fixture) {
			a := f.creation("s")
			a.Files, a.FileQuota = []store.NewFile{brought("s-a1", 9)}, store.FileQuota{Files: 1, Bytes: 9}
			f.commit(a)
			f.has("s", settled(described("s-a1", 9), store.FileAccepted))
			a = f.creation("s2")
			a.Files = []store.NewFile{brought("s2-a1", 9)}
			f.refused(a, store.ErrFileQuota)
			_, err := f.Session(f.ctx(), "s2")
			f.fails("session", err, store.ErrNotFound)
		},
		"is taken from what is there, in room that is there or not": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-sealed", large))
			f.accepted("s", described("s-accepted", 9))
			renamed := brought("s-sealed", large)
			renamed.Name, renamed.FileType = "other", store.FileType{MediaType: "text/plain"}
			f.commit(with(f, store.FileQuota{}, renamed, brought("s-accepted", 9)))
			f.has("s", settled(described("s-sealed", large), store.FileAccepted))
			f.has("s", settled(described("s-accepted", 9), store.FileAccepted))
		},
		"replaces one that is open or has expired, in the room of it": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-open", large))
			f.must("put", f.PutChunk(f.ctx(), "s", "s-open", 0, make([]byte, store.ChunkBytes), at(0)))
			f.sealed("s", described("s-gone", 3))
			a := with(f, store.FileQuota{Files: 2, Bytes: large + 9}, brought("s-open", large), brought("s-gone", 9))
			a.Time = at(100)
			f.commit(a)
			f.has("s", settled(described("s-open", large), store.FileAccepted))
			f.has("s", settled(described("s-gone", 9), store.FileAccepted))
		},
		"takes away what has expired, if it is written": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-gone", 9))
			f.accepted("s", described("s-accepted", 9))
			taken := with(f, store.FileQuota{}, brought("s-accepted", 9))
			taken.Time = at(100)
			f.commit(taken)
			f.has("s", settled(described("s-gone", 9), store.FileSealed))
			a := with(f, store.FileQuota{Files: 2, Bytes: 19}, brought("s-new", 11))
			a.Time = at(100)
			f.refused(a, store.ErrFileQuota)
			f.has("s", settled(described("s-gone", 9), store.FileSealed))
			a.Files = []store.NewFile{brought("s-new", 10)}
			f.commit(a)
			f.lacks("s", "s-gone")
			f.has("s", settled(described("s-accepted", 9), store.FileAccepted))
		},
		"twice in one append is one": func(f *fixture) {
			f.created("s")
			f.commit(with(f, store.FileQuota{Files: 1, Bytes: 9}, brought("s-a1", 9), brought("s-a1", 9)))
			f.has("s", settled(described("s-a1", 9), store.FileAccepted))
		},
		"takes the room of what the append discards, of what it accepts it does not": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 10))
			f.sealed("s", described("s-a2", 10))
			quota := store.FileQuota{Files: 2, Bytes: 20}
			a := with(f, quota, brought("s-new", 11))
			a.Discard, a.Accept = []string{"s-a1"}, []string{"s-a2"}
			f.refused(a, store.ErrFileQuota)
			a.Files = []store.NewFile{brought("s-new", 10)}
			a.Discard, a.Accept = []string{"s-a1", "s-a2"}, []string{"s-a1", "s-a2"}
			f.refused(a, store.ErrFileQuota)
			a.Files = []store.NewFile{brought("s-new", 5), brought("s-new2", 5)}
			a.Discard, a.Accept = []string{"s-a1"}, []string{"s-a2"}
			f.refused(a, store.ErrFileQuota)
			f.has("s", settled(described("s-a1", 10), store.FileSealed))
			f.has("s", settled(described("s-a2", 10), store.FileSealed))
			a.Files = []store.NewFile{brought("s-new", 10)}
			f.commit(a)
			f.lacks("s", "s-a1", "s-new2")
			f.has("s", settled(described("s-new", 10), store.FileAccepted))
		},
		"that makes no sense is the caller's fault": func(f *fixture) {
			f.created("s")
			short, long, nameless, negative := brought("s-a1", 9), brought("s-a1", 9), brought("x", 9), brought("s-a1", 0)
			short.Data, long.Data, nameless.ID, negative.Size = short.Data[:8], append(long.Data, 1), "", -1
			for _, file := range []store.NewFile{short, long, nameless, negative} {
				f.refused(with(f, ample, file), &api.Error{Code: api.CodeInternal})
			}
		},
		"an append with files answers a repeat as it did, whatever became of them": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			f.sealed("s", described("s-a2", 9))
			a := with(f, store.FileQuota{Files: 2, Bytes: 18}, brought("s-new", 9))
			a.Accept, a.Discard = []string{"s-a1"}, []string{"s-a2"}
			first := f.commit(a)
			staged := f.staged("s", described("s-a2", 9)) // what was discarded has come back
			first.Repeated = true
			f.same("repeated", f.commit(a), first)
			f.has("s", staged)
			a.Accept, a.FileQuota = append(a.Accept, "nothing"), store.FileQuota{}
			f.same("repeated with what would fail now", f.commit(a), first)
		},
	})
}

func testFilesOfADeletedSession(t *testing.T, b Backend) {
	gone := func(f *fixture, session string, want error) {
		f.Helper()
		_, err := f.Stage(f.ctx(), session, described("a", 9), at(0), ample)
		f.fails("stage", err, want)
		f.fails("put", f.PutChunk(f.ctx(), session, "a", 0, content("a", 9), at(0)), want)
		_, err = f.Seal(f.ctx(), session, "a", image, at(0))
		f.fails("seal", err, want)
		f.fails("discard", f.Discard(f.ctx(), session, "a"), want)
		_, err = f.File(f.ctx(), session, "a")
		f.fails("file", err, want)
		_, err = f.Chunk(f.ctx(), session, "a", 0)
		f.fails("chunk", err, want)
	}
	each(t, b, map[string]scenario{
		"every call says that there is no session": func(f *fixture) { gone(f, "nobody", store.ErrNotFound) },
		"every call says that it was deleted, before and after cleaning": func(f *fixture) {
			f.created("s")
			f.created("other")
			f.accepted("s", described("a", 2*store.ChunkBytes))
			f.staged("s", described("b", 9))
			f.sealed("s", described("c", store.ChunkBytes+1))
			f.accepted("other", described("a", 9))
			f.deleted("s", 2)
			gone(f, "s", store.ErrDeleted)
			// Three records, and what a store leaves of files to be cleaned, three at a time.
			if steps := f.cleaned("s"); steps < 2 {
				f.Fatalf("more than three rows were cleaned in %d steps of three", steps)
			}
			gone(f, "s", store.ErrDeleted)
			f.has("other", settled(described("a", 9), store.FileAccepted))
			more, err := f.Clean(f.ctx(), "s", 3)
			f.must("clean again", err)
			f.same("more", more, false)
		},
		"files that come with a deletion go with it": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("a", 9))
			a := f.change("s", 1, "deleted")
			a.Delete, a.Accept, a.Files, a.FileQuota = true, []string{"a"}, []store.NewFile{brought("b", 9)}, ample
			f.commit(a)
			gone(f, "s", store.ErrDeleted)
			f.cleaned("s")
			gone(f, "s", store.ErrDeleted)
		},
	})
}
