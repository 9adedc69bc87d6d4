package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

func TestAppendsGoFirstAndChunksShareCommitsOfHalfAMiB(t *testing.T) {
	t.Parallel()
	var commits [][2]int // rows of the journal and chunks in each, of the writer's goroutine until all is done
	recording, in := false, [2]int{}
	tap := &tap{after: func(query string) error {
		switch {
		case strings.HasPrefix(query, `INSERT INTO events`):
			in[0]++
		case strings.HasPrefix(query, `INSERT INTO chunks`):
			in[1]++
		case query == `COMMIT` && recording && in != [2]int{}:
			commits = append(commits, in)
			in = [2]int{}
		}
		return nil
	}}
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
	const uploads, appends = 7, 3
	data := marked(store.ChunkBytes)
	var calls []func()
	for i := range uploads {
		id := fmt.Sprint("u", i)
		appended(t, s, creation(id))
		if _, err := s.Stage(t.Context(), id, fileOf(id+"-a1", data), time.Unix(0, 0), fileRoom); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, func() {
			if err := s.PutChunk(background, id, id+"-a1", 0, data, time.Unix(0, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range appends {
		id := fmt.Sprint("s", i)
		appended(t, s, creation(id))
		calls = append(calls, func() {
			if _, err := s.Append(background, change(id, "x", 1, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	together(t, s, tap, func() { recording, in = true, [2]int{} }, calls...)
	// Which queue the writer looks into first, where both have something, is not said.
	if diff := cmp.Diff([][2]int{{appends, 2}, {0, 2}, {0, 2}, {0, 1}}, commits); diff != "" {
		t.Errorf("rows and chunks of each commit (-want +got):\n%s", diff)
	}
}

// BenchmarkAnAppendBesideUploads tells how long a small append waits while others send files, chunk by chunk.
func BenchmarkAnAppendBesideUploads(b *testing.B) {
	for _, uploaders := range []int{0, 1, 8} {
		b.Run(fmt.Sprint("uploaders=", uploaders), func(b *testing.B) {
			s := opened(b, Config{Dir: filepath.Join(b.TempDir(), "state")})
			appended(b, s, creation("s"))
			data := make([]byte, store.ChunkBytes)
			var stop atomic.Bool
			var group sync.WaitGroup
			var chunks atomic.Int64
			for i := range uploaders {
				session := fmt.Sprint("u", i)
				appended(b, s, creation(session))
				group.Go(func() {
					for n := 0; !stop.Load(); n++ {
						f := store.File{ID: fmt.Sprint(session, "-a", n), Size: 8 << 20, Expires: fileEnd}
						if _, err := s.Stage(background, session, f, time.Unix(0, 0), store.FileQuota{Files: 1 << 20, Bytes: 1 << 40}); err != nil {
							b.Error(err)
							return
						}
						for i := range store.Chunks(f.Size) {
							if err := s.PutChunk(background, session, f.ID, i, data, time.Unix(0, 0)); err != nil {
								b.Error(err)
								return
							}
							chunks.Add(1)
							if stop.Load() {
								return
							}
						}
					}
				})
			}
			var took []time.Duration
			head := uint64(1)
			before := chunks.Load()
			for b.Loop() {
				began := time.Now()
				appended(b, s, change("s", fmt.Sprint("n", head), head, 1))
				took = append(took, time.Since(began))
				head++
			}
			sent := float64(chunks.Load()-before) * store.ChunkBytes / (1 << 20)
			stop.Store(true)
			group.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms/p95")
			b.ReportMetric(sent/b.Elapsed().Seconds(), "MiB/s")
		})
	}
}
