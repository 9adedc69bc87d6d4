package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// ample is a quota that no test reaches.
var ample = store.FileQuota{Files: 100, Bytes: 100 << 20}

// image is what sealed files were found to be.
var image = store.FileType{MediaType: "image/png", Width: 640, Height: 480}

// content is what a file of that ID and size has in it.
func content(id string, size int64) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = id[i%len(id)] + byte(i/len(id)*7)
	}
	return data
}

// chunk is a part of content.
func chunk(id string, size int64, index int) []byte {
	from := int64(index) * store.ChunkBytes
	return content(id, size)[from : from+int64(store.ChunkLen(size, index))]
}

// described is a file that expires at second 100.
func described(id string, size int64) store.File {
	return store.File{ID: id, Name: id + ".png", Announced: "image/*", Size: size, SHA256: "hash of " + id, Expires: at(100)}
}

// opened is a file as it is staged: open, with everything missing.
func opened(file store.File) store.File {
	file.State, file.Missing = store.FileOpen, nil
	for i := range store.Chunks(file.Size) {
		file.Missing = append(file.Missing, i)
	}
	return file
}

// settled is a file in a state in which nothing is missing.
func settled(file store.File, state store.FileState) store.File {
	file.State, file.FileType, file.Missing = state, image, nil
	return file
}

// staged stages a file at second 0.
func (f *fixture) staged(session string, file store.File) store.File {
	f.Helper()
	staged, err := f.Stage(f.ctx(), session, file, at(0), ample)
	f.must("stage "+file.ID, err)
	return staged
}

// written stages a file at second 0 and puts all its chunks.
func (f *fixture) written(session string, file store.File) {
	f.Helper()
	f.staged(session, file)
	for i := range store.Chunks(file.Size) {
		f.must("put "+file.ID, f.PutChunk(f.ctx(), session, file.ID, i, chunk(file.ID, file.Size, i), at(0)))
	}
}

// sealed stages a file at second 0, writes and seals it.
func (f *fixture) sealed(session string, file store.File) store.File {
	f.Helper()
	f.written(session, file)
	sealed, err := f.Seal(f.ctx(), session, file.ID, image, at(0))
	f.must("seal "+file.ID, err)
	return sealed
}

// accepted makes a file that an append behind the session's head has accepted.
func (f *fixture) accepted(session string, file store.File) {
	f.Helper()
	f.sealed(session, file)
	a := f.change(session, f.row(session).Head, "accepted "+file.ID)
	a.Accept = []string{file.ID}
	f.commit(a)
}

// has checks a file and, unless it is open, its bytes.
func (f *fixture) has(session string, want store.File) {
	f.Helper()
	got, err := f.File(f.ctx(), session, want.ID)
	f.must("file "+want.ID, err)
	f.same("file "+want.ID, got, want)
	for i := 0; want.State != store.FileOpen && i < store.Chunks(want.Size); i++ {
		data, err := f.Chunk(f.ctx(), session, want.ID, i)
		f.must("chunk", err)
		if !bytes.Equal(data, chunk(want.ID, want.Size, i)) {
			f.Fatalf("chunk %d of %s has other bytes than were put", i, want.ID)
		}
	}
}

// lacks checks that there is no such file, nor a byte of it.
func (f *fixture) lacks(session string, ids ...string) {
	f.Helper()
	for _, id := range ids {
		_, err := f.File(f.ctx(), session, id)
		f.fails("file "+id, err, store.ErrFileNotFound)
		_, err = f.Chunk(f.ctx(), session, id, 0)
		f.fails("chunk of "+id, err, store.ErrFileNotFound)
	}
}

func testStage(t *testing.T, b Backend) {
	const large = 2*store.ChunkBytes + 5
	each(t, b, map[string]scenario{
		"a file is staged, written in any order, sealed, and read from every connection": func(f *fixture) {
			f.created("s")
			file := described("s-a1", large)
			file.Expires = file.Expires.Add(700 * time.Microsecond)
			got := f.staged("s", file)
			file.Expires = at(100)
			f.same("staged", got, opened(file))
			for _, step := range []struct {
				put     int
				missing []int
			}{{2, []int{0, 1}}, {0, []int{1}}, {1, nil}} {
				f.must("put", f.PutChunk(f.ctx(), "s", "s-a1", step.put, chunk("s-a1", large, step.put), at(1)))
				want := opened(file)
				want.Missing = step.missing
				f.has("s", want)
				f.same("staged again", f.staged("s", file), want)
			}
			sealed, err := f.Seal(f.ctx(), "s", "s-a1", image, at(1))
			f.must("seal", err)
			f.same("sealed", sealed, settled(file, store.FileSealed))
			for _, s := range []store.Store{f.Store, f.world.Connect(f.T)} {
				other := &fixture{T: f.T, Store: s}
				other.has("s", settled(file, store.FileSealed))
				for _, index := range []int{-1, 3, 1 << 30} {
					_, err := other.Chunk(f.ctx(), "s", "s-a1", index)
					f.fails("chunk that the file has not", err, store.ErrFileNotFound)
				}
			}
		},
		"an empty file has no chunk and is complete at once": func(f *fixture) {
			f.created("s")
			file := described("s-a1", 0)
			f.same("staged", f.staged("s", file), opened(file))
			f.fails("put", f.PutChunk(f.ctx(), "s", "s-a1", 0, nil, at(0)), store.ErrFileConflict)
			f.accepted("s", file)
			f.has("s", settled(file, store.FileAccepted))
			_, err := f.Chunk(f.ctx(), "s", "s-a1", 0)
			f.fails("chunk", err, store.ErrFileNotFound)
		},
		"staging again keeps what is there, and for longer if told": func(f *fixture) {
			f.created("s")
			for id, make := range map[string]func(store.File){
				"s-open":     func(file store.File) { f.staged("s", file) },
				"s-sealed":   func(file store.File) { f.sealed("s", file) },
				"s-accepted": func(file store.File) { f.accepted("s", file) },
			} {
				file := described(id, 9)
				make(file)
				want, err := f.File(f.ctx(), "s", id)
				f.must("file", err)
				again := file
				again.Name, again.Announced, again.State, again.FileType = "other", "text/plain", "odd", store.FileType{MediaType: "x"}
				again.Expires = at(99)
				f.same("staged for less", f.staged("s", again), want)
				again.Expires, want.Expires = at(101), at(101)
				f.same("staged for longer", f.staged("s", again), want)
				f.has("s", want)
			}
		},
		"what is new ignores how it is said to be": func(f *fixture) {
			f.created("s")
			file := described("s-a1", 9)
			want := opened(file)
			file.State, file.FileType, file.Missing = store.FileAccepted, image, []int{7}
			f.same("staged", f.staged("s", file), want)
			f.has("s", want)
		},
		"another content under the ID is a conflict, before the quota is looked at": func(f *fixture) {
			f.created("s")
			for _, state := range []store.FileState{store.FileOpen, store.FileSealed, store.FileAccepted} {
				file := described("s-"+string(state), 9)
				switch state {
				case store.FileOpen:
					f.staged("s", file)
				case store.FileSealed:
					f.sealed("s", file)
				default:
					f.accepted("s", file)
				}
				want, err := f.File(f.ctx(), "s", file.ID)
				f.must("file", err)
				for _, spoil := range []func(*store.File){
					func(other *store.File) { other.Size++ },
					func(other *store.File) { other.SHA256 = "another" },
				} {
					other := file
					other.Expires = at(500)
					spoil(&other)
					_, err := f.Stage(f.ctx(), "s", other, at(0), store.FileQuota{})
					f.fails("stage", err, store.ErrFileConflict)
				}
				f.has("s", want)
			}
		},
		"a file is of one session": func(f *fixture) {
			f.created("s")
			f.created("s2")
			f.accepted("s", described("same", 9))
			f.lacks("s2", "same")
			f.fails("put", f.PutChunk(f.ctx(), "s2", "same", 0, chunk("same", 9, 0), at(0)), store.ErrFileNotFound)
			other := described("same", 3)
			f.same("staged", f.staged("s2", other), opened(other))
			f.must("discard", f.Discard(f.ctx(), "s2", "same"))
			f.has("s", settled(described("same", 9), store.FileAccepted))
		},
		"a file that makes no sense is refused": func(f *fixture) {
			f.created("s")
			for _, file := range []store.File{{Size: 1, Expires: at(100)}, {ID: "s-a1", Size: -1, Expires: at(100)}} {
				_, err := f.Stage(f.ctx(), "s", file, at(0), ample)
				f.fails("stage", err, &api.Error{Code: api.CodeInternal})
			}
			f.lacks("s", "", "s-a1")
		},
		"a context that is over changes nothing": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-open", 9))
			f.sealed("s", described("s-sealed", 9))
			over, cancel := context.WithCancel(f.ctx())
			cancel()
			_, stage := f.Stage(over, "s", described("s-new", 9), at(0), ample)
			put := f.PutChunk(over, "s", "s-open", 0, chunk("s-open", 9, 0), at(0))
			_, seal := f.Seal(over, "s", "s-open", image, at(0))
			_, file := f.File(over, "s", "s-sealed")
			_, chunk := f.Chunk(over, "s", "s-sealed", 0)
			for _, err := range []error{stage, put, seal, f.Discard(over, "s", "s-sealed"), file, chunk} {
				if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrFateUnknown) {
					f.Errorf("error %v, want a definite one that says that the context was cancelled", err)
				}
			}
			f.lacks("s", "s-new")
			f.has("s", opened(described("s-open", 9)))
			f.has("s", settled(described("s-sealed", 9), store.FileSealed))
		},
	})
}

func testChunk(t *testing.T, b Backend) {
	const size = store.ChunkBytes + 4
	each(t, b, map[string]scenario{
		"a chunk that does not fit is a conflict and changes nothing": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-a1", size))
			first, last := chunk("s-a1", size, 0), chunk("s-a1", size, 1)
			for name, put := range map[string]struct {
				index int
				data  []byte
			}{
				"no bytes":             {0, nil},
				"one byte less":        {0, first[:len(first)-1]},
				"one byte more":        {0, append(bytes.Clone(first), 1)},
				"a last one too short": {1, last[:3]},
				"a last one too long":  {1, append(bytes.Clone(last), 1)},
				"behind the last":      {2, last},
				"before the first":     {-1, first},
				"far away":             {1 << 30, first},
			} {
				f.fails(name, f.PutChunk(f.ctx(), "s", "s-a1", put.index, put.data, at(0)), store.ErrFileConflict)
			}
			f.has("s", opened(described("s-a1", size)))
		},
		"the same bytes again are taken in every state, others in none": func(f *fixture) {
			f.created("s")
			for _, state := range []store.FileState{store.FileOpen, store.FileSealed, store.FileAccepted} {
				id := "s-" + string(state)
				switch state {
				case store.FileOpen:
					f.written("s", described(id, size))
				case store.FileSealed:
					f.sealed("s", described(id, size))
				default:
					f.accepted("s", described(id, size))
				}
				want, err := f.File(f.ctx(), "s", id)
				f.must("file", err)
				for i := range 2 {
					data := chunk(id, size, i)
					f.must("same bytes", f.PutChunk(f.ctx(), "s", id, i, data, at(0)))
					data[len(data)-1]++
					f.fails("other bytes", f.PutChunk(f.ctx(), "s", id, i, data, at(0)), store.ErrFileConflict)
				}
				f.has("s", want)
				for i := range 2 {
					data, err := f.Chunk(f.ctx(), "s", id, i)
					f.must("chunk", err)
					f.same("the bytes that were put first", bytes.Equal(data, chunk(id, size, i)), true)
				}
			}
		},
		"the store shares no bytes with its callers": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-a1", 9))
			data := chunk("s-a1", 9, 0)
			f.must("put", f.PutChunk(f.ctx(), "s", "s-a1", 0, data, at(0)))
			data[0]++
			a := f.change("s", 1, "new")
			a.Files, a.FileQuota = []store.NewFile{{File: settled(described("s-new", 9), ""), Data: content("s-new", 9)}}, ample
			f.commit(a)
			a.Files[0].Data[0]++
			for _, id := range []string{"s-a1", "s-new"} {
				for range 2 {
					got, err := f.Chunk(f.ctx(), "s", id, 0)
					f.must("chunk", err)
					f.same("bytes of "+id, got, content(id, 9))
					got[0]++
				}
			}
		},
		"of a file that is not there is not taken": func(f *fixture) {
			f.created("s")
			f.fails("put", f.PutChunk(f.ctx(), "s", "s-a1", 0, []byte("x"), at(0)), store.ErrFileNotFound)
			f.fails("put", f.PutChunk(f.ctx(), "s", "", 0, nil, at(0)), store.ErrFileNotFound)
			f.lacks("s", "s-a1")
		},
		"that is missing cannot be read": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-a1", size))
			f.must("put", f.PutChunk(f.ctx(), "s", "s-a1", 1, chunk("s-a1", size, 1), at(0)))
			_, err := f.Chunk(f.ctx(), "s", "s-a1", 0)
			f.fails("chunk", err, store.ErrFileNotFound)
		},
	})
}

func testSeal(t *testing.T, b Backend) {
	const size = store.ChunkBytes + 4
	each(t, b, map[string]scenario{
		"with a chunk missing is a conflict, and the file goes on": func(f *fixture) {
			f.created("s")
			f.staged("s", described("s-a1", size))
			for _, index := range []int{1, 0} {
				_, err := f.Seal(f.ctx(), "s", "s-a1", image, at(0))
				f.fails("seal", err, store.ErrFileConflict)
				f.must("put", f.PutChunk(f.ctx(), "s", "s-a1", index, chunk("s-a1", size, index), at(0)))
			}
			f.same("sealed", f.sealed("s", described("s-a1", size)), settled(described("s-a1", size), store.FileSealed))
		},
		"again changes nothing, whatever is found": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-sealed", 9))
			f.accepted("s", described("s-accepted", 9))
			for _, state := range []store.FileState{store.FileSealed, store.FileAccepted} {
				want := settled(described("s-"+string(state), 9), state)
				got, err := f.Seal(f.ctx(), "s", want.ID, store.FileType{MediaType: "text/plain"}, at(0))
				f.must("seal", err)
				f.same("sealed", got, want)
				f.has("s", want)
			}
		},
		"of a file that is not there fails": func(f *fixture) {
			f.created("s")
			_, err := f.Seal(f.ctx(), "s", "s-a1", image, at(0))
			f.fails("seal", err, store.ErrFileNotFound)
		},
	})
}

func testDiscard(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"takes away what no message refers to, and it can be staged anew": func(f *fixture) {
			f.created("s")
			f.written("s", described("s-open", 9))
			f.sealed("s", described("s-sealed", 9))
			for _, id := range []string{"s-open", "s-sealed"} {
				f.must("discard", f.Discard(f.ctx(), "s", id))
				f.lacks("s", id)
				f.must("discard again", f.Discard(f.ctx(), "s", id))
				other := described(id, 4)
				f.same("staged anew", f.staged("s", other), opened(other))
			}
		},
		"leaves what a message refers to": func(f *fixture) {
			f.created("s")
			f.accepted("s", described("s-a1", 9))
			f.must("discard", f.Discard(f.ctx(), "s", "s-a1"))
			f.has("s", settled(described("s-a1", 9), store.FileAccepted))
		},
		"leaves all others": func(f *fixture) {
			f.created("s")
			f.sealed("s", described("s-a1", 9))
			f.sealed("s", described("s-a2", 9))
			f.must("discard", f.Discard(f.ctx(), "s", "s-a1"))
			f.must("discard of nothing", f.Discard(f.ctx(), "s", "s-a"))
			f.has("s", settled(described("s-a2", 9), store.FileSealed))
		},
	})
}
