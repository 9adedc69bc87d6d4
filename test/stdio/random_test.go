package stdio_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// frames makes random lines: the same ones from the same seed.
type frames struct {
	*rand.Rand
	valid []string
}

func newFrames(seed uint64, session string) *frames {
	f := &frames{Rand: rand.New(rand.NewPCG(seed, 6))}
	for _, m := range rpc.Methods() {
		switch {
		case m.FromRuntime, m.Name == rpc.MethodShutdown, m.Name == rpc.MethodDeleteSession: // after which nothing more is tested
			continue
		case m.Result == nil:
			f.valid = append(f.valid, `{"jsonrpc":"2.0","method":"`+m.Name+`","params":{"id":"f1"}}`)
			continue
		}
		f.valid = append(f.valid, child.RequestLine("f", m.Name, `{}`), child.RequestLine("f", m.Name, `{"session":"`+session+`"}`))
	}
	f.valid = append(f.valid,
		child.RequestLine("f", rpc.MethodSubmit, `{"session":"`+session+`","text":"hello","options":{"limits":{"maxModelCalls":2},"submissionId":"s"}}`),
		child.RequestLine("f", rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`),
		child.RequestLine("f", rpc.MethodRegisterAgent, `{"definition":{"name":"other","defaultModel":{"provider":"Scripted","name":"demo"},"tools":[`+tool+`]}}`),
		child.RequestLine("f", rpc.MethodHistory, `{"session":"`+session+`","limit":3,"cursor":"x"}`),
		child.RequestLine("f", rpc.MethodNext, `{"subscription":"s1","max":3}`),
		child.RequestLine("f", rpc.MethodUploadChunk, `{"session":"`+session+`","upload":"u","chunk":{"index":0,"sha256":"00","data":"AAAA"}}`),
		`{"jsonrpc":"2.0","id":1,"result":{"output":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32083,"message":"late"}}`,
		`{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"m","data":"{\"jsonrpc\":\"2.0\",","last":false}}`,
		`{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"m","data":"\"id\":\"f\",\"method\":\"capabilities\"}","last":true}}`,
		`[`+child.RequestLine("f", rpc.MethodCapabilities, nil)+`,`+child.RequestLine("g", rpc.MethodUsage, nil)+`]`,
	)
	return f
}

// pieces are what mutations put in: what JSON, JSON-RPC and UTF-8 are made of, and what breaks readers of them.
var pieces = []string{`"`, `\`, `\u0000`, `\ud800`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `true`, `-1`, `1e999`, `0.1`, `"id"`, `"method"`, `"params":{}`, `"jsonrpc":"2.0"`, `rpc/part`,
	"\x00", "\xff", "\xed\xa0\x80", "\r", "\t", "\u2028", "é", "語", strings.Repeat("[", 300), strings.Repeat(`{"a":`, 300), strings.Repeat("9", 400)}

func (f *frames) one() string { return f.valid[f.IntN(len(f.valid))] }

// next is the next line. It has no newline, and is not so long that it tests nothing else.
func (f *frames) next() string {
	line := f.one()
	switch f.IntN(6) {
	case 0: // bytes
		random := make([]byte, f.IntN(200))
		for i := range random {
			random[i] = byte(f.IntN(256))
		}
		line = string(random)
	case 1: // cut off
		line = line[:f.IntN(len(line)+1)]
	case 2: // the beginning of one and the end of another
		other := f.one()
		line = line[:f.IntN(len(line)+1)] + other[f.IntN(len(other)+1):]
	case 3: // pieces put in or in the place of something
		for range 1 + f.IntN(3) {
			from := f.IntN(len(line) + 1)
			to := min(len(line), from+f.IntN(8))
			line = line[:from] + pieces[f.IntN(len(pieces))] + line[to:]
		}
	case 4: // single bytes changed
		data := []byte(line)
		for range 1 + f.IntN(4) {
			data[f.IntN(len(data))] = byte(f.IntN(256))
		}
		line = string(data)
	case 5: // a value changed, so that it stays JSON
		line = f.swapped(line)
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// swapped is a line one of whose values is another's.
func (f *frames) swapped(line string) string {
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) != nil {
		return line
	}
	values := []any{nil, true, -1, 1.5, "", "x", []any{}, map[string]any{}, json.RawMessage("[" + line + "]"), strings.Repeat("long", 1_000), map[string]any{"session": map[string]any{"session": 1}}}
	into := object
	if params, ok := object["params"].(map[string]any); ok && f.IntN(3) > 0 {
		into = params
	}
	for _, key := range slices.Sorted(maps.Keys(into)) {
		if f.IntN(2) == 0 {
			into[key] = values[f.IntN(len(values))]
		}
	}
	data, err := json.Marshal(object)
	if err != nil { // it came from JSON
		panic(err)
	}
	return string(data)
}

func TestTenThousandRandomFramesAreAnsweredOrRefusedAndWhatIsBetweenThemIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	const n, together = 10_000, 100
	r := child.Start(t, child.Config{Binary: binary, Noisy: true})
	r.Call(rpc.MethodInitialize, hello)
	f := newFrames(1, newSession(t, r))
	var refused, half int
	for from := 0; from < n; from += together {
		var sent strings.Builder
		for i := from; i < from+together; i++ {
			sent.WriteString(f.next() + "\n" + child.RequestLine(fmt.Sprint("probe", i), rpc.MethodUsage, nil) + "\n")
		}
		if err := r.Write([]byte(sent.String())); err != nil {
			t.Fatalf("%v behind\n%s\n%s", err, sent.String(), r.Stderr())
		}
		for i := from; i < from+together; i++ {
			if a := r.Answer(fmt.Sprintf(`"probe%d"`, i)); a.Error != nil {
				t.Fatalf("%s behind\n%s", a.Raw, sent.String())
			}
		}
		for _, m := range r.Left() {
			switch {
			case strings.HasPrefix(string(m.ID), `"probe`):
				t.Fatalf("answered twice: %s", m.Raw)
			case m.Error != nil && m.Error.Data.Code == api.CodeInternal:
				t.Errorf("%s behind\n%s", m.Raw, sent.String())
			case m.Error != nil:
				refused++
			case m.Method == rpc.MethodRunTool:
				r.Reply(m, `{"output":"done"}`)
			}
		}
		if from == n/2 {
			half = memory(t, r)
		}
	}
	if refused < n/2 {
		t.Errorf("only %d frames were refused", refused)
	}
	if grown := memory(t, r) - half; grown > 64<<20 {
		t.Errorf("5,000 frames took %d MiB", grown>>20)
	}
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
