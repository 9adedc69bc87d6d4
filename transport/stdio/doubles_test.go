package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
	"github.com/openworkerai/openworker/transport/stdio"
)

// AP3: what a person approved is what the body gets. A number that the client would read as another one is refused before it.
func TestAClientWhoseNumbersAreDoublesIsAskedForNothingWithAnotherNumber(t *testing.T) {
	t.Parallel()
	const doubles = `,"actionCheck":true,"doubleNumbers":true`
	for name, tt := range map[string]struct {
		client, arguments, at string
	}{
		"an integer between two doubles":           {doubles, `{"account":9007199254740993}`, "/account: the number 9007199254740993 "},
		"a negative one":                           {doubles, `{"n":-9007199254740993}`, "/n: the number -9007199254740993 "},
		"one with a fraction of zeros":             {doubles, `{"n":9007199254740993.0}`, "/n: the number 9007199254740993.0 "},
		"one in a list in an object":               {doubles, `{"b":1,"a/b":[0,{"~":12345678901234567890}]}`, "/a~1b/1/~0: the number 12345678901234567890 "},
		"one out of range":                         {doubles, `{"n":1e400}`, "/n: the number 1e400 "},
		"the largest integers that are all held":   {doubles, `{"n":[9007199254740992,-9007199254740992,0,-0,5.0]}`, ""},
		"an integer that is a double":              {doubles, `{"n":1152921504606846976}`, ""},
		"what JavaScript writes for that double":   {doubles, `{"n":1152921504606847000}`, ""},
		"fractions, and powers of ten":             {doubles, `{"n":[0.1234567890123456789,1e23,1e-400]}`, ""},
		"digits in a text and in a name":           {doubles, `{"9007199254740993":"9007199254740993"}`, ""},
		"any integer, to a client that has others": {`,"actionCheck":true`, `{"account":9007199254740993}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &bodies{tools: make(chan tool.Tool, 1)}
			var deny guard.Deny
			lines, say, _ := talkAs(t, tt.client, func(setup stdio.Setup) stdio.Host {
				deny = setup.Deny
				return host
			})
			pay := bound(t, host, lines, say)
			call := tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(tt.arguments), Tool: "pay"}
			outputs, errs := make(chan string, 3), make(chan error, 3)
			for _, ask := range []struct {
				method, answer string
				ask            func(context.Context) (string, error)
			}{
				{rpc.MethodRunTool, `{"output":"paid"}`, func(ctx context.Context) (string, error) { return pay.Run(ctx, call) }},
				{rpc.MethodCheckAction, `{"action":"allow"}`, func(ctx context.Context) (string, error) {
					verdict, err := deny(ctx, guard.ToolAction{Tool: "pay", Arguments: call.Arguments})
					return string(verdict.Action), err
				}},
				{rpc.MethodInspectTool, `{"outcome":"succeeded"}`, func(ctx context.Context) (string, error) {
					found, err := pay.(tool.Inspector).Inspect(ctx, call)
					return string(found.Outcome), err
				}},
			} {
				go func() {
					output, err := ask.ask(context.Background())
					outputs <- output
					errs <- err
				}()
				if tt.at == "" {
					asked := <-lines
					if asked["method"] != ask.method {
						t.Fatalf("the client is asked for %v", asked)
					}
					say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, asked["id"], ask.answer))
				}
				output, err := <-outputs, <-errs
				var unfit *guard.ArgumentsError
				switch {
				case tt.at == "":
					if err != nil || !strings.Contains(ask.answer, output) || output == "" {
						t.Errorf("%s: %q, %v", ask.method, output, err)
					}
				case ask.method == rpc.MethodInspectTool:
					if err != nil || output != string(tool.Unknown) {
						t.Errorf("%s: %q, %v", ask.method, output, err)
					}
				case err == nil || !strings.Contains(err.Error(), "at "+tt.at) || !strings.Contains(err.Error(), "as a string"):
					t.Errorf("%s: %v", ask.method, err)
				case ask.method == rpc.MethodRunTool && api.CodeOf(err) != api.CodeArgumentsInvalid:
					t.Errorf("%s: %s", ask.method, api.CodeOf(err))
				case ask.method == rpc.MethodCheckAction && !errors.As(err, &unfit):
					t.Errorf("%s: %v", ask.method, err)
				}
			}
			say(`{"jsonrpc":"2.0","id":"9","method":"capabilities"}`)
			if next := <-lines; next["id"] != "9" {
				t.Errorf("the client was asked more: %v", next)
			}
		})
	}
}
