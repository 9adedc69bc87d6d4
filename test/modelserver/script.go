package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// Script is what a model says to what.
type Script struct {
	// Credential is what requests must bear; "" asks for none. A wrong one is answered as its protocol has it.
	Credential string `json:"credential,omitempty"`
	// Models are the models that are served; none are all.
	Models []string `json:"models,omitempty"`
	// Rules are looked at in their order.
	Rules []Rule `json:"rules"`
}

// Rule says what is replied to which requests. A condition that is absent holds.
type Rule struct {
	User     *string `json:"user,omitempty"`     // the newest text of the user is this one
	Contains string  `json:"contains,omitempty"` // the newest text of the user has this in it
	System   string  `json:"system,omitempty"`   // the instructions have this in them
	Result   string  `json:"result,omitempty"`   // the last message is a tool's result that has this in it
	Model    string  `json:"model,omitempty"`
	// Round counts the model's answers since the newest text of the user: 0 for the first request of a turn.
	Round *int `json:"round,omitempty"`

	// Reply is given to each request, or Replies one after the other, and the last of them from then on.
	Reply   *Reply  `json:"reply,omitempty"`
	Replies []Reply `json:"replies,omitempty"`
}

// Reply is one answer. The zero value has no content.
type Reply struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	Finish    string `json:"finish,omitempty"` // stop, tool_calls, length or content_filter; otherwise by the content
	// Chunk is how many characters come at once; 0 sends each text whole. DelayMs is waited before the answer.
	Chunk   int   `json:"chunk,omitempty"`
	DelayMs int   `json:"delayMs,omitempty"`
	Usage   Usage `json:"usage,omitzero"`

	// Status makes it an error, with Error as the protocol's object and Header beside it.
	Status int               `json:"status,omitempty"`
	Error  *Error            `json:"error,omitempty"`
	Header map[string]string `json:"header,omitempty"`

	// Wait holds the end of the answer back, behind its content, until the gate of that name is opened.
	Wait string `json:"wait,omitempty"`
	// Silent holds it back for good. Cut ends the stream without its end mark.
	Silent bool `json:"silent,omitempty"`
	Cut    bool `json:"cut,omitempty"`
}

// Call is a tool call. Arguments are an object, or a string that is sent as it is, also where it is no JSON.
type Call struct {
	ID        string          `json:"id,omitempty"` // absent: one of its own
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Usage are tokens; 0 is what the server makes of the texts.
type Usage struct {
	Input     int `json:"input,omitempty"`
	Cached    int `json:"cached,omitempty"`
	Output    int `json:"output,omitempty"`
	Reasoning int `json:"reasoning,omitempty"`
}

// Error is an error's object; what is absent is what the protocol has for the status.
type Error struct {
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Type    string `json:"type,omitempty"`
}

// decode reads one JSON value, in which unknown fields are refused.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON")
	}
	return nil
}

// parseScript reads a script and looks for what cannot be meant.
func parseScript(data []byte) (Script, error) {
	var s Script
	if err := decode(data, &s); err != nil {
		return s, fmt.Errorf("the script: %w", err)
	}
	for i, rule := range s.Rules {
		if (rule.Reply == nil) == (len(rule.Replies) == 0) {
			return s, fmt.Errorf("the script: rule %d needs a reply or replies", i+1)
		}
		for _, reply := range rule.all() {
			for _, call := range reply.Calls {
				if _, err := call.text(); err != nil {
					return s, fmt.Errorf("the script: rule %d: call of %q: %w", i+1, call.Name, err)
				}
			}
		}
	}
	return s, nil
}

func (r Rule) all() []Reply {
	if r.Reply != nil {
		return []Reply{*r.Reply}
	}
	return r.Replies
}

// holds reports whether a request meets the conditions.
func (r Rule) holds(req modeltestserver.Request) bool {
	newest, round := -1, 0
	for i, m := range req.Messages {
		switch m.Role {
		case "user":
			newest, round = i, 0
		case "assistant":
			round++
		}
	}
	var user, system, result string
	if newest >= 0 {
		user = req.Messages[newest].Content
	}
	if len(req.Messages) > 0 {
		if first := req.Messages[0]; first.Role == "system" {
			system = first.Content
		}
		if last := req.Messages[len(req.Messages)-1]; last.Role == "tool" {
			result = last.Content
		}
	}
	return (r.User == nil || *r.User == user) &&
		strings.Contains(user, r.Contains) &&
		strings.Contains(system, r.System) &&
		strings.Contains(result, r.Result) &&
		(r.Model == "" || r.Model == req.Model) &&
		(r.Round == nil || *r.Round == round)
}

// text is a call's arguments as they go over the wire.
func (c Call) text() (string, error) {
	switch {
	case len(c.Arguments) == 0:
		return "{}", nil
	case c.Arguments[0] == '"':
		var text string
		err := json.Unmarshal(c.Arguments, &text)
		return text, err
	case c.Arguments[0] == '{':
		var out bytes.Buffer
		err := json.Compact(&out, c.Arguments)
		return out.String(), err
	}
	return "", errors.New("arguments are an object, or a string that is sent as it is")
}

// reply is the server's form. gates hold its end back.
func (r Reply) reply(gates *gates) modeltestserver.Reply {
	out := modeltestserver.Reply{
		Text: r.Text, Reasoning: r.Reasoning, Finish: r.Finish, Chunk: r.Chunk, Delay: time.Duration(r.DelayMs) * time.Millisecond,
		InputTokens: r.Usage.Input, CachedTokens: r.Usage.Cached, OutputTokens: r.Usage.Output, ReasoningTokens: r.Usage.Reasoning,
		Status: r.Status, Header: r.Header, Silent: r.Silent, Cut: r.Cut,
	}
	for _, call := range r.Calls {
		arguments, _ := call.text() // parseScript has looked
		out.Calls = append(out.Calls, modeltestserver.Call{ID: cmp.Or(call.ID, "call_"+rand.Text()), Name: call.Name, Arguments: arguments})
	}
	if r.Error != nil {
		out.Error = modeltestserver.Error{Message: r.Error.Message, Code: r.Error.Code, Type: r.Error.Type}
	}
	if r.Wait != "" {
		out.Wait = gates.wait(r.Wait)
	}
	return out
}
