package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"
	"time"
)

// Report is what a run measured.
type Report struct {
	Started      time.Time  `json:"started"`
	SyncMillis   float64    `json:"syncMillis"`
	Seconds      float64    `json:"secondsEach"`
	Rounds       int        `json:"rounds"`
	SessionTurns int        `json:"turnsOfASession"`
	Promises     []Promise  `json:"promises"`
	NotRun       []NotRun   `json:"notRun,omitempty"`
	Cells        []Cell     `json:"cells"`
	Growth       []Growth   `json:"growth"`
	Resumes      []Resume   `json:"resumes"`
	Ageing       []Ageing   `json:"ageing,omitempty"`
	Reattach     []Reattach `json:"reattach,omitempty"`
	StartUp      StartUp    `json:"startUp"`
	Waiting      Waiting    `json:"waiting"`
	Live         Live       `json:"live"`
	Targets      []Target   `json:"targets"`
}

// Promise is what a system keeps, and what it does not.
type Promise struct {
	Name       string `json:"name"`
	Durability string `json:"durability"`
}

// NotRun is a peer that was asked for and could not be prepared, or failed.
type NotRun struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// table prints rows of cells; the first row names them.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table {
	return table{tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)}
}

func (t table) row(format string, args ...any) { _, _ = fmt.Fprintf(t.w, format+"\t\n", args...) }

func (t table) end() {
	_ = t.w.Flush()
	t.row("")
	_ = t.w.Flush()
}

func (r *Report) print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("\n%d cores, %s; one synchronous 4 KiB write takes %.2f ms. Medians of %d rounds of %.3g s; a session has %d turns, then a new one takes its place.\n",
		runtime.NumCPU(), runtime.Version(), r.SyncMillis, r.Rounds, r.Seconds, r.SessionTurns)
	t := newTable(w)
	t.row("sessions\tsystem\tturns/s\tspread\tours is\tp50 ms\tp99 ms\tCPU ms/turn\tdatabase CPU\tstored B\twritten B\tpeak MB")
	for _, c := range r.Cells {
		m := c.Median
		t.row("%d\t%s\t%.0f\t%s\t%s\t%.2f\t%.2f\t%.2f\t%s\t%.0f\t%.0f\t%.0f", c.Sessions, c.Name, m.PerSecond, spread(c.Rounds), times(r.ratio(c.Sessions, c.Name)),
			m.P50, m.P99, m.CPU, orDash(m.ServerCPU), m.Stored, m.Written, float64(m.Peak)/1e6)
	}
	t.end()
	if len(r.Growth) > 0 {
		t.row("turn of one session\tsystem\tms\tCPU ms\tstored B\twritten B")
		for _, g := range r.Growth {
			t.row("%d\t%s\t%.2f\t%.2f\t%.0f\t%.0f", g.Turn, g.Name, g.Millis, g.CPU, g.Stored, g.Written)
		}
		t.end()
		t.row("new process, to the end of its first turn\tafter turns\tms")
		for _, c := range r.Resumes {
			t.row("%s\t%d\t%.0f", c.Name, c.Turns, c.Millis)
		}
		t.end()
	}
	if len(r.Ageing) > 0 {
		r.printAlone(w, t)
	}
	line("Targets:")
	for _, target := range r.Targets {
		line("  %-12s %s: %s, wanted %s", target.Verdict, target.What, target.Got, target.Want)
	}
	line("\nWhat each keeps:")
	for _, p := range r.Promises {
		line("  %s: %s.", p.Name, p.Durability)
	}
	for _, n := range r.NotRun {
		line("  not run: %s: %s", n.Name, n.Why)
	}
}

func (r *Report) printAlone(w io.Writer, t table) {
	t.row("openworker, turn of one session\tms\tnothing stored ms\tCPU ms\tappends\twaits\tevents B\twritten B")
	for _, a := range r.Ageing {
		t.row("%d\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.0f\t%.0f", a.Turn, a.Millis, a.Loop, a.CPU, a.Appends, a.Waits, a.Logical, a.Written)
	}
	t.end()
	t.row("openworker, cold reattach, turns\topen ms\tstate ms\tto the next model request ms")
	for _, a := range r.Reattach {
		t.row("%d\t%.1f\t%.1f\t%.1f", a.Turns, a.OpenMillis, a.StateMillis, a.RequestMillis)
	}
	t.end()
	_, _ = fmt.Fprintf(w, "start-up with %d idle sessions: %.1f ms\n", r.StartUp.Idle, r.StartUp.Millis)
	_, _ = fmt.Fprintf(w, "%d waiting sessions: %d bytes of heap each, %.1f %% of a core together; from an answer to the start of its action: %.1f ms (median)\n",
		r.Waiting.Sessions, r.Waiting.Bytes, r.Waiting.IdleCPU, r.Waiting.AnswerMillis)
	_, _ = fmt.Fprintf(w, "live text, from the model to a subscriber in the process: p50 %.2f ms, p99 %.2f ms of %d pieces\n\n", r.Live.P50, r.Live.P99, r.Live.Pieces)
}

// spread is the slowest and the fastest round.
func spread(rounds []Measure) string {
	low, high := rounds[0].PerSecond, rounds[0].PerSecond
	for _, m := range rounds {
		low, high = min(low, m.PerSecond), max(high, m.PerSecond)
	}
	return fmt.Sprintf("%.0f–%.0f", low, high)
}

func times(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", ratio)
}

func orDash(f float64) string {
	if f == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", f)
}

// save writes the report, under the time of the run and as the newest.
func (r *Report) save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	for _, name := range []string{r.Started.Format("20060102-150405") + ".json", "latest.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	say("the figures are in %s", filepath.Join(dir, "latest.json"))
	return nil
}
