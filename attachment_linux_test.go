package openworker_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// costFile names, for a process of its own, the file whose sending is measured.
const costFile = "OPENWORKER_TEST_COST_FILE"

// cost is what a process needed, in bytes.
type cost struct {
	Memory   int64 // most that was resident at any time
	Uploaded int64 // written to files while the file was uploaded
	Accepted int64 // written while the message that refers to it was sent and answered
}

// AT3: a file of 8 MiB is in memory at most three times, from the file to the model's request, and its bytes are written
// once: to the log, and from there to the database.
func TestAFileIsHeldAtMostThreeTimesAndWrittenOnce(t *testing.T) {
	if path := os.Getenv(costFile); path != "" {
		spend(t, path)
		return
	}
	const size = 8 << 20
	dir := t.TempDir()
	of := func(n int) cost {
		data := []byte("%PDF-1.4\n")
		for range (n - 40) / 8 {
			data = fmt.Appendf(data, "%08x", rand.Uint32())
		}
		data = append(data, "\nstartxref\n9\n%%EOF\n"...)
		path := filepath.Join(dir, strconv.Itoa(n)+".pdf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v=false")
		cmd.Env = append(os.Environ(), costFile+"="+path)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, rest, _ := bytes.Cut(out, []byte("cost:"))
		var c cost
		if err := json.NewDecoder(bytes.NewReader(rest)).Decode(&c); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return c
	}
	// When the collector runs is chance: the middle one of three.
	larges := []cost{of(size), of(size), of(size)}
	slices.SortFunc(larges, func(a, b cost) int { return cmp.Compare(a.Memory, b.Memory) })
	small, large := of(1000), larges[1]
	memory := large.Memory - small.Memory
	t.Logf("memory %.2f times the file, written %.2f times while uploaded, %.3f times while sent",
		float64(memory)/size, float64(large.Uploaded)/size, float64(large.Accepted-small.Accepted)/size)
	if memory > 3*size {
		t.Errorf("%d bytes of memory for a file of %d: %+v, with a small one %+v", memory, size, large, small)
	}
	if large.Uploaded > 22*size/10 || large.Uploaded < size {
		t.Errorf("%d bytes were written for a file of %d", large.Uploaded, size)
	}
	if more := large.Accepted - small.Accepted; more > size/20 {
		t.Errorf("to accept the file wrote %d bytes more than to accept a small one", more)
	}
}

// spend sends a file and tells what it took.
func spend(t *testing.T, path string) {
	ctx := context.Background()
	dir := t.TempDir()
	harness, err := openworker.Open(ctx, openworker.Options{
		StateDir: filepath.Join(dir, "state"), ScratchDir: filepath.Join(dir, "scratch"),
		Providers: []openworker.Provider{scripted.New(scripted.Config{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = harness.Close(ctx) }()
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{Name: "a", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file, err := openworker.AttachmentFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begun := written(t)
	if _, err := session.Upload(ctx, file); err != nil {
		t.Fatal(err)
	}
	uploaded := written(t)
	result, err := session.Run(ctx, "Read it.", file)
	if err != nil || result.Status != openworker.StatusCompleted {
		t.Fatalf("%v, %+v", err, result)
	}
	data, _ := json.Marshal(cost{Memory: 1024 * figure(t, "/proc/self/status", "VmHWM:"), Uploaded: uploaded - begun, Accepted: written(t) - uploaded})
	fmt.Printf("cost:%s\n", data)
}

func written(t *testing.T) int64 { return figure(t, "/proc/self/io", "wchar:") }

// figure reads a number that the system keeps of this process.
func figure(t *testing.T, path, name string) int64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", path, name)
	return 0
}
