package stdio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// A body whose answer cannot be read has run, and nobody knows what it did: a person is asked at once, and not when its time is up.
func TestTheOutcomeOfABodyWhoseAnswerCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		code api.Code // that the client is told under no id, "" for nothing
	}{
		"too long for a line":          {`{"jsonrpc":"2.0","id":%s,"result":{"output":"` + strings.Repeat("x", rpc.MaxFrameBytes) + `"}}`, api.CodeFrameTooLarge},
		"no UTF-8":                     {`{"jsonrpc":"2.0","id":%s,"result":{"output":"` + "\xe9" + `"}}`, api.CodeInvalidRequest},
		"no JSON":                      {`{"jsonrpc":"2.0","id":%s,"result":{"output":NaN}}`, api.CodeInvalidRequest},
		"no JSON, before its id":       {`{"jsonrpc":"2.0","result":{"output":NaN},"id":%s}`, api.CodeInvalidRequest},
		"behind a byte order mark":     {"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":%s,"result":{"output":"x"}}`, api.CodeInvalidRequest},
		"in a batch, too long":         {`[{"jsonrpc":"2.0","id":%s,"result":{"output":"` + strings.Repeat("x", rpc.MaxFrameBytes) + `"}}]`, api.CodeFrameTooLarge},
		"in a batch, no UTF-8":         {`[{"jsonrpc":"2.0","id":%s,"result":{"output":"` + "\xe9" + `"}}]`, api.CodeInvalidRequest},
		"in a batch, no JSON":          {`[{"jsonrpc":"2.0","id":%s,"result":{"output":NaN}}]`, api.CodeInvalidRequest},
		"in a batch of too many":       {`[{"jsonrpc":"2.0","id":%s,"result":{"output":"x"}}` + strings.Repeat(",1", rpc.MaxMembers) + `]`, api.CodeInvalidRequest},
		"an error without a code":      {`{"jsonrpc":"2.0","id":%s,"error":{"message":"no money"}}`, ""},
		"an error with a code of text": {`[{"jsonrpc":"2.0","id":%s,"error":{"code":"EIO","message":"no money"}}]`, ""},
		"a result and an error":        {`{"jsonrpc":"2.0","id":%s,"result":{"output":"x"},"error":{"code":1,"message":"no money"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, run, work := working(t)
			r.Request("wait", rpc.MethodResult, run)
			r.Line(fmt.Sprintf(c.line, work.ID))
			if c.code != "" {
				if told := r.Answer("null"); codeOf(told) != c.code {
					t.Errorf("the client is told %s", told.Raw)
				}
			}
			var result api.Result
			into(t, r.Answer(`"wait"`).Result, &result)
			if result.Status != api.StatusInterrupted || len(result.Interactions) != 1 || result.Interactions[0].Kind != api.InteractionUnknownOutcome {
				t.Fatalf("the turn: %+v", result)
			}
			r.Call(rpc.MethodResolve, rpc.Resolve{Session: run.Session, Interaction: result.Interactions[0].ID, Answer: api.Answer{Decision: api.OutcomeSucceeded, Output: "it was done"}})
			into(t, r.Call(rpc.MethodResult, run), &result)
			if result.Status != api.StatusCompleted || !strings.Contains(result.Text, "it was done") {
				t.Errorf("the turn came to %+v", result)
			}
		})
	}
}

// Memory of a batch is that of its text, however many messages it would be.
func TestABatchOfTooManyIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	r := open(t)
	before := memory(t, r)
	batch := "[" + strings.Repeat("{},", 32<<20/3) + "{}]"
	sendParts(r, "batch", batch, 40)
	if a := r.Answer("null"); a.Error == nil || a.Error.Code != -32600 || codeOf(a) != api.CodeInvalidRequest || !strings.Contains(a.Error.Message, "16384") {
		t.Errorf("%.300s", a.Raw)
	}
	if grown := memory(t, r) - before; grown > 256<<20 {
		t.Errorf("a batch of %d MiB took %d MiB", len(batch)>>20, grown>>20)
	}
	r.Line(child.RequestLine("behind", rpc.MethodCapabilities, nil))
	if a := r.Answer(`"behind"`); a.Error != nil {
		t.Errorf("%s", a.Raw)
	}
}

// The same of an answer of many lines that comes when too many others are under way.
func TestTheOutcomeOfABodyWhoseAnswerHasNoRoomIsUnknown(t *testing.T) {
	t.Parallel()
	r, run, work := working(t)
	for i := range 64 {
		r.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"open %d","data":"x"}}`, i))
	}
	r.Line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"a","data":"{\"jsonrpc\":\"2.0\",\"id\":%s,\"res"}}`, work.ID))
	if told := r.Answer("null"); codeOf(told) != api.CodeFrameTooLarge {
		t.Errorf("the client is told %s", told.Raw)
	}
	var result api.Result
	into(t, r.Call(rpc.MethodResult, run), &result)
	if result.Status != api.StatusInterrupted || len(result.Interactions) != 1 || result.Interactions[0].Kind != api.InteractionUnknownOutcome {
		t.Errorf("the turn: %+v", result)
	}
}
