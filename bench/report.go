package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"
)

// Report is what a run measured. Times are milliseconds, sizes bytes.
type Report struct {
	Started    time.Time  `json:"started"`
	SyncMillis float64    `json:"syncMillis"`
	Load       []Load     `json:"load"`
	Growth     []Growth   `json:"growth"`
	Reattach   []Reattach `json:"reattach"`
	StartUp    StartUp    `json:"startUp"`
	Waiting    Waiting    `json:"waiting"`
}

// Waiting is about sessions that wait for a person.
type Waiting struct {
	Sessions     int     `json:"sessions"`
	Bytes        int64   `json:"bytesPerSession"` // of the heap
	IdleCPU      float64 `json:"idleCpuPercent"`  // of one core, while all of them wait
	AnswerMillis float64 `json:"answerToToolStartMillis"`
}

// Load is one row of the throughput table.
type Load struct {
	Name      string  `json:"name"`
	Sessions  int     `json:"sessions"`
	Turns     int     `json:"turns"`
	PerSecond float64 `json:"perSecond"`
	OfFloor   float64 `json:"ofFloor,omitempty"`
	P50       float64 `json:"p50Millis"`
	P99       float64 `json:"p99Millis"`
	CPU       float64 `json:"cpuMillisPerTurn"`
	Appends   float64 `json:"appendsPerTurn,omitempty"`
	Waits     float64 `json:"waitsPerTurn,omitempty"` // appends that no model call overlapped
	Logical   float64 `json:"logicalBytesPerTurn,omitempty"`
	Written   float64 `json:"writtenBytesPerTurn,omitempty"`
}

// Growth is a turn of a session that has got long.
type Growth struct {
	Turn    int     `json:"turn"`
	Millis  float64 `json:"millis"`
	Floor   float64 `json:"floorMillis"` // the same turn over the same history without durability
	CPU     float64 `json:"cpuMillis"`
	Logical float64 `json:"logicalBytes"`
	Written float64 `json:"writtenBytes"`
}

// Reattach is a cold start over a session.
type Reattach struct {
	Turns         int     `json:"turns"`
	OpenMillis    float64 `json:"openMillis"`
	StateMillis   float64 `json:"stateMillis"`
	RequestMillis float64 `json:"requestMillis"`
}

// StartUp is an Open over many idle sessions.
type StartUp struct {
	Idle   int     `json:"idleSessions"`
	Millis float64 `json:"millis"`
}

func (r *Report) print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n%d cores, %s; one synchronous 4 KiB write: %.2f ms (median). Durability: WAL, synchronous=FULL.\n\n", runtime.NumCPU(), runtime.Version(), r.SyncMillis)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format+"\n", args...) }
	row("sessions\tsubject\tturns/s\tof floor\tp50 ms\tp99 ms\tCPU ms/turn\tappends\twaits\tstored B\twritten B\t")
	for _, l := range r.Load {
		if l.Name == "floor" {
			row("%d\t%s\t%.0f\t\t%.2f\t%.2f\t%.2f\t\t\t\t\t", l.Sessions, l.Name, l.PerSecond, l.P50, l.P99, l.CPU)
			continue
		}
		row("%d\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\t%.0f\t%.0f\t", l.Sessions, l.Name, l.PerSecond, l.OfFloor, l.P50, l.P99, l.CPU, l.Appends, l.Waits, l.Logical, l.Written)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintln(w)
	row("turn of one session\tms\tfloor ms\tCPU ms\tstored B\twritten B\t")
	for _, g := range r.Growth {
		row("%d\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t", g.Turn, g.Millis, g.Floor, g.CPU, g.Logical, g.Written)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintln(w)
	row("cold reattach, turns\topen ms\tstate ms\tto the next model request ms\t")
	for _, a := range r.Reattach {
		row("%d\t%.1f\t%.1f\t%.1f\t", a.Turns, a.OpenMillis, a.StateMillis, a.RequestMillis)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintf(w, "\nstart-up with %d idle sessions: %.1f ms\n", r.StartUp.Idle, r.StartUp.Millis)
	_, _ = fmt.Fprintf(w, "%d waiting sessions: %d bytes of heap each, %.1f %% of a core together; from an answer to the start of its action: %.1f ms (median)\n",
		r.Waiting.Sessions, r.Waiting.Bytes, r.Waiting.IdleCPU, r.Waiting.AnswerMillis)
}

// writtenBytes is what this process has sent to the disk, as the kernel counts it; 0 where it does not.
func writtenBytes() int64 {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	scan := bufio.NewScanner(bytes.NewReader(data))
	for scan.Scan() {
		if v, ok := bytes.CutPrefix(scan.Bytes(), []byte("write_bytes: ")); ok {
			n, _ := strconv.ParseInt(string(v), 10, 64)
			return n
		}
	}
	return 0
}
