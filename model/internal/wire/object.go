package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// FaultOf finds the error object in a body, in any of the forms that servers and gateways give it: under "error",
// in a list, a string, or fields at the top. nil says that there is none.
func FaultOf(body []byte) *Fault {
	var o object
	if json.Unmarshal(body, &o) == nil {
		return o.fault()
	}
	var list []object
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0].fault()
	}
	return nil
}

type object struct {
	Error ErrorObject `json:"error"`
	// What some servers send in place of "error", at the top.
	Object  loose `json:"object"`
	Message loose `json:"message"`
	Detail  loose `json:"detail"`
	Code    loose `json:"code"`
	Type    loose `json:"type"`
	// An answer has these, and is then no error.
	Choices    json.RawMessage `json:"choices"`
	Candidates json.RawMessage `json:"candidates"`
}

func (o *object) fault() *Fault {
	switch {
	case o.Error.Given:
		return &o.Error.Fault
	case o.Choices != nil || o.Candidates != nil:
		return nil
	case o.Object == "error" || o.Type == "error" || o.Message != "" || o.Detail != "":
		return &Fault{Message: string(o.Message + o.Detail), Type: string(o.Type), Code: string(o.Code)}
	}
	return nil
}

// ErrorObject decodes the value of a field "error": an object, or a string in its place; null and false are none.
type ErrorObject struct {
	Given bool
	Fault
}

// UnmarshalJSON takes any JSON value.
func (e *ErrorObject) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n', 'f':
		return nil
	case '{':
		var o struct {
			Message loose   `json:"message"`
			Type    loose   `json:"type"`
			Code    loose   `json:"code"`
			Status  loose   `json:"status"`
			Details details `json:"details"`
		}
		if err := json.Unmarshal(data, &o); err != nil {
			return err
		}
		e.Given = true
		e.Fault = Fault{Message: string(o.Message), Type: string(o.Type), Code: string(o.Code)}
		if o.Type == "" { // Google's name of the class
			e.Type = string(o.Status)
		}
		e.Reasons, e.RetryAfter = o.Details.reasons, o.Details.retryAfter
		return nil
	}
	var message loose
	err := message.UnmarshalJSON(data)
	e.Message, e.Given = string(message), message != ""
	return err
}

// details takes what Google adds to an error: reasons, the quotas that were exceeded, how long to wait. In other
// protocols a field of that name may be anything, and says nothing to us.
type details struct {
	reasons    string
	retryAfter time.Duration
}

func (d *details) UnmarshalJSON(data []byte) error {
	var list []struct {
		Reason     loose `json:"reason"`
		RetryDelay loose `json:"retryDelay"`
		Violations []struct {
			QuotaID loose `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	var reasons []string
	for _, detail := range list {
		reasons = append(reasons, string(detail.Reason))
		for _, violation := range detail.Violations {
			reasons = append(reasons, string(violation.QuotaID))
		}
		if wait, err := time.ParseDuration(string(detail.RetryDelay)); err == nil {
			d.retryAfter = bounded(float64(wait))
		}
	}
	d.reasons = strings.Join(reasons, " ")
	return nil
}

// loose takes a string; null is "", and any other value is its own JSON.
type loose string

func (l *loose) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(l))
	}
	if !bytes.Equal(data, []byte("null")) {
		*l = loose(data)
	}
	return nil
}
