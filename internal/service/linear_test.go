package service_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// Concurrent sends, cancels, answers and looks at one session through two processes come to what some order
// of them, one after the other, would have come to (SE4, RU5, AP3).
func TestSendsAnswersAndCancelsOfTwoProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("in memory, seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := memstore.New(memstore.Config{})
				linearizable(t, inMemory(st), seed, 40)
			})
		})
	}
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("on SQLite, seed ", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			linearizable(t, &suitehost.Processes{Start: start, Connect: func(t *testing.T) *suitehost.Mortal {
				st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = st.Close() })
				return &suitehost.Mortal{Store: st}
			}}, seed, 25)
		})
	}
}

// deed is an operation on the session; came is what it came to.
type deed struct {
	kind     string // send, cancel, answer, look
	run      string // cancel, answer: of which run
	decision api.Decision
}

type came struct {
	run  string   // send: the run that was begun, or that is in the way; look: the current one
	code api.Code // "" for success
	open bool     // look: an interaction is open
}

// sequential is the session as its callers may think of it: a turn waits for an answer until somebody
// answers or cancels, and ends by itself some time after.
type sequential struct {
	current string
	// settled is how each run's interaction was resolved: a decision, or cancelled.
	settled map[string]api.Decision
}

func (s sequential) settle(run string, d api.Decision) sequential {
	s.settled = maps.Clone(s.settled)
	s.settled[run] = d
	return s
}

func (s sequential) step(d deed, c came) []sequential {
	from := []sequential{s}
	if s.settled[s.current] != "" {
		from = append(from, sequential{settled: s.settled}) // it may have ended in the meantime
	}
	var to []sequential
	for _, s := range from {
		if next, ok := s.do(d, c); ok {
			to = append(to, next)
		}
	}
	return to
}

func (s sequential) do(d deed, c came) (sequential, bool) {
	switch d.kind {
	case "send":
		if c.code == api.CodeSessionBusy {
			return s, s.current != "" && c.run == s.current
		}
		return sequential{current: c.run, settled: s.settled}, c.code == "" && s.current == ""
	case "cancel":
		if s.current == d.run && s.settled[d.run] == "" {
			s = s.settle(d.run, api.InteractionCancelled)
		}
		return s, c.code == ""
	case "answer":
		before := s.settled[d.run]
		if before == "" {
			return s.settle(d.run, d.decision), c.code == "" && s.current == d.run
		}
		return s, (c.code == "") == (before == d.decision) && (c.code == "" || c.code == api.CodeAlreadyResolved)
	default:
		return s, c.run == s.current && (!c.open || s.settled[s.current] == "")
	}
}

var callers = porcupine.NondeterministicModel{
	Init: func() []any { return []any{sequential{settled: map[string]api.Decision{}}} },
	Step: func(state, input, output any) []any {
		var out []any
		for _, s := range state.(sequential).step(input.(deed), output.(came)) {
			out = append(out, s)
		}
		return out
	},
	Equal: func(a, b any) bool {
		x, y := a.(sequential), b.(sequential)
		return x.current == y.current && maps.Equal(x.settled, y.settled)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

func linearizable(t *testing.T, st *suitehost.Processes, seed uint64, deeds int) {
	w := servicetest.World{
		Model: func(p servicetest.Prompt) servicetest.Answer {
			if p.Round > 0 {
				return servicetest.Answer{Text: "ok"}
			}
			return servicetest.Answer{Calls: []servicetest.Call{{Name: "act", Arguments: "{}"}}}
		},
		Tools: []servicetest.Tool{{
			ToolDeclaration: api.ToolDeclaration{Name: "act", InputSchema: []byte(`{"type":"object"}`)},
			Run:             func(context.Context, servicetest.ToolCall) (string, error) { return "", nil },
		}},
	}
	var doors []api.Service
	var agent api.AgentReference
	for range 2 {
		p := st.Open(t, w)
		ref, err := p.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "assistant", DefaultModel: api.ModelRef{Provider: servicetest.Provider, Name: "m"},
			Tools: []api.ToolDeclaration{w.Tools[0].ToolDeclaration}})
		if err != nil {
			t.Fatal(err)
		}
		doors, agent = append(doors, p), ref
	}
	ref, err := doors[0].CreateSession(t.Context(), agent, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{session: ref.Session}
	var wg sync.WaitGroup
	for client := range 5 {
		rng := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for range deeds {
				h.act(t, client, doors[rng.IntN(2)], rng)
			}
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, op := range h.ops {
		d, c := op.Input.(deed), op.Output.(came)
		counts[strings.TrimSpace(d.kind+" "+string(c.code))]++
	}
	t.Log(counts)
	if counts["send"] == 0 || counts["look"] == 0 {
		t.Errorf("the run shows nothing: %v", counts)
	}
	model := callers.ToModel()
	if result := porcupine.CheckOperationsTimeout(model, h.ops, 20*time.Second); result != porcupine.Ok {
		slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, op := range h.ops {
			t.Logf("%4d–%4d client %d %+v: %+v", op.Call, op.Return, op.ClientId, op.Input, op.Output)
		}
		t.Fatalf("the history is %s", result)
	}
}

// history records what callers did, on a clock that counts.
type history struct {
	session string
	clock   atomic.Int64

	mu   sync.Mutex
	ops  []porcupine.Operation
	runs []string          // that were begun
	asks map[string]string // run → its interaction
}

func (h *history) act(t *testing.T, client int, s api.Service, rng *rand.Rand) {
	ctx := t.Context()
	d := deed{kind: []string{"send", "send", "look", "look", "cancel", "answer", "answer"}[rng.IntN(7)],
		decision: []api.Decision{api.AllowOnce, api.Deny}[rng.IntN(2)]}
	interaction := ""
	h.mu.Lock()
	if len(h.runs) > 0 {
		d.run = h.runs[max(len(h.runs)-1-rng.IntN(2), 0)]
		interaction = h.asks[d.run]
	}
	h.mu.Unlock()
	if d.run == "" && d.kind == "cancel" || interaction == "" && d.kind == "answer" {
		d.kind = "look"
	}
	var out came
	op := porcupine.Operation{ClientId: client, Input: d, Call: h.clock.Add(1)}
	var err error
	switch d.kind {
	case "send":
		var run api.RunReference
		run, err = s.Submit(ctx, api.Submission{Session: h.session, Text: "go"})
		out.run = run.Run
		if e := api.AsError(err); err != nil {
			out.run = e.Details["run"]
		}
	case "cancel":
		err = s.Cancel(ctx, h.session, d.run)
	case "answer":
		err = s.Resolve(ctx, h.session, interaction, api.Answer{Decision: d.decision})
	case "look":
		var st api.SessionState
		st, err = s.State(ctx, h.session)
		out.run, out.open = st.Run, len(st.Interactions) > 0
		h.mu.Lock()
		for _, in := range st.Interactions {
			if h.asks == nil {
				h.asks = map[string]string{}
			}
			h.asks[in.Run] = in.ID
		}
		h.mu.Unlock()
	}
	op.Return = h.clock.Add(1)
	out.code = api.CodeOf(err)
	if err != nil && !errors.Is(err, api.ErrSessionBusy) && !errors.Is(err, api.ErrAlreadyResolved) {
		t.Errorf("%+v: %v", d, err)
	}
	op.Output = out
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	if d.kind == "send" && out.code == "" {
		h.runs = append(h.runs, out.run)
	}
}

func TestTheModelOfASessionRefusesHistoriesThatNoOrderExplains(t *testing.T) {
	t.Parallel()
	for name, ops := range map[string][]porcupine.Operation{
		"two turns at once":                  {{Input: deed{kind: "send"}, Output: came{run: "r2"}}, {Input: deed{kind: "send"}, Output: came{run: "r3"}}},
		"busy with a turn that is not there": {{Input: deed{kind: "send"}, Output: came{run: "r2", code: api.CodeSessionBusy}}},
		"two answers": {{Input: deed{kind: "send"}, Output: came{run: "r2"}}, {Input: deed{kind: "answer", run: "r2", decision: api.Deny}, Output: came{}},
			{Input: deed{kind: "answer", run: "r2", decision: api.AllowOnce}, Output: came{}}},
		"an answer behind a cancel": {{Input: deed{kind: "send"}, Output: came{run: "r2"}}, {Input: deed{kind: "cancel", run: "r2"}, Output: came{}},
			{Input: deed{kind: "answer", run: "r2", decision: api.Deny}, Output: came{}}},
		"a look at the past": {{Input: deed{kind: "send"}, Output: came{run: "r2"}}, {Input: deed{kind: "look"}, Output: came{}}},
	} {
		for i := range ops {
			ops[i].Call, ops[i].Return = int64(2*i), int64(2*i+1)
		}
		if porcupine.CheckOperations(callers.ToModel(), ops) {
			t.Errorf("%s: is taken for possible", name)
		}
	}
}
