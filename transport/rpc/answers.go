package rpc

import (
	"encoding/json"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// answered are the ids of the calls that a message answers, or a batch, which may be cut off or no JSON.
func answered(message []byte) (ids []json.RawMessage) {
	if !isBatch(message) {
		if id, is, _ := answerOf(message); is {
			ids = append(ids, id)
		}
		return ids
	}
	for member := range membersOf(message) {
		if id, is, _ := answerOf(member); is {
			ids = append(ids, id)
		}
		if len(ids) == MaxMembers {
			break
		}
	}
	return ids
}

// answeredSoFar are those that a piece answers which a message begins with. It may end before it says that: an id without
// anything of a request is enough.
func answeredSoFar(begin []byte) []json.RawMessage {
	if isBatch(begin) {
		return answered(begin)
	}
	if id, _, could := answerOf(begin); could {
		return []json.RawMessage{id}
	}
	return nil
}

// answerOf is the id of the call that a message answers, and whether it says that it is an answer, or could go on as one.
func answerOf(message []byte) (id json.RawMessage, is, could bool) {
	could = true
	for name, value := range fieldsOf(message) {
		switch string(name) {
		case "id":
			id = tellable(value)
		case "result", "error":
			is = true
		case "method":
			return nil, false, false
		case "jsonrpc":
		default:
			could = false
		}
	}
	return id, is && id != nil, could && id != nil
}

// formed is a message with its answers in the form of one. One in another is received as the error [Unread]: a member of an
// error that is missing or of another type would be passed over, and what nobody has said be taken for a failure.
func formed(message []byte) []byte {
	if !isBatch(message) {
		if wrong := misformed(message); wrong != nil {
			return wrong
		}
		return message
	}
	wrong := map[int]json.RawMessage{}
	n := 0
	for member := range membersOf(message) {
		if w := misformed(member); w != nil {
			wrong[n] = w
		}
		n++
	}
	if len(wrong) == 0 {
		return message
	}
	members := make([]json.RawMessage, 0, n)
	for member := range membersOf(message) {
		if w := wrong[len(members)]; w != nil {
			member = w
		}
		members = append(members, member)
	}
	return batchOf(members)
}

// misformed is the error in place of an answer in another form, nil for a good one and for what is none. A message is looked at
// up to its method, where it is a request.
func misformed(message []byte) []byte {
	var id, told json.RawMessage
	results, errs := 0, 0
	for name, value := range fieldsOf(message) {
		switch string(name) {
		case "id":
			id = tellable(value)
		case "result":
			results++
		case "error":
			errs, told = errs+1, value
		case "method":
			return nil
		}
	}
	var e struct {
		Code    *jrpc2.Code `json:"code"`
		Message *string     `json:"message"`
	}
	why := "its error is no object with a code, a whole number, and a message, a string"
	switch {
	case id == nil, errs == 0: // one of nothing is taken for no result, which is none
		return nil
	case results+errs > 1:
		why = "it has both a result and an error"
	case json.Unmarshal(told, &e) == nil && e.Code != nil && e.Message != nil:
		return nil
	}
	return errorLine(id, wireError(Unread, api.Errorf(api.CodeInvalidRequest, "the answer came and cannot be read: %s", why)))
}

// batchOf is a batch of messages, and a single one as it is.
func batchOf(messages []json.RawMessage) []byte {
	if len(messages) == 1 {
		return messages[0]
	}
	batch, _ := encode(messages) // all of it can be written
	return batch
}
