package window

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/google"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openai"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// The models of every provider.
const (
	small   = "small"   // 8,000 tokens, and the provider says so
	unknown = "unknown" // 8,000 tokens, and nobody says so
	large   = "large"   // 200,000 tokens
	medium  = "medium"  // 32,000 tokens
	tiny    = "tiny"    // 1,000 tokens
	wrong   = "wrong"   // 8,000 tokens, and the provider's table says 128,000
)

var windows = map[string]int{small: 8_000, unknown: 8_000, large: 200_000, medium: 32_000, tiny: 1_000, wrong: 8_000}

var facted = map[string]model.Facts{small: {Window: 8_000}, large: {Window: 200_000}, medium: {Window: 32_000}, tiny: {Window: 1_000}, wrong: {Window: 128_000}}

func providers(transport http.RoundTripper) ([]model.Provider, error) {
	client := &http.Client{Transport: transport}
	chat, err := openaichat.New(openaichat.Config{Name: "Chat", BaseURL: "http://model.test/v1", HTTPClient: client, KeyOptional: true, Facts: facted})
	if err != nil {
		return nil, err
	}
	responses, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", HTTPClient: client, KeyOptional: true, Facts: facted})
	if err != nil {
		return nil, err
	}
	messages, err := anthropic.New(anthropic.Config{BaseURL: "http://model.test", HTTPClient: client, KeyOptional: true, Facts: facted})
	if err != nil {
		return nil, err
	}
	gemini, err := google.New(google.Config{BaseURL: "http://model.test", HTTPClient: client, KeyOptional: true, Facts: facted})
	return []model.Provider{chat, responses, messages, gemini}, err
}

// everyProvider are their names.
var everyProvider = []string{"Chat", "OpenAI", "Anthropic", "Google"}

// clock is the test's own: under synctest the machine's boot clock would stand still.
type clock struct{ started time.Time }

func (c clock) Now() time.Time      { return time.Now() }
func (c clock) Boot() time.Duration { return time.Since(c.started) }

// world is a session, the harness that runs it, and the model that it talks to.
type world struct {
	*service.Service
	t       testing.TB
	store   store.Store
	server  *modeltestserver.Server
	mind    *mind
	set     set
	agent   api.AgentDefinition
	session string

	turns int
	known []string // the facts so far
	bytes int      // of all texts so far
}

// set is what a world may have of its own.
type set struct {
	provider, model string
	count           tokenizer
	limits          api.Limits
	summary         int // bytes of a summary beside its facts
	instructions    string
	fast            bool // the server answers at once, and nobody looks at what it is sent
	store           store.Store
	guardrails      []guard.Guardrail // of the agent
	guidance        string            // of the agent, for summaries
	tools           []tool.Tool       // beside look

	answer func(modeltestserver.Request) modeltestserver.Reply // instead of the mind's, unless nil
}

func newWorld(t testing.TB, s set) *world {
	t.Helper()
	if s.store == nil {
		s.store = memstore.New(memstore.Config{})
	}
	w := &world{t: t, set: s, store: s.store, mind: &mind{t: t, broken: map[int]bool{}, summary: s.summary}}
	if s.answer == nil {
		s.answer = w.mind.answer
	}
	w.server = modeltestserver.NewInMemory(modeltestserver.Config{
		Handler: s.answer, Fast: s.fast,
		Window: func(r modeltestserver.Request) modeltestserver.Window {
			return modeltestserver.Window{Tokens: s.count(r), Limit: windows[r.Model]}
		},
	})
	if s.limits.MaxModelCalls == nil {
		s.limits.MaxModelCalls = api.Set(100)
	}
	w.agent = api.AgentDefinition{
		Name: "assistant", Instructions: cmp.Or(s.instructions, "Help."), DefaultModel: api.ModelRef{Provider: s.provider, Name: s.model}, Limits: s.limits,
		Approvals: api.Approvals{Mode: api.ApproveNever},
	}
	for _, g := range s.guardrails {
		w.agent.Guardrails = append(w.agent.Guardrails, g.Name)
	}
	if s.guidance != "" {
		w.agent.Compaction = &api.CompactionOptions{AdditionalInstructions: &s.guidance}
	}
	w.open()
	session, err := w.CreateSession(t.Context(), w.register(), api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.session = session.Session
	return w
}

// open starts a harness on the store.
func (w *world) open() {
	w.t.Helper()
	list, err := providers(w.server.Transport())
	if err != nil {
		w.t.Fatal(err)
	}
	w.Service, err = service.New(w.t.Context(), service.Config{
		Store: w.store, ScratchDir: w.t.TempDir(), Providers: list, Guardrails: w.set.guardrails, Clock: clock{time.Now()},
		CheckRequest: func(r model.Request) {
			if err := model.Check(r); err != nil {
				w.t.Errorf("a request breaks the rules: %v", err)
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) register() api.AgentReference {
	w.t.Helper()
	look, err := tool.New("look", "Looks at something.", func(_ context.Context, _ tool.Call, in input) (string, error) { return in.output(), nil }, tool.Options{Effect: api.ReadOnly})
	if err != nil {
		w.t.Fatal(err)
	}
	tools := append([]tool.Tool{look}, w.set.tools...)
	if err := w.Bind(tools...); err != nil {
		w.t.Fatal(err)
	}
	w.agent.Tools = nil
	for _, t := range tools {
		w.agent.Tools = append(w.agent.Tools, t.Declaration())
	}
	ref, err := w.RegisterAgent(w.t.Context(), "", w.agent)
	if err != nil {
		w.t.Fatal(err)
	}
	return ref
}

// close ends the harness. Under synctest it must happen before the test returns.
func (w *world) close() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		w.t.Error(err)
	}
}

// restart is a new process on the same store.
func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
	w.register()
}

// begin sends a turn's message, with a fact in it if there is to be one.
func (w *world) begin(k task, withFact bool, filler string, options api.TurnOptions) (task, api.RunReference) {
	w.t.Helper()
	w.turns++
	k.Turn, k.Code = w.turns, fmt.Sprintf("code-%d", w.turns*7919)
	var told []string
	if withFact {
		told = append(told, fact(k.Turn, "message"))
	}
	message := k.message(told, filler)
	w.mind.mu.Lock()
	w.mind.say("user", message)
	w.mind.mu.Unlock()
	run, err := w.Submit(w.t.Context(), api.Submission{Session: w.session, Text: message, Options: options})
	if err != nil {
		w.t.Fatal(err)
	}
	w.known = append(w.known, told...)
	if k.Fact && k.Rounds > 0 {
		w.known = append(w.known, fact(k.Turn, "result"))
	}
	return k, run
}

// end waits for a run.
func (w *world) end(run api.RunReference) api.Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	result, err := w.Result(ctx, run.Session, run.Run)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// turn goes through a turn and checks that its answer knows all that was ever told.
func (w *world) turn(k task, withFact bool, filler string, options ...api.TurnOptions) api.Result {
	w.t.Helper()
	k, run := w.begin(k, withFact, filler, append(options, api.TurnOptions{})[0])
	result := w.end(run)
	w.knows(k, result)
	return result
}

// knows checks the answer of a turn.
func (w *world) knows(k task, result api.Result) {
	w.t.Helper()
	status := api.StatusCompleted
	if k.Cut {
		status = api.StatusLimitReached
	}
	if result.Status != status {
		w.t.Fatalf("turn %d is %s: %+v", k.Turn, result.Status, result.Error)
	}
	got, want := strings.Split(result.Text, "\n"), strings.Split(answerOf(k, w.known), "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			w.t.Fatalf("turn %d does not know %q; it says %.2000q", k.Turn, line, result.Text)
		}
	}
}

// check ends a test: no request was refused for its form, as many as said were too much, and the history is whole.
func (w *world) check(overflows int) {
	w.t.Helper()
	for _, refused := range w.server.Refusals() {
		w.t.Errorf("refused: %s", refused)
	}
	if got := w.server.Overflows(); len(got) > overflows {
		w.t.Errorf("%d requests were too much, at most %d may be; the first of %d tokens and %d for the answer: %.200q", len(got), overflows, got[0].Tokens, got[0].MaxTokens, got[0].Body)
	}
	w.checkHistory()
}

func (w *world) checkHistory() {
	w.t.Helper()
	w.mind.mu.Lock()
	want := slices.Clone(w.mind.history)
	w.mind.mu.Unlock()
	n := 0
	w.bytes = 0
	for cursor, more := "", true; more; {
		page, err := w.History(w.t.Context(), api.HistoryQuery{Session: w.session, Cursor: cursor, Limit: api.MaxPage})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, item := range page.Items {
			got := said{item.Type, item.Text + item.Arguments + item.Output}
			if n >= len(want) || !whole(got, want[n]) {
				w.t.Fatalf("item %d of the history is %.200q, want %.200q of %d", n, got, append(want, said{"nothing", ""})[min(n, len(want))], len(want))
			}
			w.bytes += len(got.Text)
			n++
		}
		cursor, more = page.Next, page.Next != ""
	}
	if n != len(want) {
		w.t.Errorf("the history has %d items, want %d", n, len(want))
	}
}

// whole compares an item with what was said; a result that is too long is kept up to its bound.
func whole(got, want said) bool {
	if got.Type != want.Type || got.Type != "tool_result" || len(want.Text) <= api.MaxToolOutputBytes {
		return got == want
	}
	return len(got.Text) <= api.MaxToolOutputBytes && len(got.Text) > api.MaxToolOutputBytes-500 && strings.HasPrefix(want.Text, got.Text[:api.MaxToolOutputBytes-500])
}

// events are those of the session, of one type.
func events[T any](w *world, kind api.EventType) []T {
	w.t.Helper()
	var out []T
	for after, more := uint64(0), true; more; {
		page, err := w.Events(w.t.Context(), api.EventQuery{Session: w.session, After: after, Limit: api.MaxPage})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range page.Events {
			after = e.Number
			if e.Type != kind {
				continue
			}
			var data T
			if err := json.Unmarshal(e.Data, &data); err != nil {
				w.t.Fatal(err)
			}
			out = append(out, data)
		}
		more = page.More
	}
	return out
}
