package sim

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// upload is one client's way to bring a file to a session, step by step. It may stop at any step, repeat one at any
// process, and be one of several that bring the same file.
type upload struct {
	w *world
	s *session
	b *blob
}

// upload begins one.
func (w *world) upload() {
	u := &upload{w: w, s: pick(w, w.order), b: w.someBlob()}
	if !u.s.deleted {
		u.stage()
	}
}

func (w *world) someBlob() *blob { return pick(w, w.blobs) }

// step makes one call, at whatever process is there, perhaps twice. A client that is not told what became of it calls
// again, or leaves.
func (u *upload) step(name string, call func(now time.Time) fileCall, next func()) {
	w := u.w
	p := w.someone()
	if p == nil {
		return
	}
	serve := func(p *process) error {
		c := call(p.wall())
		c.name, c.session = name+" "+u.b.name, u.s.id
		return w.disk.call(c)
	}
	if w.faulty(0.1) {
		p.call(name+" twice", true, func() func() {
			_ = serve(p)
			return func() {}
		})
	}
	p.call(name, true, func() func() {
		err := serve(p)
		return func() {
			switch {
			case u.s.deleted || w.faulty(0.08): // the client is gone
			case err == nil:
				w.after(nil, w.delay(), "the client goes on", next)
			case errors.Is(err, store.ErrFileNotFound) && w.chance(0.3):
				w.after(nil, w.delay(), "the client begins anew", u.stage)
			case errors.Is(err, store.ErrFileQuota):
				w.saw("upload that was too much")
			case errors.Is(err, store.ErrFateUnknown), api.CodeOf(err) == api.CodeStoreBusy, api.CodeOf(err) == api.CodeStoreUnavailable:
				w.after(nil, w.delay(), "the client calls again", func() { u.step(name, call, next) })
			}
		}
	})
}

// stage begins the file, or finds it: what is missing of it comes next.
func (u *upload) stage() {
	w, s := u.w, u.s
	var staged store.File
	u.step("stage", func(now time.Time) fileCall {
		row := u.b.row(s.id)
		row.Expires = now.Add(api.UploadTime)
		wrong := w.faulty(0.03)
		if wrong {
			row.Size++
		}
		return fileCall{
			may: change{stages: row.ID, expires: now},
			do: func() error {
				quota := w.disk.ghosts(s.id, w.quota)
				f, err := w.disk.mem.Stage(w.disk.ctx(), s.id, row, now, quota)
				if staged = f; wrong && err == nil {
					_ = w.disk.mem.Discard(w.disk.ctx(), s.id, row.ID) // it was nobody's file, and its client says no more of it
				}
				return err
			},
			holds: func(s *session, before map[string]store.File, err error) { s.checkStaged(row, wrong, before, now, err) },
		}
	}, func() {
		missing := staged.Missing
		w.rng.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
		u.put(missing)
	})
}

// checkStaged holds what staging a file came to.
func (s *session) checkStaged(row store.File, wrong bool, before map[string]store.File, now time.Time, err error) {
	was, there := before[row.ID]
	there = there && !was.Expired(now)
	count, used := 1, row.Size
	for id, f := range before {
		if id != row.ID && !f.Expired(now) {
			count, used = count+1, used+f.Size
		}
	}
	over := !there && (count > s.w.quota.Files || used > s.w.quota.Bytes)
	switch {
	case errors.Is(err, store.ErrFileConflict):
		if !wrong || !there {
			s.w.fail("session %s: staging %s is a conflict with %+v", s.id, row.ID, was)
		}
	case errors.Is(err, store.ErrFileQuota) != over:
		s.w.fail("session %s: staging %s of %d bytes: %v, but it met %v", s.id, row.ID, row.Size, err, before)
	case err != nil || wrong:
		return
	default:
		if f, there := s.files[row.ID]; !there || f.State != store.FileAccepted && f.Expires.Before(store.Millis(row.Expires)) {
			s.w.fail("session %s: file %s was begun until %v, and it is %+v", s.id, row.ID, row.Expires, f)
		}
		for id, f := range s.files {
			if f.Expired(now) {
				s.w.fail("session %s: file %s expired at %v and is still there behind an upload at %v", s.id, id, f.Expires, now)
			}
		}
	}
}

// put sends what is missing, and then ends the file.
func (u *upload) put(missing []int) {
	w, s := u.w, u.s
	if len(missing) == 0 {
		u.seal()
		return
	}
	i, id := missing[0], u.b.id(u.s.id)
	wrong := w.faulty(0.03)
	u.step("put", func(now time.Time) fileCall {
		data := u.b.chunk(i)
		if wrong {
			data = data[:len(data)-1]
		}
		return fileCall{
			may: change{puts: id},
			do:  func() error { return w.disk.mem.PutChunk(w.disk.ctx(), s.id, id, i, data, now) },
			holds: func(s *session, before map[string]store.File, err error) {
				was, there := before[id]
				gone := !there || was.Expired(now)
				stored, readErr := w.disk.chunk(s.id, id, i)
				switch {
				case errors.Is(err, store.ErrFileNotFound) != gone, errors.Is(err, store.ErrFileConflict) != (wrong && !gone):
					w.fail("session %s: chunk %d (wrong: %t) of file %s: %v, but it met %+v", s.id, i, wrong, id, err, was)
				case err == nil && (readErr != nil || !bytes.Equal(stored, data) || slices.Contains(s.files[id].Missing, i)):
					w.fail("session %s: chunk %d of file %s was taken and is not there: %v", s.id, i, id, readErr)
				}
			},
		}
	}, func() { u.put(missing[1:]) })
}

// seal ends the file with what it was found to be.
func (u *upload) seal() {
	w, s, id := u.w, u.s, u.b.id(u.s.id)
	u.step("seal", func(now time.Time) fileCall {
		return fileCall{
			may: change{seals: id},
			do: func() error {
				_, err := w.disk.mem.Seal(w.disk.ctx(), s.id, id, store.FileType{MediaType: u.b.mediaType}, now)
				return err
			},
			holds: func(s *session, before map[string]store.File, err error) {
				was, there := before[id]
				switch gone := !there || was.Expired(now); {
				case errors.Is(err, store.ErrFileNotFound) != gone, errors.Is(err, store.ErrFileConflict) != (!gone && len(was.Missing) > 0):
					w.fail("session %s: the end of file %s: %v, but it met %+v", s.id, id, err, was)
				case err == nil && s.files[id].State == store.FileOpen:
					w.fail("session %s: file %s was ended and is open", s.id, id)
				case err == nil && s.files[id].State == store.FileSealed:
					s.sameBytes(s.files[id])
				}
			},
		}
	}, func() { w.saw("upload") })
}

// discard removes a file that somebody knows of, as of one that is not taken.
func (w *world) discard() {
	if s := pick(w, w.order); len(s.fileIDs) > 0 && !s.deleted {
		if p := w.someone(); p != nil {
			w.discardOne(p, s, pick(w, s.fileIDs))
		}
	}
}

func (w *world) discardOne(p *process, s *session, id string) {
	p.call("discard", true, func() func() {
		err := w.disk.call(fileCall{
			name: "discard " + id, session: s.id, may: change{discards: []string{id}},
			do: func() error { return w.disk.mem.Discard(w.disk.ctx(), s.id, id) },
			holds: func(s *session, _ map[string]store.File, err error) {
				if f, there := s.files[id]; err != nil || there && f.State != store.FileAccepted {
					w.fail("session %s: file %s was discarded and is %s: %v", s.id, id, f.State, err)
				}
			},
		})
		return func() { w.log("discarded %s: %v", id, err) }
	})
}

// lapse lets a day pass: what was uploaded and not sent has expired then, and so has each lease.
func (w *world) lapse() {
	if w.lapses > 0 {
		w.lapses--
		w.now += api.UploadTime - w.upTo(time.Hour)*2 + time.Hour
		w.log("a day passes")
		w.saw("day")
	}
}

// begunAnew holds that an upload removes what has expired (AT5), in each session that is left.
func (w *world) begunAnew() {
	w.now += api.UploadTime + time.Hour
	w.quota.Files, w.quota.Bytes = w.quota.Files+1, w.quota.Bytes+1<<20
	for _, s := range w.order {
		if s.deleted {
			continue
		}
		(&upload{w: w, s: s, b: w.stage.blobs[0]}).stage()
		w.quiet()
		for id, f := range s.files {
			if f.State != store.FileAccepted && id != w.stage.blobs[0].id(s.id) {
				w.fail("session %s: file %s (%s) was to expire at %v, and is there behind an upload", s.id, id, f.State, f.Expires)
			}
			s.sameBytes(f)
		}
	}
}
