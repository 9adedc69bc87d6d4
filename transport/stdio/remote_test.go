package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
	"github.com/openworkerai/openworker/transport/stdio"
)

// bodies is a host that keeps the tools which it is given, for a test to run them.
type bodies struct {
	api.Service
	tools chan tool.Tool
}

func (b *bodies) Bind(tools ...tool.Tool) error {
	for _, t := range tools {
		b.tools <- t
	}
	return nil
}

func (*bodies) BindGuards([]guard.Guardrail, []guard.Hook) error { return nil }

func (*bodies) ResultWhen(context.Context, string, string, func(context.Context) error) (api.Result, error) {
	return api.Result{}, nil
}

func (*bodies) Quiesce() {}

func (*bodies) Close(context.Context) error { return nil }

func (*bodies) Capabilities(context.Context) (api.Capabilities, error) {
	return api.Capabilities{Store: "st"}, nil
}

// talk starts a connection whose client is the test: it gets the runtime's lines, and writes its own.
func talk(t *testing.T, host stdio.Host) (lines <-chan map[string]any, say func(string), gone func()) {
	t.Helper()
	return talkAs(t, "", func(stdio.Setup) stdio.Host { return host })
}

// talkAs is talk with more in initialize, to the host that open gives for it.
func talkAs(t *testing.T, more string, open func(stdio.Setup) stdio.Host) (lines <-chan map[string]any, say func(string), gone func()) {
	t.Helper()
	in, toRuntime := io.Pipe()
	fromRuntime, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- stdio.Serve(context.Background(), in, out, stdio.Config{Version: "test", Grace: time.Second, Open: func(_ context.Context, setup stdio.Setup) (stdio.Host, error) { return open(setup), nil }})
		_ = out.Close()
	}()
	read := make(chan map[string]any, 100)
	go func() {
		defer close(read)
		in := bufio.NewScanner(fromRuntime)
		for in.Scan() {
			var line map[string]any
			if json.Unmarshal(in.Bytes(), &line) == nil {
				read <- line
			}
		}
	}()
	say = func(line string) {
		if _, err := io.WriteString(toRuntime, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	gone = func() { _ = toRuntime.Close() }
	t.Cleanup(func() {
		gone()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	say(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersions":[1],"client":{"name":"t","version":"1"}` + more + `}}`)
	if first := <-read; first["error"] != nil {
		t.Fatal(first)
	}
	return read, say, gone
}

func bound(t *testing.T, host *bodies, lines <-chan map[string]any, say func(string)) tool.Tool {
	t.Helper()
	say(`{"jsonrpc":"2.0","id":"2","method":"tool/register","params":{"tools":[{"name":"pay","inputSchema":{"type":"object"},"inspect":true}]}}`)
	if answer := <-lines; answer["error"] != nil {
		t.Fatal(answer)
	}
	return <-host.tools
}

// What could not begin in time did nothing, so it is asked for again with the time that holds then.
func TestABodyThatCouldNotBeginInTimeIsAskedForAgain(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	var looks atomic.Int32
	type result struct {
		output string
		err    error
	}
	done := make(chan result, 1)
	go func() {
		output, err := pay.Run(context.Background(), tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay", StartBefore: func() time.Time {
			return time.Date(2030, 1, 1, 0, 0, int(looks.Add(1)), 0, time.UTC)
		}})
		done <- result{output, err}
	}()
	for want := 1; want <= 3; want++ {
		call := <-lines
		params, _ := call["params"].(map[string]any)
		if call["method"] != rpc.MethodRunTool || params["callId"] != "c1" || params["startBefore"] != fmt.Sprintf("2030-01-01T00:00:0%dZ", want) {
			t.Fatalf("call %d is %v", want, call)
		}
		if want < 3 {
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":%d,"message":"too late"}}`, call["id"], rpc.TooLate))
			continue
		}
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"output":"paid"}}`, call["id"]))
	}
	if r := <-done; r.err != nil || r.output != "paid" {
		t.Fatalf("%+v", r)
	}
}

// RE3: a client that is gone says nothing of what ran in it. The body ends with its context, and not before.
func TestABodyWhoseClientIsGoneEndsWithItsContext(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, gone := talk(t, host)
	pay := bound(t, host, lines, say)
	ctx, cancel := context.WithCancel(context.Background())
	done, late := make(chan error, 1), make(chan error, 1)
	call := tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"}
	go func() {
		_, err := pay.Run(ctx, call)
		done <- err
	}()
	<-lines
	gone()
	for range lines { // until the runtime has stopped
	}
	go func() { // one that begins only now
		_, err := pay.Run(ctx, call)
		late <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it ended while its context lasted: %v", err)
	case err := <-late:
		t.Fatalf("what was never asked ended while its context lasted: %v", err)
	case <-time.After(50 * time.Millisecond): // it never may
	}
	cancel()
	if err := <-done; !errors.Is(err, tool.ErrUnknownOutcome) {
		t.Errorf("it ended with %v", err)
	}
	if err := <-late; !errors.Is(err, tool.ErrNotStarted) {
		t.Errorf("what was never asked ended with %v", err)
	}
}

// A tool that is told to stop is waited for; an inspection is given up.
func TestTheClientIsToldWhenNobodyWaitsAnyMore(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	call := tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan string, 1)
	go func() {
		output, err := pay.Run(ctx, call)
		ran <- fmt.Sprint(output, err)
	}()
	begun := <-lines
	cancel()
	told := <-lines
	name := begun["params"].(map[string]any)["callback"]
	if params, _ := told["params"].(map[string]any); told["method"] != rpc.MethodCancelCallback || params["callback"] != name || name == "" {
		t.Fatalf("the client is told %v of %v", told, begun)
	}
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"output":"done all the same"}}`, begun["id"]))
	if got := <-ran; got != "done all the same<nil>" {
		t.Fatal(got)
	}
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		_, err := pay.(tool.Inspector).Inspect(ctx, call)
		ran <- string(api.CodeOf(err))
	}()
	begun = <-lines
	cancel()
	if got := <-ran; got != "cancelled" {
		t.Fatal(got)
	}
	if told = <-lines; told["method"] != rpc.MethodCancelCallback {
		t.Fatal(told)
	}
	// Its answer comes late, to nobody, and is answered by nothing.
	say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"outcome":"unknown"}}`, begun["id"]))
	say(`{"jsonrpc":"2.0","id":"9","method":"capabilities"}`)
	if next := <-lines; next["id"] != "9" {
		t.Fatalf("a late answer was answered: %v", next)
	}
}

// A body's error is its text, as in this process; arguments that it cannot take are the model's to correct.
func TestABodysErrorIsToldAsItIs(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	lines, say, _ := talk(t, host)
	pay := bound(t, host, lines, say)
	for answer, want := range map[string]struct {
		text string
		code api.Code
	}{
		`"error":{"code":-32064,"message":"no money","data":{"code":"tool_failed"}}`:       {"no money", api.CodeToolFailed},
		`"error":{"code":-32063,"message":"it broke","data":{"code":"tool_panicked"}}`:     {"it broke", api.CodeToolPanicked},
		`"error":{"code":1,"message":"no money"}`:                                          {"no money", api.CodeInternal},
		`"error":{"code":-32060,"message":"at /n: 1","data":{"code":"arguments_invalid"}}`: {"at /n: 1", api.CodeArgumentsInvalid},
		`"error":{"code":-32097,"message":"gone"}`:                                         {"cancelled: the client gave up tool/run", api.CodeCancelled},
		`"result":"text"`: {tool.ErrUnknownOutcome.Error(), api.CodeInternal},
	} {
		done := make(chan error, 1)
		go func() {
			_, err := pay.Run(context.Background(), tool.Call{ID: "c1", Attempt: 1, Arguments: json.RawMessage(`{}`), Tool: "pay"})
			done <- err
		}()
		call := <-lines
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,%s}`, call["id"], answer))
		if err := <-done; err == nil || !strings.HasPrefix(err.Error(), want.text) || api.CodeOf(err) != want.code {
			t.Errorf("%s: %v, %s", answer, err, api.CodeOf(err))
		}
	}
}
