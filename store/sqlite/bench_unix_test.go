//go:build unix

package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openworkerai/openworker/store"
)

// BenchmarkAppend is a turn's worth of appends, over and over: accepted (with a claim and a receipt), an
// intent, an outcome with the next intent, and the end (with usage and a release). One operation is one
// append; "written" is what reaches the disk, log and checkpoints together.
func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "state")
			commits := 0
			count := &tap{before: func(query string) error {
				if query == `COMMIT` {
					commits++
				}
				return nil
			}}
			s := opened(b, Config{Dir: dir, wrap: count.wrap})
			if err := s.Register(background, store.Process{ID: "p", LeaseUntil: time.Unix(1<<40, 0)}); err != nil {
				b.Fatal(err)
			}
			turns := make([]*turns, sessions)
			for i := range turns {
				turns[i] = startTurns(b, s, fmt.Sprintf("0196f2a4-7c1e-7000-8000-%012d", i))
			}
			before, cpu, commitsBefore := written(b), cpuTime(), commits
			b.ReportAllocs()
			b.ResetTimer()
			var group sync.WaitGroup
			for i, t := range turns {
				n := b.N / sessions
				if i < b.N%sessions {
					n++
				}
				group.Go(func() {
					for range n {
						t.next(b, s)
					}
				})
			}
			group.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/1e3, "cpu-µs/op")
			b.ReportMetric(float64(written(b)-before)/float64(b.N), "written-B/op")
			b.ReportMetric(float64(b.N)/float64(commits-commitsBefore), "appends/commit")
			if info, err := os.Stat(filepath.Join(dir, File)); err == nil {
				b.ReportMetric(float64(info.Size())/float64(b.N), "stored-B/op")
			}
		})
	}
}

// turns appends the turns of one session.
type turns struct {
	session string
	head    uint64
	epoch   uint64
	step    int
}

func startTurns(b *testing.B, s *Store, session string) *turns {
	t := &turns{session: session}
	t.append(b, s, store.Append{Create: &store.Creation{Owner: "ann", Agent: "helper", Digest: strings.Repeat("d", 64)}},
		store.Record{Kind: "session_created", Data: bytes.Repeat([]byte("x"), 200)})
	return t
}

func (t *turns) append(b *testing.B, s *Store, a store.Append, records ...store.Record) {
	a.Session, a.Known, a.Time, a.Records = t.session, t.head, time.Now(), records
	a.ID = fmt.Sprintf("0196f2a4-7c1e-7000-9000-%012d", t.step)
	for i := range records {
		records[i].Version, records[i].Run = 1, fmt.Sprintf("%s.r%d", t.session, t.step/4)
	}
	appended, err := s.Append(background, a)
	if err != nil {
		b.Fatal(err)
	}
	t.head, t.epoch = appended.Head, appended.Epoch
}

func (t *turns) next(b *testing.B, s *Store) {
	body := bytes.Repeat([]byte("y"), 150)
	due := store.Index{Due: time.UnixMilli(int64(t.step/4 + 1)), Needs: []string{"agent:helper", "provider:openai"}, Activity: "active"}
	fence := &store.Fence{Epoch: t.epoch, Claim: "random claim id of 26 chrs"}
	switch t.step % 4 {
	case 0:
		t.append(b, s, store.Append{
			Claim: &store.Claim{Process: "p", Claim: fence.Claim, Epoch: t.epoch}, Index: due,
			Receipts: []store.Receipt{{Key: fmt.Sprintf("0196f2a4-7c1e-7000-a000-%012d", t.step), Run: t.session, Accepted: t.head + 1}},
		}, store.Record{Kind: "turn_accepted", Item: true, Data: body}, store.Record{Kind: "effect_started", Data: body})
	case 1:
		t.append(b, s, store.Append{Fence: fence, Index: due}, store.Record{Kind: "model_answered", Item: true, Data: body}, store.Record{Kind: "effect_started", Data: body})
	case 2:
		t.append(b, s, store.Append{Fence: fence, Index: due}, store.Record{Kind: "tool_finished", Item: true, Data: body}, store.Record{Kind: "effect_started", Data: body})
	case 3:
		t.append(b, s, store.Append{Fence: fence, Index: store.Index{Activity: "idle"}, Release: true,
			Usage: []store.UsageDelta{{Day: "2026-03-04", Turns: 1, Input: 100, Output: 10}},
		}, store.Record{Kind: "model_answered", Item: true, Data: body}, store.Record{Kind: "turn_ended", Terminal: true, Data: body})
	}
	t.step++
}

// written is how many bytes this process has sent to disks.
func written(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/io")
	if runtime.GOOS != "linux" {
		return 0
	}
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "write_bytes: "); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no write_bytes in /proc/self/io")
	return 0
}

// cpuTime is what this process has used of its processors.
func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkFile is a file of 8 MiB: begun, put in chunks, sealed, accepted, and read back. "written" is what reaches
// the disk, log and checkpoints together, for each byte of the file; "heap" the most that the process had in use at once.
func BenchmarkFile(b *testing.B) {
	const size = 8 << 20
	s := opened(b, Config{Dir: filepath.Join(b.TempDir(), "state")})
	part := bytes.Repeat([]byte("0123456789abcdef"), store.ChunkBytes/16)
	peak := uint64(0)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	look := func() {
		metrics.Read(sample)
		peak = max(peak, sample[0].Value.Uint64())
	}
	runtime.GC()
	look()
	begin, before := peak, written(b)
	var put, read time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		session := fmt.Sprint("s", i)
		if _, err := s.Append(background, creation(session)); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		file := store.File{ID: session + "-a", Size: size, SHA256: strings.Repeat("a", 64), Expires: fileEnd}
		if _, err := s.Stage(background, session, file, time.Unix(0, 0), fileRoom); err != nil {
			b.Fatal(err)
		}
		for n := range store.Chunks(size) {
			if err := s.PutChunk(background, session, file.ID, n, part, time.Unix(0, 0)); err != nil {
				b.Fatal(err)
			}
			look()
		}
		if _, err := s.Seal(background, session, file.ID, store.FileType{MediaType: "image/png"}, time.Unix(0, 0)); err != nil {
			b.Fatal(err)
		}
		a := change(session, "message", 1, 1)
		a.Accept = []string{file.ID}
		if _, err := s.Append(background, a); err != nil {
			b.Fatal(err)
		}
		put += time.Since(start)
		start = time.Now()
		for n := range store.Chunks(size) {
			data, err := s.Chunk(background, session, file.ID, n)
			if err != nil || len(data) != store.ChunkBytes {
				b.Fatal(len(data), err)
			}
			look()
		}
		read += time.Since(start)
	}
	b.StopTimer()
	b.ReportMetric(float64(put.Milliseconds())/float64(b.N), "stage-ms/op")
	b.ReportMetric(float64(read.Milliseconds())/float64(b.N), "read-ms/op")
	b.ReportMetric(float64(written(b)-before)/float64(b.N)/size, "written/B")
	b.ReportMetric(float64(peak-begin)/(1<<20), "heap-MiB")
	if info, err := os.Stat(filepath.Join(s.config.Dir, File)); err == nil {
		b.ReportMetric(float64(info.Size())/float64(b.N)/size, "stored/B")
	}
}

// BenchmarkRemoveFiles is a removal of what a session may have at most, 64 MiB in 8 files, by one call.
func BenchmarkRemoveFiles(b *testing.B) {
	s := opened(b, Config{Dir: filepath.Join(b.TempDir(), "state")})
	data := marked(8 << 20)
	for i := range b.N {
		b.StopTimer()
		session := fmt.Sprint("s", i)
		if _, err := s.Append(background, creation(session)); err != nil {
			b.Fatal(err)
		}
		for n := range 8 {
			sealedFile(b, s, session, fmt.Sprint("a", n), data)
		}
		b.StartTimer()
		if _, err := s.Stage(background, session, store.File{ID: "next", Expires: fileEnd}, fileEnd, fileRoom); err != nil {
			b.Fatal(err)
		}
	}
}
