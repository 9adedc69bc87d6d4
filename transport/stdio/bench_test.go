package stdio_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/stdio"
)

// What a request and a callback cost the runtime, beside what they do. The client's half is a line written and one read.
func BenchmarkConnection(b *testing.B) {
	host := &bodies{tools: make(chan tool.Tool, 1)}
	in, toRuntime, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	fromRuntime, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- stdio.Serve(context.Background(), in, out, stdio.Config{Open: func(context.Context, stdio.Setup) (stdio.Host, error) { return host, nil }})
	}()
	lines := bufio.NewReader(fromRuntime)
	say := func(line string) {
		if _, err := io.WriteString(toRuntime, line+"\n"); err != nil {
			b.Fatal(err)
		}
	}
	hear := func() string {
		line, err := lines.ReadString('\n')
		if err != nil || strings.Contains(line, `"error"`) {
			b.Fatal(line, err)
		}
		return line
	}
	say(`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersions":[1],"client":{"name":"b","version":"1"}}}`)
	hear()
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			say(`{"jsonrpc":"2.0","id":"c17","method":"capabilities","params":{}}`)
			hear()
		}
	})
	say(`{"jsonrpc":"2.0","id":"2","method":"tool/register","params":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}}`)
	hear()
	pay := <-host.tools
	b.Run("callback", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ended := make(chan error, 1)
			go func() {
				_, err := pay.Run(context.Background(), tool.Call{ID: "c1", Attempt: 1, Arguments: []byte(`{"a":1}`), Tool: "pay"})
				ended <- err
			}()
			line := hear()
			from := strings.Index(line, `"id":`) + len(`"id":`)
			id, _, _ := strings.Cut(line[from:], ",")
			say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"output":"3"}}`)
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		}
	})
	_ = toRuntime.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
