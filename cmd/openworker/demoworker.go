package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

const demoMessage = "Send Ada the invoice over 420 EUR."

// demoWorkerCommand is the process that the demo kills, and the one that goes on.
func (m *Main) demoWorkerCommand() *cobra.Command {
	var dir, reference string
	cmd := &cobra.Command{
		Use:    "demo-worker",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error {
			return m.demoWorker(ctx, dir, reference)
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the demo")
	cmd.Flags().StringVar(&reference, "reference", "", "the session to go on with")
	return cmd
}

func (m *Main) demoWorker(ctx context.Context, dir, reference string) (err error) {
	reports := json.NewEncoder(m.Stdout)
	m.stateDir = statePath(dir)
	h, err := m.open(ctx, choice{providers: []openworker.Provider{demoModel()}})
	if err != nil {
		return err
	}
	defer closeAfter(h, &err)
	agent, err := h.Agent(ctx, openworker.AgentDefinition{
		Name:         "billing",
		Instructions: "Send invoices when asked.",
		Tools:        []openworker.Tool{sendInvoice(ledgerPath(dir), reference == "", reports)},
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "billing"},
	})
	if err != nil {
		return err
	}
	if reference == "" {
		work := filepath.Join(dir, "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			return err
		}
		session, err := agent.NewSession(ctx, openworker.SessionOptions{Workspace: work})
		if err != nil {
			return err
		}
		ref := session.Reference()
		if err := reports.Encode(report{Session: &ref}); err != nil {
			return err
		}
		_, err = session.Run(ctx, demoMessage)
		return errors.Join(err, errors.New("the turn ended, but the process was to be killed in it"))
	}
	var ref openworker.SessionReference
	if err := json.Unmarshal([]byte(reference), &ref); err != nil {
		return err
	}
	session, err := agent.ResumeSession(ctx, ref)
	if err != nil {
		return err
	}
	state, err := session.State(ctx)
	if err != nil {
		return err
	}
	run, err := session.OpenRun(ctx, state.Run)
	if err != nil {
		return err
	}
	result, err := run.Result(ctx)
	if err != nil {
		return err
	}
	return reports.Encode(report{Result: &result})
}

// demoModel asks for the invoice and then tells what came of it.
func demoModel() openworker.Provider {
	return scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		if scripted.Round(req) == 0 {
			return scripted.Call("send_invoice", `{"to":"Ada","amount":420,"currency":"EUR"}`)
		}
		return scripted.Text("Done: " + req.Items[len(req.Items)-1].Output + ".")
	}})
}

type invoice struct {
	To       string `json:"to"`
	Amount   int    `json:"amount"`
	Currency string `json:"currency"`
}

// entry is a line of the ledger: the outside world, which remembers what was really done.
type entry struct {
	CallID string `json:"call_id"`
	invoice
}

// sendInvoice appends to the ledger. With hang it does not return from that, and waits to be killed.
func sendInvoice(ledger string, hang bool, reports *json.Encoder) openworker.Tool {
	send := func(ctx context.Context, call openworker.ToolCall, in invoice) (string, error) {
		if err := appendLedger(ledger, entry{CallID: call.ID, invoice: in}); err != nil {
			return "", err
		}
		if hang {
			if err := reports.Encode(report{Acted: call.ID}); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
		return sent(in), nil
	}
	look := func(_ context.Context, call openworker.ToolCall) (openworker.Inspection, error) {
		entries, err := readLedger(ledger)
		if err != nil {
			return openworker.Inspection{}, err
		}
		for _, e := range entries {
			if e.CallID == call.ID {
				return openworker.Inspection{Outcome: openworker.InspectSucceeded, Output: sent(e.invoice)}, nil
			}
		}
		return openworker.Inspection{Outcome: openworker.InspectNotStarted}, nil
	}
	return openworker.MustTool(openworker.NewTool("send_invoice", "Sends an invoice.", send, openworker.ToolOptions{Inspect: look}))
}

func sent(in invoice) string {
	return fmt.Sprintf("the invoice over %d %s was sent to %s", in.Amount, in.Currency, in.To)
}

func appendLedger(path string, e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

func readLedger(path string) ([]entry, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var entries []entry
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}
