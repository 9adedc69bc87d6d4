package stdio

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/transport/rpc"
)

// What is read says what the client said: nothing that it did not say becomes an output, a verdict or a secret.
func TestAnAnswerIsTakenInItsOwnFormAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		into  json.Unmarshaler
		given string
		want  any // what is read, nil if it is refused
	}{
		"an output":                         {&reply[rpc.ToolOutput]{}, `{"output":"done"}`, rpc.ToolOutput{Output: "done"}},
		"an output that is empty":           {&reply[rpc.ToolOutput]{}, `{"output":""}`, rpc.ToolOutput{}},
		"an output that is missing":         {&reply[rpc.ToolOutput]{}, `{}`, nil},
		"an output that is null":            {&reply[rpc.ToolOutput]{}, `{"output":null}`, nil},
		"an output that is a number":        {&reply[rpc.ToolOutput]{}, `{"output":6060}`, nil},
		"an output that is an object":       {&reply[rpc.ToolOutput]{}, `{"output":{"text":"6060"}}`, nil},
		"an output of other letters":        {&reply[rpc.ToolOutput]{}, `{"Output":"6060"}`, nil},
		"an output with something beside":   {&reply[rpc.ToolOutput]{}, `{"output":"done","6060":true}`, nil},
		"null":                              {&reply[rpc.ToolOutput]{}, `null`, nil},
		"a string":                          {&reply[rpc.ToolOutput]{}, `"6060"`, nil},
		"a number":                          {&reply[rpc.ToolOutput]{}, `6060`, nil},
		"an array":                          {&reply[rpc.ToolOutput]{}, `["6060"]`, nil},
		"no veto":                           {&reply[rpc.Veto]{}, `{}`, rpc.Veto{}},
		"no veto, said":                     {&reply[rpc.Veto]{}, `{"veto":false}`, rpc.Veto{}},
		"a veto":                            {&reply[rpc.Veto]{}, `{"veto":true,"reason":"no"}`, rpc.Veto{Veto: true, Reason: "no"}},
		"a veto that is null":               {&reply[rpc.Veto]{}, `null`, nil},
		"a veto whose field is null":        {&reply[rpc.Veto]{}, `{"veto":null}`, nil},
		"a veto that is a word":             {&reply[rpc.Veto]{}, `{"veto":"6060"}`, nil},
		"a veto of other letters":           {&reply[rpc.Veto]{}, `{"Veto":true}`, nil},
		"a veto by another name":            {&reply[rpc.Veto]{}, `{"vetoed":true}`, nil},
		"a veto that is a list":             {&reply[rpc.Veto]{}, `[]`, nil},
		"a verdict":                         {&reply[rpc.Verdict]{}, `{"action":"redact","text":"x","reason":"y"}`, rpc.Verdict{Action: "redact", Text: "x", Reason: "y"}},
		"a verdict that is missing":         {&reply[rpc.Verdict]{}, `{}`, nil},
		"a verdict with another's field":    {&reply[rpc.Verdict]{}, `{"action":"allow","blocked":true}`, nil},
		"a verdict that is said twice":      {&reply[rpc.Verdict]{}, `{"action":"allow","Action":"block"}`, nil},
		"a secret":                          {&reply[rpc.Credential]{}, `{"secret":"key"}`, rpc.Credential{Secret: "key"}},
		"no secret":                         {&reply[rpc.Credential]{}, `{"secret":""}`, rpc.Credential{}},
		"a secret that is missing":          {&reply[rpc.Credential]{}, `{}`, nil},
		"a secret that is a number":         {&reply[rpc.Credential]{}, `{"secret":6060}`, nil},
		"an inspection":                     {&reply[rpc.Inspection]{}, `{"outcome":"running"}`, rpc.Inspection{Outcome: "running"}},
		"an inspection that says no more":   {&reply[rpc.Inspection]{}, `{"output":"6060"}`, nil},
		"an inspection whose output is one": {&reply[rpc.Inspection]{}, `{"outcome":"failed","output":false}`, nil},
	} {
		err := json.Unmarshal([]byte(c.given), c.into)
		if c.want == nil {
			if err == nil || strings.Contains(err.Error(), "6060") {
				t.Errorf("%s: %v; it is to be refused, without its words", name, err)
			}
			continue
		}
		var read any
		switch r := c.into.(type) {
		case *reply[rpc.ToolOutput]:
			read = r.value
		case *reply[rpc.Veto]:
			read = r.value
		case *reply[rpc.Verdict]:
			read = r.value
		case *reply[rpc.Credential]:
			read = r.value
		case *reply[rpc.Inspection]:
			read = r.value
		}
		if diff := cmp.Diff(c.want, read); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
