package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/openworkerai/openworker/store"
)

// crowd is a session whose files many work on at once.
type crowd struct {
	*fixture
	stores   []store.Store
	quota    store.FileQuota
	accepted sync.Map      // ID → true, once an append that accepts it was answered
	busy     chan struct{} // closed once the first worker has done a part of its steps
}

// crowdFile is one of the files that a crowd fights for: sizes are such that bytes and files both run out.
func crowdFile(n int) store.File {
	return described(fmt.Sprint("s-a", n), []int64{7, 11, store.ChunkBytes + 3, 5, 2 * store.ChunkBytes, 13}[n])
}

const crowdFiles = 6

// act does one thing to one file and returns an error that no such thing may have.
func (c *crowd) act(s store.Store, random *rand.Rand, name string) error {
	ctx, file := c.ctx(), crowdFile(random.IntN(crowdFiles))
	within := func(err error, allowed ...error) error {
		for _, a := range allowed {
			if errors.Is(err, a) {
				return nil
			}
		}
		return err
	}
	change := store.Append{
		ID: name, Session: "s", AnyHead: true, Time: epoch, FileQuota: c.quota,
		Records: []store.Record{{Kind: name, Version: 1, Data: []byte("{}")}},
	}
	accept := func(id string) error {
		_, err := s.Append(ctx, change)
		if err == nil {
			c.accepted.Store(id, true)
		}
		return within(err, store.ErrFileNotFound, store.ErrFileQuota)
	}
	switch random.IntN(8) {
	case 0, 1:
		_, err := s.Stage(ctx, "s", file, at(0), c.quota)
		return within(err, store.ErrFileQuota)
	case 2, 3:
		for i := range store.Chunks(file.Size) {
			if err := s.PutChunk(ctx, "s", file.ID, i, chunk(file.ID, file.Size, i), at(0)); err != nil {
				return within(err, store.ErrFileNotFound)
			}
		}
		return nil
	case 4:
		_, err := s.Seal(ctx, "s", file.ID, image, at(0))
		return within(err, store.ErrFileNotFound, store.ErrFileConflict)
	case 5:
		change.Accept, change.Discard = []string{file.ID}, []string{crowdFile(random.IntN(crowdFiles)).ID}
		return accept(file.ID)
	case 6:
		added := brought(file.ID, file.Size)
		change.Files, change.Discard = []store.NewFile{added}, []string{file.ID, crowdFile(random.IntN(crowdFiles)).ID}
		return accept(file.ID)
	}
	return s.Discard(ctx, "s", file.ID)
}

// look checks that what was accepted is there with every byte, and that no file looks accepted without them.
func (c *crowd) look(s store.Store) error {
	for n := range crowdFiles {
		want := crowdFile(n)
		_, kept := c.accepted.Load(want.ID)
		f, err := s.File(c.ctx(), "s", want.ID)
		switch {
		case !kept && errors.Is(err, store.ErrFileNotFound):
			continue
		case err != nil:
			return fmt.Errorf("file %s, accepted before: %t: %w", want.ID, kept, err)
		case f.State != store.FileAccepted && kept:
			return fmt.Errorf("file %s was accepted and is %s", want.ID, f.State)
		case f.State != store.FileAccepted:
			continue
		}
		for i := range store.Chunks(want.Size) {
			data, err := s.Chunk(c.ctx(), "s", want.ID, i)
			if err != nil || !bytes.Equal(data, chunk(want.ID, want.Size, i)) {
				return fmt.Errorf("chunk %d of accepted file %s has %d bytes, not its own, or %w", i, want.ID, len(data), err)
			}
		}
	}
	return nil
}

func newCrowd(f *fixture) *crowd {
	f.created("s")
	return &crowd{
		fixture: f, stores: []store.Store{f.Store, f.world.Connect(f.T)},
		busy:  make(chan struct{}),
		quota: store.FileQuota{Files: 4, Bytes: 2*store.ChunkBytes + 40},
	}
}

// together runs six workers until each has done its steps or must stop, and two who only look.
func (c *crowd) together(steps int, stop error) {
	c.Helper()
	var workers, watchers sync.WaitGroup
	done := make(chan struct{})
	for i := range 6 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for n := range steps {
				if i == 0 && n == 20 {
					close(c.busy)
				}
				switch err := c.act(c.stores[i%2], random, fmt.Sprintf("w%d-%d", i, n)); {
				case err != nil && stop != nil && errors.Is(err, stop):
					return
				case err != nil:
					c.Errorf("worker %d, step %d: %v", i, n, err)
					return
				}
			}
			if stop != nil {
				c.Errorf("worker %d was never stopped", i)
			}
		})
	}
	for _, s := range c.stores {
		watchers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := c.look(s); err != nil && (stop == nil || !errors.Is(err, stop)) {
					c.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	close(done)
	watchers.Wait()
}

func testFilesTogether(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"many who work on the same files never lose an accepted one, nor keep more than they may": func(f *fixture) {
			c := newCrowd(f)
			c.together(60, nil)
			f.must("look", c.look(f.Store))
			files, size, accepted := 0, int64(0), 0
			for n := range crowdFiles {
				file, err := f.File(f.ctx(), "s", crowdFile(n).ID)
				if errors.Is(err, store.ErrFileNotFound) {
					continue
				}
				f.must("file", err)
				files, size = files+1, size+file.Size
				if file.State == store.FileAccepted {
					accepted++
				}
			}
			if files > c.quota.Files || size > c.quota.Bytes || accepted == 0 {
				f.Fatalf("%d files, %d of them accepted, %d bytes; there is room for %+v", files, accepted, size, c.quota)
			}
		},
		"a deletion stops all who work on the files, and leaves nothing of them": func(f *fixture) {
			c := newCrowd(f)
			var group sync.WaitGroup
			group.Go(func() { c.together(1<<20, store.ErrDeleted) })
			<-c.busy
			a := f.change("s", 0, "deleted")
			a.AnyHead, a.Delete = true, true
			f.commit(a)
			group.Wait()
			for more := true; more; {
				var err error
				more, err = f.Clean(f.ctx(), "s", 500)
				f.must("clean", err)
			}
			for n := range crowdFiles {
				_, err := f.File(f.ctx(), "s", crowdFile(n).ID)
				f.fails("file", err, store.ErrDeleted)
			}
		},
		"of eight that stage into room for three, three get it": func(f *fixture) {
			f.created("s")
			results := make(chan error, 8)
			for i := range 8 {
				go func() {
					_, err := f.Stage(f.ctx(), "s", described(fmt.Sprint("s-a", i), 10), at(0), store.FileQuota{Files: 8, Bytes: 39})
					results <- err
				}()
			}
			won := 0
			for range 8 {
				if err := <-results; err == nil {
					won++
				} else if !errors.Is(err, store.ErrFileQuota) {
					f.Fatal(err)
				}
			}
			f.same("staged", won, 3)
		},
	})
}
