package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

func TestParametersAreReadStrictly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		params  string
		want    api.Code
		message string
	}{
		"none":                           {``, "", ""},
		"an empty object":                {`{}`, "", ""},
		"all that is known":              {`{"session":"s","options":{"submissionId":"x"}}`, "", ""},
		"white space around":             {"{ \"session\" : \"s\" } \n", "", ""},
		"an unknown field":               {`{"session":"s","sesion":"t"}`, api.CodeUnsupportedOption, `"sesion"`},
		"an unknown field inside":        {`{"options":{"turbo":true}}`, api.CodeUnsupportedOption, `"turbo"`},
		"an array":                       {`["s"]`, api.CodeInvalidRequest, "no object"},
		"null":                           {`null`, api.CodeInvalidRequest, "no object"},
		"a number for a text":            {`{"session":7}`, api.CodeInvalidRequest, "session is a JSON number; it must be a string"},
		"a text for an object":           {`{"options":"x"}`, api.CodeInvalidRequest, "options is a JSON string; it must be an object"},
		"an object for an array":         {`{"content":{}}`, api.CodeInvalidRequest, "content is a JSON object; it must be an array"},
		"a fraction for a whole number":  {`{"options":{"limits":{"maxModelCalls":1.5}}}`, api.CodeInvalidRequest, "must be a whole number that fits"},
		"a number that does not fit":     {`{"options":{"limits":{"maxModelCalls":99999999999999999999}}}`, api.CodeInvalidRequest, "must be a whole number that fits"},
		"something behind the object":    {`{"session":"s"} {}`, api.CodeInvalidRequest, "something stands behind"},
		"half an object":                 {`{"session":"s"`, api.CodeInvalidRequest, "cannot be read"},
		"the same field twice, the last": {`{"session":7,"session":"s"}`, api.CodeInvalidRequest, "session"},
	} {
		var sub api.Submission
		err := Decode(MethodSubmit, json.RawMessage(c.params), &sub)
		if api.CodeOf(err) != c.want || err != nil && (!strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), MethodSubmit)) {
			t.Errorf("%s: %v; want %s with %q", name, err, c.want, c.message)
		}
	}
	var e *api.Error
	if err := Decode(MethodSubmit, json.RawMessage(`{"turbo":1}`), &api.Submission{}); !errors.As(err, &e) || e.Details["field"] != "turbo" {
		t.Errorf("the field is not in the details: %v", err)
	}
}

func TestEveryCodeComesBackAsItself(t *testing.T) {
	t.Parallel()
	numbers := map[int]api.Code{}
	for _, info := range api.Codes() {
		want := api.Errorf(info.Code, "what was wrong").With("field", "x")
		wire := ToError(fmt.Errorf("in something: %w", want))
		got := FromError(wire)
		if got.Code != info.Code || got.Message != want.Message || !cmp.Equal(got.Details, want.Details) {
			t.Errorf("%s came back as %+v", info.Code, got)
		}
		if other, taken := numbers[int(wire.Code)]; taken || wire.Code == 0 || wire.Code == TooLate || wire.Code == Unread {
			t.Errorf("%s has the number %d of %q", info.Code, wire.Code, other)
		}
		numbers[int(wire.Code)] = info.Code
		var data ErrorData
		if err := json.Unmarshal(wire.Data, &data); err != nil || data.Code != info.Code || data.Retryable != want.Retryable() {
			t.Errorf("%s: data %s", info.Code, wire.Data)
		}
		// A peer that gives the number alone is understood, too.
		if got := FromError(&jrpc2.Error{Code: wire.Code, Message: "m"}); got.Code != info.Code {
			t.Errorf("the number %d is %s, and came back as %s", wire.Code, info.Code, got.Code)
		}
	}
}

func TestErrorsThatAreNotOursAreToldByTheirNumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   jrpc2.Error
		want api.Code
	}{
		"no JSON":                     {jrpc2.Error{Code: -32700}, api.CodeInvalidRequest},
		"no request":                  {jrpc2.Error{Code: -32600}, api.CodeInvalidRequest},
		"no method":                   {jrpc2.Error{Code: -32601}, api.CodeInvalidRequest},
		"cancelled by the library":    {jrpc2.Error{Code: jrpc2.Cancelled}, api.CodeCancelled},
		"late by the library":         {jrpc2.Error{Code: jrpc2.DeadlineExceeded}, api.CodeCancelled},
		"a number that nobody knows":  {jrpc2.Error{Code: 17}, api.CodeInternal},
		"no number":                   {jrpc2.Error{}, api.CodeInternal},
		"data of another form":        {jrpc2.Error{Code: 17, Data: json.RawMessage(`["x"]`)}, api.CodeInternal},
		"data that is no JSON":        {jrpc2.Error{Code: 17, Data: json.RawMessage(`{`)}, api.CodeInternal},
		"a code that is newer":        {jrpc2.Error{Code: 17, Data: json.RawMessage(`{"code":"tired"}`)}, "tired"},
		"an error that is none of us": {*ToError(errors.New("boom")), api.CodeInternal},
	} {
		if got := FromError(&c.in); got.Code != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEveryMethodHasANameOfItsOwnAndTypesThatCanBeWritten(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range Methods() {
		if slices.Contains(names, m.Name) || m.Name == "" || m.Name == MethodPart || m.Params == nil {
			t.Errorf("method %q", m.Name)
		}
		names = append(names, m.Name)
		if notification := m.Name == MethodCancelRequest || m.Name == MethodCancelCallback; (m.Result == nil) != notification {
			t.Errorf("%s: its result is %v", m.Name, m.Result)
		}
	}
	if !slices.Contains(Versions(), Version) || Versions()[0] != Version {
		t.Errorf("the versions are %v, and the newest is %d", Versions(), Version)
	}
}
