package modeltestserver_test

import (
	"slices"
	"testing"

	"github.com/openworkerai/openworker/model/modeltest/server"
)

// FuzzDecode looks for bodies that bring a decoder down, and for accepted ones that break what all protocols promise.
func FuzzDecode(f *testing.F) {
	decoders := []func([]byte) (modeltestserver.Request, error){
		modeltestserver.DecodeChat, modeltestserver.DecodeResponses, modeltestserver.DecodeMessages, decodeGemini("gemini-2.5-pro"),
	}
	for i, protocol := range modeltestserver.Protocols() {
		f.Add(uint8(i), []byte(ask[protocol]))
		f.Add(uint8(i), []byte(told[protocol]))
	}
	f.Add(uint8(0), []byte(`{"model":"m","messages":[null,{"role":"user","content":[null]}],"tools":[null]}`))
	f.Add(uint8(1), []byte(`{"model":"m","input":[null,{"type":"reasoning","summary":[null],"encrypted_content":""}],"tools":[null],"tool_choice":null}`))
	f.Add(uint8(2), []byte(`{"model":"m","max_tokens":1,"system":[null],"messages":[null,{"role":"user","content":[null]}],"tools":[null],"thinking":{}}`))
	f.Add(uint8(3), []byte(`{"contents":[null,{"role":"user","parts":[null]}],"tools":[null],"toolConfig":{"functionCallingConfig":{}},"generationConfig":{"thinkingConfig":{}}}`))
	f.Fuzz(func(t *testing.T, i uint8, body []byte) {
		req, err := decoders[int(i)%len(decoders)](body)
		if err != nil {
			return
		}
		if last := req.Messages[len(req.Messages)-1].Role; last != req.LastRole || last != "user" && last != "tool" {
			t.Errorf("the last role is %q, %q is told", last, req.LastRole)
		}
		var due []string
		for _, m := range req.Messages {
			if m.Role == "tool" {
				if len(due) == 0 || due[0] != m.ToolCallID {
					t.Fatalf("the result of %q where %q are due", m.ToolCallID, due)
				}
				due = due[1:]
				continue
			}
			if len(due) > 0 || slices.Contains([]string{"user", "system"}, m.Role) && len(m.Calls) > 0 {
				t.Fatalf("a message of role %q where %q are due, with %d calls", m.Role, due, len(m.Calls))
			}
			for _, call := range m.Calls {
				due = append(due, call.ID)
			}
		}
		if len(due) > 0 {
			t.Errorf("%q have no result", due)
		}
	})
}
