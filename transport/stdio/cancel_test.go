package stdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// RU5: whenever a body is given up, the client is asked for it and told that it is given up, in this order, or it is told
// nothing and the body counts as not begun.
func TestABodyIsGivenUpBeforeTheClientIsAskedOrBehindIt(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	begun, tried := 0, 0
	for ; (begun < 20 || tried-begun < 20) && tried < 20_000; tried++ {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := pay.Run(ctx, tool.Call{ID: "c", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"})
			done <- err
		}()
		for end := time.Now().Add(time.Duration(rand.IntN(500)) * time.Microsecond); time.Now().Before(end); { // too short for a timer
		}
		cancel()
		probe := fmt.Sprintf("p%d", tried)
		say(`{"jsonrpc":"2.0","id":"` + probe + `","method":"capabilities"}`)
		var asked map[string]any
		told, probed, ended := false, false, false
		var err error
		for !probed || !ended || asked != nil && !told {
			select {
			case err = <-done:
				ended = true
				if asked == nil && !errors.Is(err, tool.ErrNotStarted) {
					t.Fatalf("nothing was asked, and it ended with %v", err)
				}
			case line := <-lines:
				switch line["method"] {
				case rpc.MethodRunTool:
					if ended || told {
						t.Fatalf("the client is asked for what was given up: ended %v, told %v", ended, told)
					}
					asked = line
				case rpc.MethodCancelCallback:
					if asked == nil || line["params"].(map[string]any)["callback"] != asked["params"].(map[string]any)["callback"] {
						t.Fatalf("the client is told %v, and was asked %v", line, asked)
					}
					told = true
					say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"output":"done"}}`, asked["id"]))
				default:
					probed = true
				}
			}
		}
		if asked != nil {
			begun++
			if err != nil {
				t.Fatalf("it ended with %v", err)
			}
		}
	}
	if begun == 0 || begun == tried {
		t.Errorf("%d of %d were asked for: nothing was tried", begun, tried)
	}
}
