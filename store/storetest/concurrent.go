package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/store"
)

func testWatch(t *testing.T, b Backend) {
	each(t, b, map[string]scenario{
		"another connection's change is signalled": func(f *fixture) {
			f.created("s")
			changes, err := f.Watch(f.ctx())
			f.must("watch", err)
			other := &fixture{T: f.T, world: f.world, Store: f.world.Connect(f.T)}
			other.ids.Store(1000)
			timeout := time.After(10 * time.Second)
			for head := uint64(1); head <= 3; head++ {
				other.commit(other.change("s", head, "theirs"))
				for seen := uint64(0); seen <= head; {
					select {
					case <-changes:
					case <-timeout:
						f.Fatalf("no signal of head %d", head+1)
					}
					heads, err := f.Heads(f.ctx(), []string{"s"})
					f.must("heads", err)
					seen = heads["s"]
				}
			}
		},
		"a watcher that ended does not hold others up": func(f *fixture) {
			f.created("s")
			ctx, cancel := context.WithCancel(f.ctx())
			_, err := f.Watch(ctx)
			f.must("watch", err)
			cancel()
			for head := uint64(1); head <= 5; head++ {
				f.commit(f.change("s", head, "more"))
			}
		},
	})
}

func testConcurrent(t *testing.T, b Backend) {
	// Each writer appends until it has committed as often as told, folding the tail whenever the head moved.
	write := func(f *fixture, s store.Store, session, name string, times int) error {
		var known uint64
		for n := 0; n < times; {
			a := f.change(session, known, name, name)
			a.ID = fmt.Sprintf("%s-%d", name, n)
			appended, err := s.Append(f.ctx(), a)
			switch {
			case errors.Is(err, store.ErrHeadMoved):
				if known+uint64(len(appended.Tail)) != appended.Head {
					return fmt.Errorf("%s knew %d and met a tail of %d behind head %d", name, known, len(appended.Tail), appended.Head)
				}
				known = appended.Head
			case err != nil:
				return err
			default:
				if appended.First != known+1 || appended.Head != known+2 {
					return fmt.Errorf("%s appended behind %d and got %+v", name, known, appended)
				}
				known = appended.Head
				n++
			}
		}
		return nil
	}
	each(t, b, map[string]scenario{
		"eight appenders of one session, on two connections, leave gap-free numbers": func(f *fixture) {
			f.created("s")
			other := f.world.Connect(f.T)
			var group sync.WaitGroup
			for i := range 8 {
				s := f.Store
				if i%2 == 1 {
					s = other
				}
				group.Go(func() {
					if err := write(f, s, "s", fmt.Sprintf("w%d", i), 10); err != nil {
						f.Error(err)
					}
				})
			}
			group.Wait()
			loaded := f.journal("s")
			f.same("head", loaded.Session.Head, uint64(161))
			counts := map[string]int{}
			for i, r := range loaded.Records {
				f.same("number", r.Number, uint64(i+1))
				counts[r.Append]++
				if i%2 == 1 && r.Append != loaded.Records[i+1].Append {
					f.Fatalf("append %s was torn by %s", r.Append, loaded.Records[i+1].Append)
				}
			}
			f.same("appends", len(counts), 81)
		},
		"appenders of many sessions do not disturb each other": func(f *fixture) {
			var group sync.WaitGroup
			for i := range 16 {
				session := fmt.Sprintf("s%d", i)
				f.created(session)
				group.Go(func() {
					if err := write(f, f.Store, session, session, 10); err != nil {
						f.Error(err)
					}
				})
			}
			group.Wait()
			for i := range 16 {
				session := fmt.Sprintf("s%d", i)
				loaded := f.journal(session)
				f.same("head", loaded.Session.Head, uint64(21))
				for n, r := range loaded.Records[1:] {
					f.same("record", [2]any{r.Number, r.Kind}, [2]any{uint64(n + 2), session})
				}
			}
		},
		"of eight that claim a free session one gets it": func(f *fixture) {
			f.created("s")
			results := make(chan error, 8)
			for i := range 8 {
				process := fmt.Sprintf("p%d", i)
				f.register(process, 60)
				a := f.change("s", 1, "claimed by "+process)
				a.Claim = &store.Claim{Process: process, Claim: "c" + process}
				a.AnyHead = true
				go func() {
					_, err := f.Append(f.ctx(), a)
					results <- err
				}()
			}
			won := 0
			for range 8 {
				if err := <-results; err == nil {
					won++
				} else if !errors.Is(err, store.ErrClaimed) {
					f.Fatal(err)
				}
			}
			f.same("winners", won, 1)
			f.same("epoch", f.row("s").Epoch, uint64(1))
		},
		"of eight that create under one key one does": func(f *fixture) {
			results := make(chan error, 8)
			for i := range 8 {
				a := f.creation(fmt.Sprintf("s%d", i))
				a.Create.Key = "key"
				go func() {
					_, err := f.Append(f.ctx(), a)
					results <- err
				}()
			}
			won := 0
			for range 8 {
				if err := <-results; err == nil {
					won++
				} else if !errors.Is(err, store.ErrExists) {
					f.Fatal(err)
				}
			}
			f.same("winners", won, 1)
		},
		"a load is one moment of a session that moves on": func(f *fixture) {
			f.created("s")
			done := make(chan error, 1)
			go func() {
				for head := uint64(1); head < 200; head += 2 {
					a := f.change("s", head, "one", "two")
					a.Snapshot = &store.Snapshot{Schema: "x", Head: head + 2}
					if _, err := f.Append(f.ctx(), a); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			for running := true; running; {
				select {
				case err := <-done:
					f.must("append", err)
					running = false
				default:
				}
				for _, schema := range []string{"", "x"} {
					loaded, err := f.Load(f.ctx(), "s", schema)
					f.must("load", err)
					from := uint64(0)
					if loaded.Snapshot != nil {
						from = loaded.Snapshot.Head
					}
					if from+uint64(len(loaded.Records)) != loaded.Session.Head {
						f.Fatalf("head %d, snapshot to %d, %d records", loaded.Session.Head, from, len(loaded.Records))
					}
				}
			}
		},
		"a caller that gives up hurts no other append": func(f *fixture) {
			const sessions = 24
			for i := range sessions {
				f.created(fmt.Sprintf("s%d", i))
			}
			var group sync.WaitGroup
			for i := range sessions {
				session := fmt.Sprintf("s%d", i)
				group.Go(func() {
					ctx, cancel := context.WithCancel(f.ctx())
					defer cancel()
					known := uint64(1)
					for n := range 20 {
						a := f.change(session, known, "record")
						if i%3 == 0 { // an impatient one
							ctx, cancel = context.WithTimeout(f.ctx(), time.Duration(n)*50*time.Microsecond)
							_, err := f.Append(ctx, a)
							cancel()
							if err == nil {
								known++
								continue
							}
							// Whatever became of it: writing it again settles it.
							appended, err := f.Append(f.ctx(), a)
							if err != nil || appended.Head != known+1 {
								f.Errorf("settling %s: %+v, %v", a.ID, appended, err)
								return
							}
							known++
							continue
						}
						appended, err := f.Append(ctx, a)
						if err != nil || appended.Repeated {
							f.Errorf("a patient caller's append: %+v, %v", appended, err)
							return
						}
						known++
					}
				})
			}
			group.Wait()
			for i := range sessions {
				loaded := f.journal(fmt.Sprintf("s%d", i))
				f.same("records", len(loaded.Records), 21)
			}
		},
		"a context that is over writes nothing": func(f *fixture) {
			f.created("s")
			ctx, cancel := context.WithCancel(f.ctx())
			cancel()
			if _, err := f.Append(ctx, f.change("s", 1, "late")); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrFateUnknown) {
				f.Fatalf("error %v, want a definite one that says that the context was cancelled", err)
			}
			f.same("records", len(f.journal("s").Records), 1)
		},
	})
}
