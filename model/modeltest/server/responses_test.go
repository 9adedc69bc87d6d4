package modeltestserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

const (
	respHi     = `{"role":"user","content":"hi"}`
	respAnswer = `{"role":"assistant","content":"x"}`
	respTool   = `{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}`
)

func respCall(id string) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, id)
}

func respOutput(id string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"ok"}`, id)
}

// resp is a body with these items; head stands before them.
func resp(items ...string) string {
	return respWith("", items...)
}

func respWith(head string, items ...string) string {
	return `{"model":"m","stream":true,"store":false,` + head + `"input":[` + strings.Join(items, ",") + `]}`
}

func TestResponsesRefusesWhatTheRealAPIRefuses(t *testing.T) {
	t.Parallel()
	schema := func(parameters string) string {
		return respWith(`"tools":[{"type":"function","name":"f","strict":true,"parameters":`+parameters+`}],`, respHi)
	}
	foreign := issuedReasoning(t, "other-model")
	reasoning := issuedReasoning(t, "m")
	refuses(t, modeltestserver.DecodeResponses, map[string]refusal{
		"an unknown field":                        {respWith(`"foo":1,`, respHi), "foo"},
		"a previous response":                     {respWith(`"previous_response_id":"resp_1",`, respHi), "previous_response_id"},
		"no model":                                {`{"input":"hi"}`, "no model"},
		"no input":                                {`{"model":"m"}`, "no input"},
		"an empty input":                          {resp(), "no messages"},
		"an empty text":                           {`{"model":"m","input":""}`, "empty"},
		"store that is no bool":                   {strings.Replace(resp(respHi), `"store":false`, `"store":"no"`, 1), "store"},
		"too low a limit":                         {respWith(`"max_output_tokens":15,`, respHi), "minimum is 16"},
		"an unknown thing to include":             {respWith(`"include":["reasoning"],`, respHi), "unknown include"},
		"a cache key of 65":                       {respWith(`"prompt_cache_key":"`+strings.Repeat("k", 65)+`",`, respHi), "maximum is 64"},
		"an unknown effort":                       {respWith(`"reasoning":{"effort":"huge"},`, respHi), "effort"},
		"stream options without a stream":         {`{"model":"m","input":"hi","stream_options":{"include_obfuscation":false}}`, "without stream"},
		"a tool choice without tools":             {respWith(`"tool_choice":"none",`, respHi), "tool_choice without tools"},
		"an unknown tool choice":                  {respWith(`"tools":[`+respTool+`],"tool_choice":"any",`, respHi), "tool_choice"},
		"a choice of a tool that is not there":    {respWith(`"tools":[`+respTool+`],"tool_choice":{"type":"function","name":"g"},`, respHi), "names no function"},
		"a tool twice":                            {respWith(`"tools":[`+respTool+`,`+respTool+`],`, respHi), "twice"},
		"a tool as Chat has it":                   {respWith(`"tools":[{"type":"function","function":{"name":"f"}}],`, respHi), "function"},
		"a schema that is no object's":            {schema(`{"type":"string"}`), `type "object"`},
		"a schema without properties":             {schema(`{"type":"object"}`), "missing properties"},
		"a choice at the top of a schema":         {schema(`{"type":"object","properties":{},"anyOf":[]}`), "anyOf"},
		"a strict schema that is open":            {schema(`{"type":"object","properties":{}}`), "additionalProperties"},
		"a strict schema with an optional value":  {schema(`{"type":"object","properties":{"a":{}},"additionalProperties":false}`), "'required'"},
		"a strict schema that is open deep down":  {schema(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`), "additionalProperties"},
		"an unknown role":                         {resp(`{"role":"tool","content":"x"}`), "unknown role"},
		"an unknown item":                         {resp(respHi, `{"type":"item_reference","id":"msg_1"}`), "item type"},
		"the assistant first":                     {resp(respAnswer, respHi), "speaks first"},
		"the assistant last":                      {resp(respHi, respAnswer), "nothing is left"},
		"a user's content of a wrong type":        {resp(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "invalid value"},
		"an assistant's content of a wrong type":  {resp(respHi, `{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`, respHi), "invalid value"},
		"a picture that is a file on the web":     {resp(`{"role":"user","content":[{"type":"input_image","image_url":"http://127.0.0.1/x.png"}]}`), "data URL"},
		"a picture of the assistant":              {resp(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}`, `{"role":"user","content":"hi"}`), "invalid value"},
		"a data URL without base64":               {resp(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png,aGk="}]}`), "data URL"},
		"a document of another type":              {resp(`{"role":"user","content":[{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,aGk="}]}`), "text/plain"},
		"a document without a name":               {resp(`{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,aGk="}]}`), "filename"},
		"a document that is not base64":           {resp(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,?"}]}`), "base64"},
		"C01 a call without an output":            {resp(respHi, respCall("c1")), "no tool output"},
		"C03 a hole in the middle":                {resp(respHi, respCall("c1"), respHi), "must stand"},
		"C06 an output without a call":            {resp(respHi, respOutput("c1")), "no tool call found"},
		"C07 an output twice":                     {resp(respHi, respCall("c1"), respOutput("c1"), respOutput("c1")), "no tool call found"},
		"C07 outputs that are not in order":       {resp(respHi, respCall("c1"), respCall("c2"), respOutput("c2"), respOutput("c1")), "no tool call found"},
		"C05 a call ID twice":                     {resp(respHi, respCall("c1"), respOutput("c1"), respCall("c1"), respOutput("c1")), "was there before"},
		"a call ID of 65":                         {resp(respHi, respCall(strings.Repeat("c", 65)), respOutput("c1")), "longer than 64"},
		"C40 arguments that are cut":              {resp(respHi, strings.Replace(respCall("c1"), `"{}"`, `"{"`, 1), respOutput("c1")), "not a JSON object"},
		"an item ID of another kind":              {resp(respHi, `{"type":"function_call","id":"call_1","call_id":"c1","name":"f","arguments":"{}"}`, respOutput("c1")), `begins with "fc_"`},
		"an item ID twice":                        {resp(respHi, `{"role":"assistant","id":"msg_1","content":"x"}`, respHi, `{"role":"assistant","id":"msg_1","content":"x"}`, respHi), "duplicate"},
		"a field of another item":                 {resp(respHi, `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}","output":"x"}`, respOutput("c1")), "unknown parameter"},
		"reasoning that leads to nothing":         {resp(respHi, reasoning, respHi), "required following item"},
		"reasoning at the end":                    {resp(respHi, reasoning), "required following item"},
		"reasoning that could only be looked up":  {resp(respHi, `{"type":"reasoning","id":"rs_1","summary":[]}`, respAnswer, respHi), "not found"},
		"reasoning without a summary":             {resp(respHi, `{"type":"reasoning","id":"rs_1","encrypted_content":"x"}`, respAnswer, respHi), "summary"},
		"C08 reasoning that is changed":           {resp(respHi, strings.Replace(reasoning, `"encrypted_content":"`, `"encrypted_content":"AAAA`, 1), respAnswer, respHi), "could not be verified"},
		"C08 reasoning under another ID":          {resp(respHi, strings.Replace(reasoning, `"id":"rs_`, `"id":"rs_2`, 1), respAnswer, respHi), "belongs to item"},
		"C08 reasoning of another model":          {resp(respHi, foreign, respAnswer, respHi), "other-model"},
		"C08 reasoning of another provider":       {resp(respHi, `{"type":"reasoning","summary":[],"encrypted_content":"c2lnbmF0dXJl"}`, respAnswer, respHi), "not issued here"},
		"reasoning whose ID is of another kind":   {resp(respHi, strings.Replace(reasoning, `"id":"rs_`, `"id":"`, 1), respAnswer, respHi), `begins with "rs_"`},
		"an answer of reasoning and empty text":   {resp(respHi, reasoning, `{"role":"assistant","content":""}`, respHi), "empty"},
		"a message whose content is no text":      {resp(`{"role":"user","content":7}`), "cannot unmarshal"},
		"an output that is missing":               {resp(respHi, respCall("c1"), `{"type":"function_call_output","call_id":"c1"}`), "no content or output"},
		"a status that is unknown":                {resp(respHi, strings.Replace(respCall("c1"), "{", `{"status":"done",`, 1), respOutput("c1")), "unknown status"},
		"an instruction in mid-conversation":      {resp(respHi, `{"role":"developer","content":"x"}`, respHi), "not at the start"},
		"a summary of another kind":               {resp(respHi, strings.Replace(reasoning, "summary_text", "text", 1), respAnswer, respHi), "summary part"},
		"a truncation that is unknown":            {respWith(`"truncation":"middle",`, respHi), "truncation"},
		"calls where arguments are missing":       {resp(respHi, `{"type":"function_call","call_id":"c1","name":"f"}`, respOutput("c1")), "arguments is missing"},
		"an unknown detail of a picture":          {resp(`{"role":"user","content":[{"type":"input_image","detail":"8k","image_url":"data:image/png;base64,aGk="}]}`), "detail"},
		"a picture that is a document":            {resp(`{"role":"user","content":[{"type":"input_image","image_url":"data:application/pdf;base64,aGk="}]}`), "media type"},
		"something after the request":             {resp(respHi) + "{}", "follows"},
		"a name of a tool that no model may call": {resp(respHi, strings.Replace(respCall("c1"), `"f"`, `"f.g"`, 1), respOutput("c1")), "bad name"},
	})
}

func TestResponsesTakesAWholeConversation(t *testing.T) {
	t.Parallel()
	reasoning, reasoning2 := issuedReasoning(t, "m"), issuedReasoning(t, "m")
	req, err := modeltestserver.DecodeResponses([]byte(respWith(
		`"instructions":"s","include":["reasoning.encrypted_content"],"max_output_tokens":16,"prompt_cache_key":"k","tools":[`+respTool+`],"tool_choice":"none",`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aGk="},`+
			`{"type":"input_file","filename":"r.pdf","file_data":"data:application/pdf;base64,aG8="}]}`,
		reasoning,
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]}`,
		respCall("c1"), respCall("c2"), respOutput("c1"), respOutput("c2"), respAnswer, respHi,
		reasoning2, respCall("c3"), `{"role":"assistant","content":"There."}`, respOutput("c3"),
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := []modeltestserver.Message{
		{Role: "system", Content: "s"},
		{Role: "user", Content: "see", Parts: []modeltestserver.Part{
			{MediaType: "image/png", Data: []byte("hi")}, {MediaType: "application/pdf", Name: "r.pdf", Data: []byte("ho")},
		}},
		{
			Role: "assistant", Content: "I look.", Reasoning: []modeltestserver.Reasoning{{Text: "I think."}},
			Calls: []modeltestserver.Call{{ID: "c1", Name: "f", Arguments: "{}"}, {ID: "c2", Name: "f", Arguments: "{}"}},
		},
		{Role: "tool", Content: "ok", ToolCallID: "c1"},
		{Role: "tool", Content: "ok", ToolCallID: "c2"},
		{Role: "assistant", Content: "x"},
		{Role: "user", Content: "hi"},
		{
			Role: "assistant", Content: "There.", Reasoning: []modeltestserver.Reasoning{{Text: "I think."}},
			Calls: []modeltestserver.Call{{ID: "c3", Name: "f", Arguments: "{}"}},
		},
		{Role: "tool", Content: "ok", ToolCallID: "c3"},
	}
	if diff := cmp.Diff(want, req.Messages, withoutPrivate); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if req.CacheKey != "k" || req.MaxTokens != 16 || req.ToolChoice != "none" || req.LastRole != "tool" || req.Tools[0] != "f" {
		t.Errorf("got %+v", req)
	}
}
