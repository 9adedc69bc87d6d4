package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// RE3: the body ran, and what its client says of it is nothing that can be kept: nobody knows what came of it. It is no failure,
// and no success with an output that is empty.
func TestABodyThatIsAnsweredInAnotherFormHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	for name, answer := range map[string]string{
		"null":                 `"result":null`,
		"a string":             `"result":"done"`,
		"a list":               `"result":[]`,
		"nothing":              `"result":{}`,
		"another field":        `"result":{"text":"done"}`,
		"a field beside":       `"result":{"output":"done","failed":true}`,
		"an output of no text": `"result":{"output":5}`,
		"an output of null":    `"result":{"output":null}`,
		"an error of no form":  `"error":"no money"`,
		"a code of no number":  `"error":{"code":"EIO","message":"no money"}`,
		"an error of no code":  `"error":{"message":"no money"}`,
		"an error of no text":  `"error":{"code":5}`,
		"a text of no text":    `"error":{"code":5,"message":{"no":"money"}}`,
		"both":                 `"result":{"output":"done"},"error":{"code":5,"message":"no money"}`,
		"neither":              `"jsonrpc":"2.0"`,
		"a line that is long":  `"result":{"output":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		done := make(chan error, 1)
		go func() {
			_, err := pay.Run(context.Background(), tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"})
			done <- err
		}()
		call := <-lines
		for call["method"] != rpc.MethodRunTool { // it is told that the last one could not be read
			call = <-lines
		}
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,%s}`, call["id"], answer))
		if err := <-done; !errors.Is(err, tool.ErrUnknownOutcome) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What an inspection says is one of its words; another is none, and is asked for again.
func TestAnInspectionOfNoKnownWordFails(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	for answer, want := range map[string]tool.Inspection{
		`{"outcome":"succeeded","output":"paid"}`: {Outcome: tool.Succeeded, Output: "paid"},
		`{"outcome":"failed","output":"broke"}`:   {Outcome: tool.Failed, Output: "broke"},
		`{"outcome":"not_started"}`:               {Outcome: tool.NotStarted},
		`{"outcome":"running"}`:                   {Outcome: tool.StillRunning},
		`{"outcome":"unknown"}`:                   {Outcome: tool.Unknown},
		`{"outcome":"Succeeded"}`:                 {},
		`{"outcome":"done"}`:                      {},
		`{"outcome":""}`:                          {},
		`{}`:                                      {},
		`null`:                                    {},
		`"succeeded"`:                             {},
	} {
		type result struct {
			found tool.Inspection
			err   error
		}
		done := make(chan result, 1)
		go func() {
			found, err := pay.(tool.Inspector).Inspect(context.Background(), tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"})
			done <- result{found, err}
		}()
		call := <-lines
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, call["id"], answer))
		if r := <-done; r.found != want || (r.err != nil) != (want == tool.Inspection{}) || r.err != nil && api.CodeOf(r.err) != api.CodeInternal {
			t.Errorf("%s: %+v", answer, r)
		}
	}
}
