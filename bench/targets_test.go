package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cells makes a report of the turns a second of rounds.
func cells(sessions int, perSecond map[string][]float64) (all []Cell) {
	for name, rounds := range perSecond {
		c := Cell{Name: name, Sessions: sessions}
		for _, f := range rounds {
			c.Rounds = append(c.Rounds, Measure{PerSecond: f})
		}
		c.Median = medianOf(c.Rounds)
		all = append(all, c)
	}
	return all
}

func TestARatioIsTheMedianOfTheRoundsRatios(t *testing.T) {
	t.Parallel()
	// The machine was twice as slow in the last round: no ratio of medians would say 2.
	r := Report{Cells: cells(1, map[string][]float64{ours: {200, 220, 100}, dbosOurs: {100, 110, 50}})}
	if got := r.ratio(1, dbosOurs); got != 2 {
		t.Errorf("ratio %g", got)
	}
	for _, missing := range []float64{r.ratio(8, dbosOurs), r.ratio(1, rawLoop), r.ratio(1, ours)} {
		if missing != 0 {
			t.Errorf("a ratio to nothing is %g", missing)
		}
	}
}

func TestATargetIsMetMissedOrNotMeasured(t *testing.T) {
	t.Parallel()
	r := Report{Cells: append(cells(1, map[string][]float64{ours: {200}, dbosOurs: {100}, dbosFull: {150}}), cells(64, map[string][]float64{ours: {900}, rawLoop: {2000}})...)}
	r.judge()
	got := map[string]string{}
	for _, target := range r.Targets {
		got[target.What] = target.Verdict
	}
	want := map[string]string{
		"1 session, against DBOS with its NORMAL":                  met,
		"1 session, against DBOS at the same setting":              missed,
		"8 sessions, against DBOS with its NORMAL":                 notMeasured,
		"64 sessions, against the raw loop":                        missed,
		"64 sessions, memory":                                      met,
		"memory of a waiting session":                              notMeasured,
		"live text, from the model to a subscriber in the process": notMeasured,
	}
	for what, verdict := range want {
		if got[what] != verdict {
			t.Errorf("%s: %q, want %q", what, got[what], verdict)
		}
	}
	var out bytes.Buffer
	r.Promises = []Promise{{Name: ours, Durability: "all"}}
	r.NotRun = []NotRun{{Name: "langgraph", Why: "there is no npm"}}
	r.print(&out)
	for _, part := range []string{"1.33 ×", "missed", "openworker: all.", "not run: langgraph: there is no npm"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in the report:\n%s", part, out.String())
		}
	}
}

func TestAPlanSaysWhatRuns(t *testing.T) {
	t.Parallel()
	usual := []string{ours, oursTypeScript, ourLoop, rawLoop, dbosOurs, dbosFull, "langgraph", "openai-agents"}
	for name, c := range map[string]struct {
		args []string
		want []string
		err  string
	}{
		"all but the optional":  {want: usual},
		"with PostgreSQL":       {args: []string{"-postgres"}, want: []string{ours, oursTypeScript, ourLoop, rawLoop, dbosOurs, dbosFull, "dbos postgres", "langgraph", "openai-agents"}},
		"named ones":            {args: []string{"-peers", "openworker,langgraph sync"}, want: []string{ours, "langgraph sync"}},
		"without some":          {args: []string{"-skip", "langgraph,openai-agents"}, want: usual[:6]},
		"a peer there is not":   {args: []string{"-peers", "temporal"}, err: `no peer "temporal"`},
		"none to skip":          {args: []string{"-skip", "restate"}, err: `no peer "restate"`},
		"sessions of no number": {args: []string{"-sessions", "1,many"}, err: "-sessions"},
		"no rounds":             {args: []string{"-rounds", "0"}, err: "-rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := parse(c.args)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range allPeers() {
				if p.wants(one) {
					got = append(got, one.name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPeerThatFailsIsNamedAndTheOthersAreMeasured(t *testing.T) {
	t.Parallel()
	m := modelFor(t)
	broken := peer{name: "langgraph", command: []string{"/bin/sh", "-c", "echo the disk is full >&2; exit 3"}, long: true}
	p := plan{sessions: []int{1}, rounds: 2, dir: t.TempDir(), turns: 20}
	var r Report
	if err := r.compare(t.Context(), p, []peer{broken}, m); err != nil {
		t.Fatal(err)
	}
	if err := r.grow(t.Context(), p, []peer{broken}, m); err != nil {
		t.Fatal(err)
	}
	if len(r.NotRun) != 1 || !strings.Contains(r.NotRun[0].Why, "the disk is full") || len(r.Cells) != 0 {
		t.Errorf("%+v", r)
	}
	broken.name = ours
	if err := new(Report).compare(t.Context(), p, []peer{broken}, m); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("OpenWorker may not fail: %v", err)
	}
}
