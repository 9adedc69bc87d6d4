package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"time"

	"github.com/openworkerai/openworker"
)

const defaultSystem = "You are a helpful assistant in a terminal. Answer briefly, in plain text."

// ownAgent is how the names of the command line's own agents begin.
const ownAgent = "chat-"

// definition is the agent of chat and run. Its name is made of everything else in it, so that other settings
// are another agent and never a conflict (AG3).
func (s settings) definition(model openworker.ModelRef) (openworker.AgentDefinition, error) {
	def := openworker.AgentDefinition{Instructions: s.system, DefaultModel: model}
	if def.Instructions == "" {
		def.Instructions = defaultSystem
	}
	def.Approvals.Mode = openworker.ApproveNever
	if s.approve == "always" {
		def.Approvals.Mode = openworker.ApproveAlways
	}
	parts := []any{def.Instructions, def.DefaultModel, def.Approvals}
	if !s.noTools {
		def.Tools = tools(time.Now)
		for _, t := range def.Tools {
			parts = append(parts, t.Declaration())
		}
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return def, err
	}
	digest := sha256.Sum256(data)
	def.Name = ownAgent + hex.EncodeToString(digest[:4])
	return def, nil
}

type timeInput struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone, for example Europe/Oslo; UTC if left out"`
}

type sumInput struct {
	Expression string `json:"expression" jsonschema:"for example (17 + 4) * 3 / 2.0"`
}

// tools only read, so they may run without asking.
func tools(now func() time.Time) []openworker.Tool {
	readOnly := openworker.ToolOptions{Effect: openworker.ReadOnly}
	return []openworker.Tool{
		openworker.MustTool(openworker.NewTool("current_time", "Tells the current date and time.",
			func(_ context.Context, _ openworker.ToolCall, in timeInput) (string, error) {
				zone, err := time.LoadLocation(in.Zone)
				if err != nil {
					return "", fmt.Errorf("there is no time zone %q", in.Zone)
				}
				return now().In(zone).Format("Monday, 2 January 2006, 15:04:05 MST (-07:00)"), nil
			}, readOnly)),
		openworker.MustTool(openworker.NewTool("calculate", "Works out an arithmetic expression exactly.",
			func(_ context.Context, _ openworker.ToolCall, in sumInput) (string, error) {
				return calculate(in.Expression)
			},
			readOnly)),
	}
}

// calculate evaluates a constant expression of Go: + - * / % << >> and so on, in any precision; 7/2 is 3
// there and 7/2.0 is 3.5.
func calculate(expression string) (string, error) {
	if len(expression) > 500 {
		return "", fmt.Errorf("the expression has %d bytes; at most 500 are allowed", len(expression))
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil {
		return "", fmt.Errorf("%q cannot be worked out: %v", expression, err)
	}
	if value.Value == nil {
		return "", fmt.Errorf("%q is not a number", expression)
	}
	return value.Value.String(), nil
}
