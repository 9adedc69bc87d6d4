package engine_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// The corpus holds journals as some build wrote them: name.jsonl has a stored event a line, name.want.jsonl what
// each prefix folds into. Journals of that form are on people's disks, so a file that is there NEVER changes:
// -update only adds the files of histories that have none yet. A build may come to remember more than is
// written here; what is written must stay as it is.
var update = flag.Bool("update", false, "add golden files that do not exist yet; those that exist are never changed")

const corpus = "testdata/corpus"

type storedLine struct {
	Number  uint64          `json:"number"`
	Time    time.Time       `json:"time"`
	Kind    engine.Kind     `json:"kind"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

type wantLine struct {
	State    json.RawMessage `json:"state"`
	Pending  []engine.Effect `json:"pending"`
	Due      time.Time       `json:"due,omitzero"`
	Activity string          `json:"activity"`
	Needs    []string        `json:"needs"`
	Last     string          `json:"last"` // the newest entry of the conversation
}

// histories are the plays from which journals are added.
func histories() map[string]func(testing.TB) *play {
	make := func(agent engine.Agent, moves ...move) func(testing.TB) *play {
		return func(t testing.TB) *play { return newPlay(t, agent).play(moves...) }
	}
	imported := func(moves ...move) func(testing.TB) *play {
		return func(t testing.TB) *play { return newPlay(t, worker(), trip()...).play(moves...) }
	}
	tool := []move{begin, asksFor("write"), begin}
	return map[string]func(testing.TB) *play{
		"a_text":             make(worker(), say("hi <b>& good day</b>"), begin, says("hello")),
		"parallel_tools":     make(worker(), say("hi"), begin, asksFor("write", "read", "nothing"), begin, returns(2, "b"), wait(time.Second), returns(1, "a"), begin, says("done")),
		"approvals":          make(worker(only), say("hi"), begin, asksFor("free", "write", "write"), begin, decide(2, api.AllowSession, ""), begin, decide(1, api.Deny, "no"), returns(1, "f"), returns(3, "w"), begin, asksFor("write"), begin, returns(4, "x"), begin, says("done")),
		"retries":            make(worker(), say("hi"), begin, fails(api.CodeProviderOverloaded, true), wait(time.Second), begin, fails(api.CodeRateLimited, true, func(e *engine.ModelError) { e.RetryAfter = 9 * time.Second }), wait(time.Minute), begin, says("hello")),
		"failed":             make(worker(), say("hi"), begin, fails(api.CodeQuotaExhausted, false)),
		"crash_in_model":     make(worker(limited(limits(0, 5000, 2000, 500))), say("hi"), begin, takeOver, begin, says("hello")),
		"crash_in_tool_ask":  make(worker(), append([]move{say("hi")}, append(tool, takeOver, inspected(1, engine.InspectedRunning, ""), wait(time.Second), inspected(1, engine.InspectedUnknown, ""), decide(1, api.OutcomeRetry, ""), begin, returns(1, "ok"), begin, says("done"))...)...),
		"crash_in_tool_tell": make(worker(tellModel), append([]move{say("hi")}, append(tool, takeOver, inspected(1, engine.InspectedNone, ""), returnsOf(1, 1, 1, "it was done"), begin, says("done"), say("and?"), begin, says("it was"))...)...),
		"crash_repeatable":   make(worker(), say("hi"), begin, asksFor("put", "read"), begin, takeOver, begin, returns(1, "a"), returns(2, "b"), begin, says("done")),
		"not_started":        make(worker(), append([]move{say("hi")}, append(tool, takeOver, inspected(1, engine.InspectedNotStarted, ""), begin, returns(1, "ok"), begin, says("done"))...)...),
		"three_take_overs":   make(worker(), say("hi"), begin, asksFor("put", "write"), begin, takeOver, begin, takeOver, begin, takeOver),
		"cancel_waiting":     make(worker(always), say("hi"), queued("next"), begin, asksFor("write", "write"), decide(1, api.AllowOnce, ""), begin, cancelCurrent, overdue(1), cancelCurrent),
		"cancel_in_model":    make(worker(), say("hi"), begin, cancelCurrent, asksFor("write")),
		"interrupt":          make(worker(), append([]move{say("hi"), queued("later")}, append(tool, interrupt("now"), outcome(1, "stopped", api.CodeCancelled), begin, says("yes"), cancelRun(2))...)...),
		"closing_call":       make(worker(limited(limits(2, 0, 0, 0))), say("hi"), begin, asksFor("read"), begin, returns(1, "x"), begin, reply(engine.StopToolCalls, text("so far"), call("read"))),
		"cut_off":            make(worker(), say("hi"), begin, reply(engine.StopOutputLimit, reasoning("hm"), call("write")), begin, reply(engine.StopFiltered, text("I ca"))),
		// Rules 2: reviews, questions, checks, grants that are taken back, screened outputs, compaction.
		"reviews": make(worker(auto), say("hi"), begin, asksFor("write", "put", "read", "free"), begin, reviewed(1, verdict(api.ReviewAllow)), reviewed(2, verdict(api.ReviewDeny)),
			reviewed(3, verdict(api.ReviewUnsure)), takeOver, begin, reviewed(4, verdict(api.ReviewAllow)), decide(3, api.AllowOnce, ""), begin, returns(1, "w"), returns(3, "r"), returns(4, "f"), begin, says("done")),
		"questions": make(worker(asking), say("hi"), begin, reply(engine.StopToolCalls, askUser(colours), askUser(`{"question":"Why?"}`)), answerWith(2, api.Answer{Decision: api.Skipped, Reason: "no time"}),
			answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}), begin, says("done")),
		"questions_skipped": make(worker(asking, skipping), say("hi"), begin, reply(engine.StopToolCalls, askUser(colours)), begin, says("done")),
		"checks": make(worker(only, privileged), say("hi"), begin, asksForChecked("free", "write", "put", "spawn", "make_agent"), checked(1, ""), begin, checked(2, api.CodeDenied), checked(3, ""), checked(4, api.CodeCheckFailed),
			change(1, `{"a":2}`), takeOver, checkedAtStart(3, ""), returns(3, "p"), inspected(1, engine.InspectedFailed, "no"), begin, says("done")),
		"changed_denied": make(worker(always), say("hi"), begin, asksFor("write"), change(1, `{"a":9007199254740993}`), checkedAtStart(1, api.CodeDenied), begin, says("done")),
		"grant_revoked": make(worker(always), say("hi"), begin, asksFor("write"), decide(1, api.AllowSession, ""), begin, returns(1, "w"), begin, asksFor("write", "write"), revoke("app.write"),
			decide(2, api.AllowOnce, ""), decide(3, api.Deny, "no"), begin, returns(2, "w"), begin, says("done")),
		"screened": make(worker(), say("hi"), begin, asksFor("write", "put", "free", "read"), begin, screened(1, ""), returns(1, "redacted"), screened(2, ""), screened(3, api.CodeToolFailed), screened(4, ""), takeOver,
			begin, returns(2, "p"), returns(4, "r"), begin, says("done")),
		"overflow": make(worker(), say("hi"), begin, says("hello"), say("again"), begin, fails(api.CodeContextExhausted, false), summarises, summaryFails(api.CodeProviderOverloaded, true), wait(time.Minute), summarises,
			summaryFails(api.CodeContextExhausted, false), summarises, takeOver, summarises, summarised, plan(engine.Plan{ItemBytes: 512, Bytes: 90}), begin, says("done")),
		"context_exhausted": make(worker(), say("hi"), begin, fails(api.CodeContextExhausted, false), isFull(engine.Full{Item: "the message", Bytes: 9, Room: 3})),
		"compact_run":       make(worker(), say("hi"), begin, says("hello"), say("", compactNow), queued("next"), summarises, summarised, begin, says("done")),
		"compact_series":    make(worker(), say("hi"), begin, says("hello"), say("", compactNow), queued("next"), summarises, summaryFails(api.CodeContextExhausted, false), summarises, summarised, summarises, summarised, plan(engine.Plan{}), begin, says("done")),
		"summary_given_up":  make(worker(), say("hi"), begin, says("hello"), say("again"), summarises, summaryFails(api.CodeContentFiltered, false), takeOver, leavesOut, begin, fails(api.CodeContextExhausted, false), plan(engine.Plan{}), begin, says("done")),
		"compact_failed":    make(worker(), say("hi"), begin, says("hello"), say("", compactNow), summarises, summaryFails(api.CodeQuotaExhausted, false)),
		"deleted":           make(worker(), append([]move{say("hi"), queued("next")}, append(tool, remove)...)...),
		// Messages with files, and conversations that sessions begin with.
		"files": make(worker(), send(words("look <at> these"), picture(), attached("other.png", "image/png", 9), words("and"), notes(), paper()), begin, says("a cat"), send(notes()), begin, says("done")),
		"files_queued": make(worker(), send(notes()), sendWith(blocks(picture()), busy(api.BusyQueue)), sendWith(blocks(paper(), notes()), busy(api.BusyQueue)), begin,
			sendWith(blocks(words("now"), picture()), busy(api.BusyInterrupt)), says("stopped"), cancelRun(3), begin, says("yes"), begin, says("done")),
		"files_too_large": make(worker(), send(words("this"), picture()), begin, says("a cat"), send(paper()), begin, fails(api.CodeRequestTooLarge, false), bareFit, begin,
			fails(api.CodeRequestTooLarge, false), send(notes()), begin, fails(api.CodeRequestTooLarge, false), bareFit, begin, says("done")),
		"files_summarised": make(worker(), send(picture()), begin, says("a cat"), send(notes()), begin, says("a list"), send(paper()), begin, fails(api.CodeContextExhausted, false), fit(keepingSome), summarised, begin, says("a form"),
			send(words("well?")), fit(keepingLess), summaryFails(api.CodeContentFiltered, false), fit(keepingLess), begin, says("done")),
		"files_shortened": make(worker(), send(notes(), words("short")), begin, reply(engine.StopEnd, text(strings.Repeat("a long answer. ", 60))), say("so?"),
			plan(engine.Plan{ItemBytes: 600, Files: []uint64{2}, Bytes: 1417}), begin, says("done")),
		"files_compact_run": make(worker(), send(notes(), picture()), begin, says("a cat"), say("", compactNow), bareRun, bareRun, send(paper()), begin, says("done")),
		"imported":          imported(say("go on"), begin, says("gladly")),
		"imported_summarised": imported(say("go on"), begin, fails(api.CodeContextExhausted, false), fit(engine.Window{Room: 700, Source: 8000, Summary: 100}), summarised, begin, says("gladly"),
			say("", compactNow), bareRun),
	}
}

func TestJournalsOfEarlierBuildsFoldAsTheyDid(t *testing.T) {
	t.Parallel()
	if *update {
		addHistories(t)
	}
	journals, err := filepath.Glob(filepath.Join(corpus, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	journals = slices.DeleteFunc(journals, func(f string) bool { return strings.HasSuffix(f, ".want.jsonl") })
	for name := range histories() {
		if !slices.Contains(journals, filepath.Join(corpus, name+".jsonl")) {
			t.Errorf("history %s has no journal yet; add it with -update", name)
		}
	}
	for _, file := range journals {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			wants := read[wantLine](t, strings.TrimSuffix(file, ".jsonl")+".want.jsonl")
			lines := read[storedLine](t, file)
			if len(wants) != len(lines) {
				t.Fatalf("%d events, %d states", len(lines), len(wants))
			}
			f := newFolder()
			known := map[string]bool{}
			for _, w := range wants {
				keys("", generic(t, w), known)
			}
			for i, line := range lines {
				got := f.fold(t, line)
				if diff := differs("", generic(t, wants[i]), generic(t, got), known); diff != "" {
					t.Fatalf("behind event %d (%s): %s", line.Number, line.Kind, diff)
				}
			}
			f.snapshots(t, lines)
		})
	}
}

func addHistories(t *testing.T) {
	t.Helper()
	for name, history := range histories() {
		file := filepath.Join(corpus, name)
		if _, err := os.Stat(file + ".jsonl"); err == nil {
			continue
		}
		var journal, wants bytes.Buffer
		f := newFolder()
		for _, fact := range history(t).facts {
			stored, err := engine.Encode(fact.Event)
			if err != nil {
				t.Fatal(err)
			}
			line := storedLine{Number: fact.Number, Time: fact.Time, Kind: stored.Kind, Version: stored.Version, Data: stored.Data}
			write(t, &journal, line)
			w := f.fold(t, line)
			w.State = withoutEstimates(t, w.State)
			write(t, &wants, w)
		}
		for suffix, data := range map[string][]byte{".jsonl": journal.Bytes(), ".want.jsonl": wants.Bytes()} {
			if err := os.WriteFile(file+suffix, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// withoutEstimates leaves out what a later build may reckon otherwise: how large a context is, and a message in it.
func withoutEstimates(t testing.TB, state json.RawMessage) json.RawMessage {
	t.Helper()
	fields := generic(t, state).(map[string]any)
	context, _ := fields["context"].(map[string]any)
	maps.DeleteFunc(context, func(k string, _ any) bool { return k != "files" })
	delete(fields, "notices")
	queue, _ := fields["queue"].([]any)
	for _, q := range queue {
		delete(q.(map[string]any), "bytes")
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// folder folds stored lines and tells where each leads.
type folder struct {
	state      *engine.State
	transcript *engine.Transcript
}

func newFolder() *folder {
	return &folder{state: &engine.State{Session: "s"}, transcript: engine.NewTranscript()}
}

func (f *folder) fold(t testing.TB, line storedLine) wantLine {
	t.Helper()
	e, err := engine.Decode(line.Kind, line.Version, line.Data)
	if err != nil {
		t.Fatal(err)
	}
	fact := engine.Fact{Number: line.Number, Time: line.Time, Event: e}
	if f.state, err = engine.Apply(f.state, fact); err != nil {
		t.Fatal(err)
	}
	f.transcript.Apply(fact)
	w := wantLine{State: json.RawMessage(mustSnapshot(t, f.state)), Pending: engine.Pending(f.state), Due: engine.Due(f.state), Activity: engine.Activity(f.state), Needs: engine.Needs(f.state)}
	if entries := f.transcript.Entries(); len(entries) > 0 {
		last := entries[len(entries)-1]
		w.Last = fmt.Sprintf("%s %s %s", last.Kind, last.CallID, last.Described())
	}
	return w
}

// snapshots checks that going on from a snapshot of any prefix comes to the same as folding all.
func (f *folder) snapshots(t *testing.T, lines []storedLine) {
	t.Helper()
	want := mustSnapshot(t, f.state)
	for cut := range lines {
		g := newFolder()
		for i, line := range lines {
			if i == cut {
				restored, err := engine.Restore([]byte(mustSnapshot(t, g.state)))
				if err != nil {
					t.Fatal(err)
				}
				g.state = restored
			}
			g.fold(t, line)
		}
		if got := mustSnapshot(t, g.state); got != want {
			t.Errorf("with a snapshot behind %d events the fold comes to\n%s\nwant\n%s", cut, got, want)
		}
	}
}

// differs says where got is not what want says, "" if it is. A key that want lacks is one that a later build has
// added, unless it is known to the build that wrote want.
func differs(path string, want, got any, known map[string]bool) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: want %v, got %v", path, want, got)
		}
		for k, v := range w {
			if diff := differs(path+"."+k, v, g[k], known); diff != "" {
				return diff
			}
		}
		for k, v := range g {
			if _, there := w[k]; !there && known[path+"."+k] {
				return fmt.Sprintf("%s.%s: want none, got %v", path, k, v)
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s: want %v, got %v", path, want, got)
		}
		for i := range w {
			if diff := differs(path+"[]", w[i], g[i], known); diff != "" {
				return diff
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s: want %v, got %v", path, want, got)
	}
	return ""
}

// keys collects the paths of all keys in v.
func keys(path string, v any, to map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, elem := range v {
			to[path+"."+k] = true
			keys(path+"."+k, elem, to)
		}
	case []any:
		for _, elem := range v {
			keys(path+"[]", elem, to)
		}
	}
}

func generic(t testing.TB, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func read[T any](t testing.TB, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, v)
	}
	return out
}

func write(t testing.TB, b *bytes.Buffer, v any) {
	t.Helper()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheCorpusCheckCatches(t *testing.T) {
	t.Parallel()
	want := generic(t, json.RawMessage(`{"a":1,"b":[{"c":1}]}`))
	known := map[string]bool{".z": true, ".b[].z": true}
	for name, got := range map[string]string{
		"a value that changed":      `{"a":2,"b":[{"c":1}]}`,
		"a key that is gone":        `{"b":[{"c":1}]}`,
		"a shorter list":            `{"a":1,"b":[]}`,
		"a longer list":             `{"a":1,"b":[{"c":1},{}]}`,
		"a change inside":           `{"a":1,"b":[{"c":"1"}]}`,
		"a known key too many":      `{"a":1,"b":[{"c":1}],"z":0}`,
		"a known key inside a list": `{"a":1,"b":[{"c":1,"z":0}]}`,
		"null":                      `null`,
	} {
		if differs("", want, generic(t, json.RawMessage(got)), known) == "" {
			t.Errorf("%s is not noticed", name)
		}
	}
	later := generic(t, json.RawMessage(`{"a":1,"b":[{"c":1,"e":5}],"d":4}`))
	if diff := differs("", want, later, known); diff != "" {
		t.Errorf("what a later build adds counts as a difference: %s", diff)
	}
}
