package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// model calls Chat Completions with net/http alone, which costs less than any SDK would.
type model struct {
	url    string
	client *http.Client
}

func newModel(url string) *model {
	return &model{url: url + "/chat/completions", client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type request struct {
	Model    string          `json:"model"`
	Messages []message       `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
}

const tools = `[{"type":"function","function":{"name":"add","description":"Adds two numbers.","parameters":` +
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}}}]`

func opening() []message { return []message{{Role: "system", Content: "Answer briefly."}} }

func (m *model) call(ctx context.Context, messages []message) (message, error) {
	body, err := json.Marshal(request{Model: "bench-model", Messages: messages, Tools: json.RawMessage(tools)})
	if err != nil {
		return message{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.client.Do(req)
	if err != nil {
		return message{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return message{}, fmt.Errorf("the model answered %s", resp.Status)
	}
	var completion struct {
		Choices []struct{ Message message }
	}
	if err := json.NewDecoder(resp.Body).Decode(&completion); err != nil {
		return message{}, err
	}
	if len(completion.Choices) != 1 {
		return message{}, fmt.Errorf("the model gave %d choices", len(completion.Choices))
	}
	return completion.Choices[0].Message, nil
}

// add is the tool.
func add(c call) (string, error) {
	var in struct{ A, B int }
	if err := json.Unmarshal([]byte(c.Function.Arguments), &in); err != nil {
		return "", err
	}
	return fmt.Sprint(in.A + in.B), nil
}

// decode reads a workflow's stored result, which DBOS lists as JSON text or decoded.
func decode(output any) (added []message, err error) {
	text, ok := output.(string)
	if !ok {
		encoded, err := json.Marshal(output)
		if err != nil {
			return nil, err
		}
		text = string(encoded)
	}
	err = json.Unmarshal([]byte(text), &added)
	return added, err
}
