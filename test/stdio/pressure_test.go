package stdio_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// memory is the runtime's resident memory in bytes, where the system tells.
func memory(t *testing.T, r *child.Runtime) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

func TestTwentyThousandWaitsAtOnceHarmNothingElse(t *testing.T) {
	t.Parallel()
	const n, most = 20_000, 16_384
	r, run, work := working(t)
	var lines strings.Builder
	for i := range n {
		lines.WriteString(child.RequestLine(fmt.Sprint("w", i), rpc.MethodResult, run) + "\n")
	}
	if err := r.Write([]byte(lines.String())); err != nil {
		t.Fatal(err)
	}
	// Those that are too many are refused. They count until they are.
	for i := most; i < n; i++ {
		if a := r.Answer(fmt.Sprintf(`"w%d"`, i)); codeOf(a) != api.CodeQueueFull {
			t.Fatalf("wait %d: %s", i, a.Raw)
		}
	}
	if m := memory(t, r); m > 512<<20 {
		t.Errorf("the runtime has %d MiB", m>>20)
	}
	t.Logf("it has %d MiB", memory(t, r)>>20)
	// One of them is given up, and something else has room.
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"w0"}}`)
	if a := r.Answer(`"w0"`); codeOf(a) != api.CodeCancelled {
		t.Errorf("given up: %s", a.Raw)
	}
	probe(t, r)
	r.Reply(work, `{"output":"done"}`)
	for i := 1; i < most; i++ {
		if a := r.Answer(fmt.Sprintf(`"w%d"`, i)); a.Error != nil {
			t.Fatalf("wait %d: %s", i, a.Raw)
		}
	}
	probe(t, r)
}

// sleeper is a runtime whose output nobody reads, and another on the same store that sees what becomes of its sessions.
func sleeper(t *testing.T) (r, watch *child.Runtime, session string) {
	t.Helper()
	watch = open(t)
	session = newSession(t, watch)
	r = child.Start(t, child.Config{Binary: binary, StateDir: watch.StateDir, Unread: true})
	r.Line(child.RequestLine("i", rpc.MethodInitialize, hello))
	r.Line(child.RequestLine("t", rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`))
	r.Line(child.RequestLine("a", rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"tools":[`+tool+`]}}`))
	return r, watch, session
}

// enough is as many requests of session/state as no pipe holds the answers to.
const enough = 2_000

func TestTurnsGoOnWhileTheClientReadsNothing(t *testing.T) {
	t.Parallel()
	r, watch, session := sleeper(t)
	for i := range enough {
		r.Line(child.RequestLine(fmt.Sprint("f", i), rpc.MethodState, rpc.SessionID{Session: session}))
	}
	before := memory(t, r)
	for i := range 20 {
		var s rpc.Subscription
		into(t, watch.Call(rpc.MethodSubscribe, api.FollowQuery{Session: session}), &s)
		r.Line(child.RequestLine(fmt.Sprint("turn", i), rpc.MethodSubmit, api.Submission{Session: session, Text: "count to 20", Options: api.TurnOptions{WhenBusy: api.BusyQueue}}))
		for ended := 0; ended <= i; ended++ {
			untilNext(t, watch, s, api.EventTurnEnded)
		}
		watch.Call(rpc.MethodUnsubscribe, s)
	}
	if grown := memory(t, r) - before; grown > 64<<20 {
		t.Errorf("20 turns took %d MiB more", grown>>20)
	}
	// What was held back is there when the client reads again.
	r.Read()
	for i := range enough {
		if a := r.Answer(fmt.Sprintf(`"f%d"`, i)); a.Error != nil {
			t.Fatalf("%s", a.Raw)
		}
	}
	for i := range 20 {
		if a := r.Answer(fmt.Sprintf(`"turn%d"`, i)); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	probe(t, r)
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What waits for a client is bounded: one that asks on and on and reads nothing loses its runtime, which says why, and not the
// machine's memory.
func TestAClientThatAsksOnAndOnAndReadsNothingLosesItsRuntime(t *testing.T) {
	t.Parallel()
	r := child.Start(t, child.Config{Binary: binary, Unread: true, Cut: true, Noisy: true})
	r.Line(child.RequestLine("i", rpc.MethodInitialize, hello))
	id := strings.Repeat("x", 1<<20-100) // comes back with each answer
	highest := 0
	for i := range 4_000 {
		if r.Write([]byte(child.RequestLine(id, rpc.MethodUnsubscribe, `{"subscription":"s"}`)+"\n")) != nil {
			break
		}
		if i%50 == 0 {
			select {
			case <-r.Ended():
			default:
				highest = max(highest, memory(t, r))
			}
		}
	}
	select {
	case <-r.Ended():
	case <-time.After(child.Patience):
		t.Error("the runtime goes on")
	}
	r.Read()
	if code := r.Exit(); code != 1 || strings.Count(r.Stderr(), "level=ERROR") != 1 || !strings.Contains(r.Stderr(), "has taken nothing for 30s") {
		t.Errorf("it ended with %d, and said: %s", code, r.Stderr())
	}
	t.Logf("it had %d MiB", highest>>20)
	if highest > 1_200<<20 {
		t.Errorf("the runtime had %d MiB", highest>>20)
	}
}
