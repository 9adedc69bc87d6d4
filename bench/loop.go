package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openworkerai/openworker/bench/protocol"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
)

// serveLoop is the loop without durability through OpenWorker's own client.
func serveLoop(args []string) error {
	o, err := protocol.Parse(args)
	if err != nil {
		return err
	}
	p, err := provider(o.URL)
	if err != nil {
		return err
	}
	return protocol.Serve(os.Stdin, os.Stdout, loopPeer{provider: p})
}

type loopPeer struct{ provider *openaichat.Provider }

func (p loopPeer) Close() error { return nil }

// Long has nothing to continue: a new process begins anew.
func (p loopPeer) Long() (protocol.Turn, error) { return p.NewSession() }

func (p loopPeer) NewSession() (protocol.Turn, error) {
	var history []model.Item
	turn := 0
	return func() (err error) {
		turn++
		history, err = loopTurn(context.Background(), p.provider, history, turn)
		return err
	}, nil
}

// loopTurn is a turn without durability.
func loopTurn(ctx context.Context, p model.Provider, history []model.Item, n int) ([]model.Item, error) {
	tools := []model.Tool{{Name: "add", Description: "Adds two numbers.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`)}}
	history = append(history, model.Item{Kind: model.UserItem, Text: "What is one and two?"})
	for range 8 {
		resp, err := p.Stream(ctx, model.Request{Model: "bench-model", Instructions: "Answer briefly.", Items: history, Tools: tools, MaxOutputTokens: 8192}, func(model.Delta) {})
		if err != nil {
			return nil, err
		}
		called := false
		for _, it := range resp.Items {
			switch it.Kind {
			case model.AssistantItem:
				history = append(history, model.Item{Kind: model.AssistantItem, Text: it.Text})
			case model.ToolCallItem:
				called = true
				var args addArgs
				if err := json.Unmarshal([]byte(it.Arguments), &args); err != nil {
					return nil, err
				}
				id := fmt.Sprintf("c%d", n)
				history = append(history,
					model.Item{Kind: model.ToolCallItem, CallID: id, Name: it.Name, Arguments: json.RawMessage(it.Arguments)},
					model.Item{Kind: model.ToolResultItem, CallID: id, Output: fmt.Sprint(args.A + args.B)})
			}
		}
		if !called {
			return history, nil
		}
	}
	return nil, fmt.Errorf("the model did not come to an end")
}
