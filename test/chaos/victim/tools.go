package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
	"github.com/openworkerai/openworker/tool"
)

// ledger is the file that stands for the world.
type ledger struct{ path string }

// write adds an entry in one write, so that an entry is there or is not.
func (l ledger) write(call tool.Call, output string) error {
	line, err := json.Marshal(chaos.Entry{Tool: call.Tool, Arguments: string(call.Arguments), Call: call.ID, Attempt: call.Attempt,
		Epoch: call.Epoch, PID: os.Getpid(), Output: output})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func (l ledger) find(id string) (chaos.Entry, bool, error) {
	f, err := os.Open(l.path)
	if os.IsNotExist(err) {
		return chaos.Entry{}, false, nil
	}
	if err != nil {
		return chaos.Entry{}, false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e chaos.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return e, false, err
		}
		if e.Call == id {
			return e, true, nil
		}
	}
	return chaos.Entry{}, false, lines.Err()
}

// inspect tells the truth: an attempt is asked about once its process is dead, so what is not in the ledger
// never will be.
func (l ledger) inspect(_ context.Context, call tool.Call) (tool.Inspection, error) {
	e, found, err := l.find(call.ID)
	switch {
	case err != nil:
		return tool.Inspection{}, err
	case found:
		return tool.Inspection{Outcome: tool.Succeeded, Output: e.Output}, nil
	}
	return tool.Inspection{Outcome: tool.NotStarted}, nil
}

type input struct {
	Item string `json:"item"`
}

// tools are one of each effect class, and one that does not end before it is told to.
func (l ledger) tools() []tool.Tool {
	act := func(verb string) func(context.Context, tool.Call, input) (string, error) {
		return func(_ context.Context, call tool.Call, in input) (string, error) {
			output := fmt.Sprintf("%s %s", verb, in.Item)
			return output, l.write(call, output)
		}
	}
	return []tool.Tool{
		tool.Must(tool.New("card.charge", "Charges a card.", act("charged"), tool.Options{Inspect: l.inspect})),
		tool.Must(tool.New("mail.send", "Sends a mail.", act("sent"))),
		tool.Must(tool.New("kv.put", "Stores a value.", act("stored"), tool.Options{Effect: api.Idempotent})),
		tool.Must(tool.New("price.get", "Tells a price.", act("price of"), tool.Options{Effect: api.ReadOnly})),
		tool.Must(tool.New("pump.run", "Runs a pump until it is stopped.", func(ctx context.Context, call tool.Call, in input) (string, error) {
			if err := l.write(call, "ran "+in.Item); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", fmt.Errorf("stopped: %w", ctx.Err())
		}, tool.Options{Inspect: l.inspect})),
	}
}
