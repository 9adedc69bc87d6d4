package stdio

import (
	"encoding/json"
	"testing"
)

func TestEachErrorOfAnAnswerHasACode(t *testing.T) {
	t.Parallel()
	const ours = `{"jsonrpc":"2.0","id":"7","error":{"code":-32602,"message":"no","data":{"code":"invalid_limits"}}}`
	for name, c := range map[string]struct{ sent, want string }{
		"one of the library's": {
			`{"jsonrpc":"2.0","id":"7","error":{"code":-32600,"message":"duplicate request ID","data":"\"7\""}}`,
			`{"jsonrpc":"2.0","id":"7","error":{"code":-32600,"message":"duplicate request ID: \"\\\"7\\\"\"","data":{"code":"invalid_request"}}}`,
		},
		"one without an id": {
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty request batch"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"empty request batch","data":{"code":"invalid_request"}}}`,
		},
		"one of ours": {ours, ours},
		"a batch": {
			`[` + ours + `,{"jsonrpc":"2.0","id":8,"result":{"a":1}},{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"x"}}]`,
			`[` + ours + `,{"jsonrpc":"2.0","id":8,"result":{"a":1}},{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"x","data":{"code":"invalid_request"}}}]`,
		},
		"a result that speaks of one": {`{"jsonrpc":"2.0","id":1,"result":{"text":"\"error\":{\"code\":-32600}"}}`, `{"jsonrpc":"2.0","id":1,"result":{"text":"\"error\":{\"code\":-32600}"}}`},
	} {
		if got := string(coded([]byte(c.sent))); got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}
