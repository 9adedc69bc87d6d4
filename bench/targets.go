package main

import (
	"fmt"
	"slices"
)

// Verdicts on targets.
const (
	met         = "met"
	missed      = "missed"
	notMeasured = "not measured"
)

// Target is a figure that OpenWorker is to reach.
type Target struct {
	What    string `json:"what"`
	Want    string `json:"want"`
	Got     string `json:"got"`
	Verdict string `json:"verdict"`
}

// ratio is how many times a peer's turns a second OpenWorker does: the median over rounds, each of which is one
// comparison in time. 0 where either is missing.
func (r *Report) ratio(sessions int, name string) float64 {
	own, other := r.cell(sessions, ours), r.cell(sessions, name)
	if own == nil || other == nil || name == ours {
		return 0
	}
	var ratios []float64
	for i := range min(len(own.Rounds), len(other.Rounds)) {
		ratios = append(ratios, own.Rounds[i].PerSecond/other.Rounds[i].PerSecond)
	}
	return middle(ratios, func(f float64) float64 { return f })
}

func (r *Report) cell(sessions int, name string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Sessions == sessions && c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// judge holds what was measured against the targets.
func (r *Report) judge() {
	r.judgeSpeed()
	r.judgeCost()
	r.judgeAlone()
	r.Targets = append(r.Targets, Target{What: "on PostgreSQL, live text over a connection, pick-up after a killed worker", Want: "see docs/performance.md", Got: "this command has no such case", Verdict: notMeasured})
}

func (r *Report) atLeast(what string, got, want float64) {
	r.Targets = append(r.Targets, Target{What: what, Want: fmt.Sprintf("at least %.4g ×", want), Got: times(got), Verdict: verdict(got > 0, got >= want)})
}

// atMost takes measured as false where the case did not run.
func (r *Report) atMost(what string, measured bool, got, want float64, unit string) {
	r.Targets = append(r.Targets, Target{What: what, Want: fmt.Sprintf("at most %.4g%s", want, unit), Got: fmt.Sprintf("%.3g%s", got, unit), Verdict: verdict(measured, got <= want)})
}

func verdict(measured, reached bool) string {
	switch {
	case !measured:
		return notMeasured
	case reached:
		return met
	}
	return missed
}

func (r *Report) judgeSpeed() {
	r.atLeast("1 session, against DBOS with its NORMAL", r.ratio(1, dbosOurs), 1.2)
	r.atLeast("1 session, against DBOS at the same setting", r.ratio(1, dbosFull), 2)
	r.atLeast("8 sessions, against DBOS with its NORMAL", r.ratio(8, dbosOurs), 3)
	r.atLeast("64 sessions, against DBOS with its NORMAL", r.ratio(64, dbosOurs), 5)
	r.atLeast("64 sessions, against the raw loop", r.ratio(64, rawLoop), 0.5)
	slower := r.ratio(8, oursTypeScript)
	r.atMost("8 sessions, a turn through TypeScript against one embedded", slower > 0, slower, 1.5, " ×")
}

func (r *Report) judgeCost() {
	for _, c := range []struct {
		sessions         int
		name             string
		aboveFloor, disk float64
	}{{1, "1 session", 3, 60e3}, {64, "64 sessions", 1, 15e3}} {
		own, floor := r.cell(c.sessions, ours), r.cell(c.sessions, rawLoop)
		above := 0.0
		if own != nil && floor != nil {
			above = own.Median.CPU - floor.Median.CPU
		}
		r.atMost(fmt.Sprintf("%s, CPU of a turn above the raw loop", c.name), own != nil && floor != nil, above, c.aboveFloor, " ms")
		written := 0.0
		if own != nil {
			written = own.Median.Written / 1e3
		}
		r.atMost(fmt.Sprintf("%s, written by a turn", c.name), own != nil, written, c.disk/1e3, " KB")
	}
	peak, measured := 0.0, false
	if own := r.cell(64, ours); own != nil {
		peak, measured = float64(own.Median.Peak)/1e6, true
	}
	r.atMost("64 sessions, memory", measured, peak, 40, " MB")
}

func (r *Report) judgeAlone() {
	var first, last Ageing
	var cold Reattach
	alone := len(r.Ageing) > 0
	if alone {
		first, last, cold = r.Ageing[0], r.Ageing[len(r.Ageing)-1], r.Reattach[len(r.Reattach)-1]
	}
	full := last.Turn >= 1000 // not the short sizes of -quick
	r.atMost("disk waits of a turn that no model call covers", alone, first.Waits, 3, "")
	r.atMost("events of a turn", alone, first.Logical/1e3, 3, " KB")
	r.atMost("turn 1,000 against turn 1, time", full, last.Millis/max(first.Millis, 0.001), 1.2, " ×")
	r.atMost("the same without what the loop that stores nothing takes", full, (last.Millis-last.Loop)/max(first.Millis-first.Loop, 0.001), 1.2, " ×")
	r.atMost("turn 1,000 against turn 1, events", full, last.Logical/max(first.Logical, 1), 1.2, " ×")
	r.atMost("cold reattach, 1,000 turns, to its state", full, cold.StateMillis, 20, " ms")
	r.atMost("cold reattach, 1,000 turns, to the next model request", full, cold.RequestMillis, 50, " ms")
	r.atMost("memory of a waiting session", full, float64(r.Waiting.Bytes)/1e3, 4, " KB")
	r.atMost("an answer to an approval until the tool starts", alone, r.Waiting.AnswerMillis, 5, " ms")
	r.atMost("live text, from the model to a subscriber in the process", alone, r.Live.P50, 1, " ms")
}
