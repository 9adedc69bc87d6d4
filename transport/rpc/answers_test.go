package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// RE3: what is answered in another form has said neither that it failed nor that it was done.
func TestAnAnswerInAnotherFormIsReceivedAsUnread(t *testing.T) {
	t.Parallel()
	for message, unread := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"result":{"error":5,"method":"m"}}`:            false,
		`{"jsonrpc":"2.0","id":7,"result":null}`:                                false,
		`{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"m"}}`:             false,
		`{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"","data":{}}}`:    false,
		`{"jsonrpc":"2.0","id":7,"method":"tool/run","error":5}`:                false, // a request, and refused as one
		`{"jsonrpc":"2.0","id":{},"error":5}`:                                   false, // nobody's
		`{"jsonrpc":"2.0","id":7,"error":{"code":"EIO","message":"m"}}`:         true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1.5,"message":"m"}}`:           true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":null,"message":"m"}}`:          true,
		`{"jsonrpc":"2.0","id":7,"error":{"message":"m"}}`:                      true,
		`{"jsonrpc":"2.0","id":7,"error":{"message":"m","data":{"method":1}}}`:  true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":5}}`:                           true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":{}}}`:              true,
		`{"jsonrpc":"2.0","id":7,"error":"text"}`:                               true,
		`{"jsonrpc":"2.0","id":7,"error":[]}`:                                   true,
		`{"jsonrpc":"2.0","id":7,"error":null}`:                                 true,
		`{"error":{"message":"method"},"id":7}`:                                 true,
		`{"jsonrpc":"2.0","id":7,"\u0065rror":{"code":5}}`:                      true,
		`{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":5,"message":"m"}}`: true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":5,"message":"m"},"result":{}}`: true,
	} {
		for name, around := range map[string]string{"alone": "%s", "in a batch": `[{"jsonrpc":"2.0","id":6,"result":{}}, %s ,{"jsonrpc":"2.0","id":8,"method":"m"}]`} {
			line := fmt.Sprintf(around, message)
			messages, refusals := received(t, strings.NewReader(line+"\n"))
			if len(messages) != 1 || len(refusals) > 0 {
				t.Fatalf("%s: %q, %+v", line, messages, refusals)
			}
			got := messages[0]
			if !unread {
				if got != line {
					t.Errorf("%s, %s, was changed: %s", message, name, got)
				}
				continue
			}
			var batch []wireRefusal
			if json.Unmarshal([]byte(got), &batch) != nil {
				batch = []wireRefusal{{}, {}}
				if err := json.Unmarshal([]byte(got), &batch[1]); err != nil {
					t.Fatal(err)
				}
			}
			if e := batch[1]; string(e.ID) != "7" || e.Error.Code != Unread || e.Error.Data.Code != api.CodeInvalidRequest {
				t.Errorf("%s, %s: %s", message, name, got)
			}
		}
	}
}

// RE3: each call that a batch answers is told that the answer cannot be read, as far as its ids can be found.
func TestEachAnswerOfABatchThatCannotBeReadIsReceivedAsAnError(t *testing.T) {
	t.Parallel()
	one := `{"jsonrpc":"2.0","id":%d,"result":{"output":"%s"}}`
	two := "[" + fmt.Sprintf(one, 1, `],},\"`) + " , " + fmt.Sprintf(one, 2, "x")
	part := func(name, data string) string {
		line, err := encode(map[string]any{"method": MethodPart, "params": Part{Message: name, Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	var full strings.Builder
	for i := range maxOpen {
		full.WriteString(part(fmt.Sprint("open", i), "x"))
	}
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"that is too long":                           {two + `,{"id":3,"result":"` + strings.Repeat("x", MaxFrameBytes) + "\"}]\n", []string{"1", "2", "3"}},
		"that is no JSON":                            {two + ", nonsense]\n", []string{"1", "2"}},
		"that is no JSON in the first":               {`[{"id":1,"result":[oops]},{"result":NaN,"id":2}]` + "\n", []string{"1", "2"}},
		"that is not UTF-8":                          {`[{"id":1,"result":"` + "\xff" + `"},{"id":2,"result":{}}]` + "\n", []string{"1", "2"}},
		"that is no JSON, of several lines":          {inParts(t, two+`,oops]`), []string{"1", "2"}},
		"of too many":                                {two + strings.Repeat(",1", MaxMembers) + "]\n", []string{"1", "2"}},
		"behind a byte order mark":                   {"\xef\xbb\xbf" + two + "]\n", []string{"1", "2"}},
		"with requests":                              {`[{"id":1,"method":"m"},{"id":2,"error":oops},{"id":3},[],7]` + "\n", []string{"2"}},
		"whose ids are of all kinds":                 {`[{"id":"a","result":oops},{"id":null,"result":1},{"id":{},"result":1}]` + "\n", []string{`"a"`}},
		"of requests alone":                          {`[{"id":1,"method":oops}]` + "\n", nil},
		"of nothing":                                 {"[\n", nil},
		"that began when too many were under way":    {full.String() + part("a", two+`,{"id":3,"res`), []string{"1", "2"}},
		"that is one, and began when too many were":  {full.String() + part("a", `{"jsonrpc":"2.0","id":1,"res`), []string{"1"}},
		"that is one, with its result in the middle": {full.String() + part("a", `{"jsonrpc":"2.0","id":1,"result":{"out`), []string{"1"}},
		"that is a request by its method":            {full.String() + part("a", `{"jsonrpc":"2.0","id":1,"method":"m","par`), nil},
		"that is a request by its parameters":        {full.String() + part("a", `{"id":1,"params":{"result":1`), nil},
	} {
		messages, refusals := received(t, strings.NewReader(c.in))
		if len(refusals) != 1 || string(refusals[0].ID) != "null" {
			t.Errorf("a batch %s: %d refusals: %.500v", name, len(refusals), refusals)
		}
		var got []string
		for _, m := range messages {
			var all []wireRefusal
			if json.Unmarshal([]byte(m), &all) != nil {
				all = []wireRefusal{{}}
				if err := json.Unmarshal([]byte(m), &all[0]); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range all {
				if got = append(got, string(e.ID)); e.Error.Code != Unread {
					t.Errorf("a batch %s: received %s", name, m)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("a batch %s (-want +got):\n%s", name, diff)
		}
	}
}

func BenchmarkFormed(b *testing.B) {
	for name, message := range map[string]string{
		"request":     `{"jsonrpc":"2.0","id":"c17","method":"capabilities","params":{}}`,
		"answer":      `{"jsonrpc":"2.0","id":17,"result":{"output":"3"}}`,
		"long answer": `{"jsonrpc":"2.0","id":17,"result":{"output":"` + strings.Repeat("x", MaxFrameBytes-100) + `"}}`,
	} {
		b.Run(name, func(b *testing.B) {
			message := []byte(message)
			b.ReportAllocs()
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				formed(message)
			}
		})
	}
}
