package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/stdio"
)

// maxOwed is how many callbacks may be given up and have no answer.
const maxOwed = 16_384

func TestAClientThatNeverAnswersWhatIsGivenUpIsGivenUpItself(t *testing.T) {
	t.Parallel()
	host := &bodies{tools: make(chan tool.Tool, 1)}
	in, toRuntime := io.Pipe()
	fromRuntime, out := io.Pipe()
	var log bytes.Buffer
	served := make(chan error, 1)
	go func() {
		served <- stdio.Serve(context.Background(), in, out, stdio.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Open: func(context.Context, stdio.Setup) (stdio.Host, error) { return host, nil }})
		_ = out.Close()
	}()
	say := func(line string) {
		if _, err := io.WriteString(toRuntime, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	type message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	lines := bufio.NewReader(fromRuntime)
	hear := func() (m message) {
		line, err := lines.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &m) != nil {
			t.Fatalf("%q, %v", line, err)
		}
		return m
	}
	say(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersions":[1],"client":{"name":"t","version":"1"}}}`)
	hear()
	say(`{"jsonrpc":"2.0","id":"2","method":"tool/register","params":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}}`)
	hear()
	pay := <-host.tools
	var running sync.WaitGroup
	// giveUp has the client asked for bodies, and then gives them up.
	giveUp := func(n int) (asked []message) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range n {
			running.Go(func() {
				_, _ = pay.Run(ctx, tool.Call{ID: fmt.Sprint("c", i), Attempt: 1, Arguments: []byte(`{}`), Tool: "pay"}) // what comes of it is the host's
			})
		}
		for range n {
			asked = append(asked, hear())
		}
		return asked
	}
	for range 2 { // those that are answered do not count
		asked := giveUp(maxOwed)
		for range asked {
			if m := hear(); m.Method != "callback/cancel" {
				t.Fatalf("%+v came", m)
			}
		}
		say(`{"jsonrpc":"2.0","id":"there","method":"capabilities"}`)
		if m := hear(); string(m.ID) != `"there"` {
			t.Fatalf("%+v came", m)
		}
		for _, m := range asked {
			say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":1,"message":"cancelled"}}`)
		}
		running.Wait()
	}
	giveUp(maxOwed + 1)
	_, _ = io.Copy(io.Discard, lines) // up to its end, which the error tells of
	err := <-served
	if api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), "answer each by its id") {
		t.Errorf("Serve: %v", err)
	}
	if strings.Count(log.String(), "level=ERROR") != 1 || !strings.Contains(log.String(), "never answered") {
		t.Errorf("logged: %s", log.String())
	}
	running.Wait() // nothing of them is left
}
