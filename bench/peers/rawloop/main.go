// Command rawloop is the floor of the benchmark: the loop that one writes by hand with the official OpenAI
// SDK. It stores nothing; a crash loses everything. It compiles slowly, for the SDK is large.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"bench.local/protocol"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rawloop:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := protocol.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	// The default transport keeps two connections to a host, so 64 sessions would dial all the time.
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	client := openai.NewClient(option.WithBaseURL(o.URL), option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: transport}))
	return protocol.Serve(os.Stdin, os.Stdout, loop{client: &client})
}

type loop struct{ client *openai.Client }

func (l loop) Close() error { return nil }

// Long has nothing to continue: a new process begins anew.
func (l loop) Long() (protocol.Turn, error) { return l.NewSession() }

func (l loop) NewSession() (protocol.Turn, error) {
	params := openai.ChatCompletionNewParams{
		Model:    "bench-model",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Answer briefly.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "add", Description: openai.String("Adds two numbers."),
			Parameters: openai.FunctionParameters{"type": "object", "required": []string{"a", "b"},
				"properties": map[string]any{"a": map[string]string{"type": "integer"}, "b": map[string]string{"type": "integer"}}},
		})},
	}
	return func() error {
		params.Messages = append(params.Messages, openai.UserMessage("What is one and two?"))
		for range 8 {
			completion, err := l.client.Chat.Completions.New(context.Background(), params)
			if err != nil {
				return err
			}
			message := completion.Choices[0].Message
			params.Messages = append(params.Messages, message.ToParam())
			if len(message.ToolCalls) == 0 {
				return nil
			}
			for _, call := range message.ToolCalls {
				var in struct{ A, B int }
				if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
					return err
				}
				params.Messages = append(params.Messages, openai.ToolMessage(fmt.Sprint(in.A+in.B), call.ID))
			}
		}
		return errors.New("the model did not come to an end")
	}, nil
}
