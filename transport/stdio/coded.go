package stdio

import (
	"bytes"
	"encoding/json"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Send sends a callback or an answer. The library's own errors (an ID that is under way, a version that is missing) are a number and a
// text; they get our code as well, as all others have one (FA8).
func (i *input) Send(message []byte) error {
	if p := i.conn.postOf(message); p != nil {
		return p.send(i.Lines, message)
	}
	if bytes.Contains(message, []byte(`"error":{"code":-32`)) { // within a text the quotes are escaped
		message = coded(message)
	}
	return i.Lines.Send(message)
}

type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *jrpc2.Error    `json:"error,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// coded is an answer, or several, whose errors all have a code.
func coded(message []byte) []byte {
	if message[0] != '[' {
		var one refusal
		if json.Unmarshal(message, &one) != nil || !one.code() {
			return message
		}
		return remade(message, one)
	}
	var all []refusal
	if json.Unmarshal(message, &all) != nil {
		return message
	}
	for i := range all {
		all[i].code()
	}
	return remade(message, all)
}

// code gives an error its code, and reports whether it had none.
func (r *refusal) code() bool {
	if r.Error == nil {
		return false
	}
	var data rpc.ErrorData
	if json.Unmarshal(r.Error.Data, &data) == nil && data.Code != "" {
		return false
	}
	told := rpc.FromError(r.Error)
	if id := string(r.Error.Data); id != "" { // the library's: the ID that is meant
		told = api.Errorf(told.Code, "%s: %s", told.Message, id)
	}
	number := r.Error.Code
	r.Error = rpc.ToError(told)
	r.Error.Code = number
	return true
}

func remade(message []byte, value any) []byte {
	if out, err := json.Marshal(value); err == nil {
		return out
	}
	return message
}
