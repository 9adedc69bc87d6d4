package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

const demoTimeout = time.Minute

func (m *Main) demoCommand() *cobra.Command {
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "demo",
		Short: "Kill a process inside a side effect, and see it happen once",
		Long: `Runs a turn whose tool sends an invoice, in a process of its own, kills that
process with SIGKILL after the invoice was sent and before that was stored, goes
on in a second process, and prints the journal and the invoices. No network and
no key is needed, and what it makes is removed. The exit code is 1 unless the
invoice was sent exactly once.`,
		Example: `  openworker demo
  openworker demo --json`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error {
			if cmd.Flags().Changed("state-dir") {
				return misused("the demo makes a state directory of its own and removes it; leave out --state-dir")
			}
			ctx, stop := context.WithTimeout(ctx, demoTimeout)
			defer stop()
			go func() {
				select {
				case <-m.Interrupts:
					stop()
				case <-ctx.Done():
				}
			}()
			dir, err := os.MkdirTemp("", "openworker-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			story, err := m.demo(ctx, dir)
			if err != nil {
				return err
			}
			if m.json {
				m.printJSON(m.Stdout, story)
			} else {
				m.tellStory(story)
			}
			if len(story.Problems) > 0 {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
	return cmd
}

// story is what the demo did.
type story struct {
	Session openworker.SessionReference `json:"session"`
	Killed  int                         `json:"killed"` // process ID
	Events  []openworker.Event          `json:"events"`
	Ledger  []entry                     `json:"ledger"`
	Result  openworker.Result           `json:"result"`
	// Problems are what contradicts "once".
	Problems []string `json:"problems"`
	Seconds  float64  `json:"seconds"`
}

// report is a line that a worker prints for the one who started it.
type report struct {
	Session *openworker.SessionReference `json:"session,omitempty"`
	Acted   string                       `json:"acted,omitempty"` // call ID
	Result  *openworker.Result           `json:"result,omitempty"`
}

func (m *Main) demo(ctx context.Context, dir string) (story, error) {
	began := time.Now()
	s := story{Problems: []string{}}
	m.tellStep(1, "A worker starts a turn: “"+demoMessage+"”", "The model asks for send_invoice. What is sent is sent: a second time would be wrong.")
	first, err := m.startWorker(ctx, dir, "")
	if err != nil {
		return s, err
	}
	s.Killed = first.pid()
	if s.Session, err = first.killWhenActed(); err != nil {
		return s, err
	}
	m.tellStep(2, "The invoice is sent, and that is not stored yet.", fmt.Sprintf("kill -9 %d", s.Killed))
	reference, err := json.Marshal(s.Session)
	if err != nil {
		return s, err
	}
	m.tellStep(3, "A second worker opens the same directory.", "It finds a call without an outcome and does not repeat it: it asks the tool to look.")
	second, err := m.startWorker(ctx, dir, string(reference))
	if err != nil {
		return s, err
	}
	if s.Result, err = second.result(); err != nil {
		return s, err
	}
	if s.Events, err = m.demoJournal(ctx, dir, s.Session.Session); err != nil {
		return s, err
	}
	if s.Ledger, err = readLedger(ledgerPath(dir)); err != nil {
		return s, err
	}
	s.Problems = append(s.Problems, s.judge()...)
	s.Seconds = time.Since(began).Seconds()
	return s, nil
}

// judge says what contradicts that the turn completed and the invoice was sent once.
func (s story) judge() []string {
	var problems []string
	attempts, takenOver := 0, false
	var call string
	for _, e := range s.Events {
		switch e.Type {
		case api.EventToolCallStarted:
			d, _ := decode[api.ToolCallStarted](e)
			call = d.CallID
			attempts++
		case api.EventSessionTakenOver:
			takenOver = true
		}
	}
	if len(s.Ledger) != 1 {
		problems = append(problems, fmt.Sprintf("the ledger has %d lines", len(s.Ledger)))
	}
	for _, line := range s.Ledger {
		if line.CallID != call {
			problems = append(problems, fmt.Sprintf("the ledger has call %q, the journal %q", line.CallID, call))
		}
	}
	if attempts != 1 {
		problems = append(problems, fmt.Sprintf("the journal has %d attempts", attempts))
	}
	if !takenOver {
		problems = append(problems, "no second process took over")
	}
	if s.Result.Status != api.StatusCompleted {
		problems = append(problems, fmt.Sprintf("the turn's status is %q", s.Result.Status))
	}
	return problems
}

func (m *Main) demoJournal(ctx context.Context, dir, session string) (events []openworker.Event, err error) {
	m.stateDir = statePath(dir)
	h, err := m.openToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer closeAfter(h, &err)
	page, err := h.Service().Events(ctx, api.EventQuery{Session: session, Limit: api.MaxPage})
	return page.Events, err
}

func (m *Main) tellStep(n int, what, then string) {
	if m.json {
		return
	}
	p := m.paint()
	fmt.Fprintf(m.Stdout, "%s %s\n   %s\n", p.bold(fmt.Sprintf("%d.", n)), what, p.dim(then))
}

func (m *Main) tellStory(s story) {
	p := m.paint()
	fmt.Fprintf(m.Stdout, "\n%s\n", p.bold("The journal of session "+s.Session.Session))
	for _, e := range s.Events {
		if e.Type == api.EventSessionTakenOver {
			fmt.Fprintln(m.Stdout, p.red(fmt.Sprintf("       ✗ kill -9: process %d died inside send_invoice", s.Killed)))
		}
		fmt.Fprintln(m.Stdout, eventLine(e, fmt.Sprintf("%+7.3f s", e.Time.Sub(s.Events[0].Time).Seconds()), p))
	}
	fmt.Fprintf(m.Stdout, "\n%s\n", p.bold("The invoices that were sent"))
	for _, line := range s.Ledger {
		fmt.Fprintf(m.Stdout, "       to %s, %d %s, call %s\n", line.To, line.Amount, line.Currency, line.CallID)
	}
	fmt.Fprintf(m.Stdout, "\n%s\n", p.bold("The answer"))
	fmt.Fprintf(m.Stdout, "       %s\n\n", s.Result.Text)
	if len(s.Problems) > 0 {
		fmt.Fprintln(m.Stdout, p.red("✗ Not once: "+strings.Join(s.Problems, "; ")))
		return
	}
	fmt.Fprintln(m.Stdout, p.green(fmt.Sprintf("✓ Sent once: one attempt in the journal, one line in the ledger, and the turn completed. %.1f s", s.Seconds)))
}

// worker is a child that runs the demo's agent.
type worker struct {
	cmd     *exec.Cmd
	stop    func() bool // takes the time-out off
	reports *json.Decoder
	errors  *bytes.Buffer
}

// startWorker starts this program again. It dies with ctx.
func (m *Main) startWorker(ctx context.Context, dir, reference string) (*worker, error) {
	cmd, err := m.Self("demo-worker", "--dir", dir, "--reference", reference)
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: cmd, errors: &bytes.Buffer{}}
	cmd.Stderr = w.errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.reports = json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w.stop = context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	return w, nil
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

// killWhenActed kills the worker inside its side effect.
func (w *worker) killWhenActed() (openworker.SessionReference, error) {
	var session openworker.SessionReference
	for {
		r, err := w.next()
		if err != nil {
			return session, err
		}
		if r.Session != nil {
			session = *r.Session
		}
		if r.Acted != "" {
			break
		}
	}
	if err := w.cmd.Process.Kill(); err != nil {
		return session, err
	}
	_, _ = io.Copy(io.Discard, w.reports.Buffered())
	w.stop()
	if err := w.cmd.Wait(); err == nil {
		return session, errors.New("the worker was to be killed and ended by itself")
	}
	return session, nil
}

// result waits for the worker's end.
func (w *worker) result() (openworker.Result, error) {
	var result openworker.Result
	for {
		r, err := w.next()
		if err != nil {
			return result, err
		}
		if r.Result != nil {
			result = *r.Result
			break
		}
	}
	w.stop()
	if err := w.cmd.Wait(); err != nil {
		return result, fmt.Errorf("the worker: %w: %s", err, bytes.TrimSpace(w.errors.Bytes()))
	}
	return result, nil
}

func (w *worker) next() (report, error) {
	var r report
	err := w.reports.Decode(&r)
	if err == nil {
		return r, nil
	}
	_ = w.cmd.Process.Kill()
	w.stop()
	_ = w.cmd.Wait()
	return r, fmt.Errorf("the worker said no more (%w): %s", err, bytes.TrimSpace(w.errors.Bytes()))
}

func statePath(dir string) string  { return filepath.Join(dir, "state") }
func ledgerPath(dir string) string { return filepath.Join(dir, "ledger.jsonl") }
