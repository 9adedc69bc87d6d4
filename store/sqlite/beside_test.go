package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/store"
)

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
