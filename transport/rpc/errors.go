package rpc

import (
	"encoding/json"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// ErrorData is the data of an error: our own form of it. The error's number is that of the code's row in the table of codes,
// or JSON-RPC's own for what is no request: -32700, -32600, -32601.
type ErrorData struct {
	Code      api.Code          `json:"code"`
	Details   map[string]string `json:"details,omitempty"`
	Retryable bool              `json:"retryable,omitempty"`
}

// TooLate is the number of the error by which a client says that a tool's body did not begin, since its time to begin had
// passed. It is the protocol's alone, and no code of ours.
const TooLate = -32083

// Unread is the number of the error that is received in place of an answer that came and cannot be read: it was too long, no
// JSON, or neither a result nor an error in its form. Its data says why. What a body did that was answered so is not known. It is the protocol's alone, and no code of ours;
// nor the library's, which keeps some errors' numbers for itself, and tells no data of those.
const Unread = -32079

var numbers = func() map[api.Code]int {
	m := map[api.Code]int{}
	for _, c := range api.Codes() {
		m[c.Code] = c.RPC
	}
	return m
}()

// ToError is an error as it goes over the wire.
func ToError(err error) *jrpc2.Error {
	e := api.AsError(err)
	return wireError(jrpc2.Code(numbers[e.Code]), e)
}

func wireError(number jrpc2.Code, e *api.Error) *jrpc2.Error {
	data, err := json.Marshal(ErrorData{Code: e.Code, Details: e.Details, Retryable: e.Retryable()})
	if err != nil { // strings can be written
		data = nil
	}
	return &jrpc2.Error{Code: number, Message: e.Message, Data: data}
}

// FromError is an error that came over the wire. One without our data is told by its number: JSON-RPC's own are
// invalid_request, and what else is not in the table is internal.
func FromError(e *jrpc2.Error) *api.Error {
	var data ErrorData
	if json.Unmarshal(e.Data, &data) == nil && data.Code != "" {
		return &api.Error{Code: data.Code, Message: e.Message, Details: data.Details}
	}
	switch e.Code {
	case jrpc2.ParseError, jrpc2.InvalidRequest, jrpc2.MethodNotFound:
		return &api.Error{Code: api.CodeInvalidRequest, Message: e.Message}
	case jrpc2.Cancelled, jrpc2.DeadlineExceeded:
		return &api.Error{Code: api.CodeCancelled, Message: e.Message}
	}
	for code, number := range numbers {
		if number == int(e.Code) {
			return &api.Error{Code: code, Message: e.Message}
		}
	}
	return &api.Error{Code: api.CodeInternal, Message: e.Message}
}
