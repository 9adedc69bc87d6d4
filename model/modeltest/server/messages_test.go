package modeltestserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

const (
	msgHi     = `{"role":"user","content":"hi"}`
	msgAnswer = `{"role":"assistant","content":"x"}`
	msgTool   = `{"name":"f","input_schema":{"type":"object"}}`
	mark      = `,"cache_control":{"type":"ephemeral"}`
)

func msgUse(ids ...string) string {
	var blocks []string
	for _, id := range ids {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"f","input":{}}`, id))
	}
	return assistant(blocks...)
}

func msgResult(id string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"ok"}`, id)
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func textBlock(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

func picture(mediaType, data string) string {
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, mediaType, data)
}

// msg is a body with these messages and one tool; head stands before them.
func msg(messages ...string) string { return msgWith(``, messages...) }

func msgWith(head string, messages ...string) string {
	return `{"model":"m","max_tokens":4096,"stream":true,"tools":[` + msgTool + `],` + head + `"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestMessagesRefusesWhatTheRealAPIRefuses(t *testing.T) {
	t.Parallel()
	thinking := issuedThinking(t, "m", reply{Reasoning: "I think."})
	hidden := issuedThinking(t, "m", reply{Withheld: true})
	without := func(tools string) string { return strings.Replace(msg(msgHi), `"tools":[`+msgTool+`]`, tools, 1) }
	withTool := func(tool string) string { return without(`"tools":[` + tool + `]`) }
	refuses(t, modeltestserver.DecodeMessages, map[string]refusal{
		"an unknown field":                            {msgWith(`"foo":1,`, msgHi), "foo"},
		"a temperature":                               {msgWith(`"temperature":0,`, msgHi), "temperature"},
		"no model":                                    {`{"max_tokens":1,"messages":[` + msgHi + `]}`, "model"},
		"no output limit":                             {`{"model":"m","messages":[` + msgHi + `]}`, "max_tokens"},
		"an output limit of nothing":                  {`{"model":"m","max_tokens":0,"messages":[` + msgHi + `]}`, "below 1"},
		"no messages":                                 {msg(), "at least one"},
		"the assistant first":                         {msg(msgAnswer, msgHi), "speaks first"},
		"an answer that is begun":                     {msg(msgHi, msgAnswer), "nothing is left"},
		"an unknown role":                             {msg(`{"role":"system","content":"x"}`), "unknown role"},
		"an empty text":                               {msg(`{"role":"user","content":""}`), "non-empty"},
		"a text of spaces":                            {msg(`{"role":"user","content":" \n"}`), "non-whitespace"},
		"an answer of spaces":                         {msg(msgHi, `{"role":"assistant","content":" "}`, msgHi), "non-whitespace"},
		"no content":                                  {msg(`{"role":"user","content":[]}`), "non-empty content"},
		"an empty text among others":                  {msg(user(textBlock("a"), textBlock(""))), "content.1"},
		"an empty system":                             {msgWith(`"system":[{"type":"text","text":""}],`, msgHi), "system.0"},
		"a picture in the system":                     {msgWith(`"system":[`+picture("image/png", "aGk=")+`],`, msgHi), "system.0"},
		"an unknown block":                            {msg(user(`{"type":"audio"}`)), `type "audio"`},
		"a picture of an unknown type":                {msg(user(picture("image/bmp", "aGk="))), "image/bmp"},
		"a picture that is not base64":                {msg(user(picture("image/png", "?"))), "base64"},
		"a picture that is empty":                     {msg(user(picture("image/png", ""))), "empty"},
		"a picture with a line break":                 {msg(user(picture("image/png", "aG\nk="))), "line break"},
		"a picture whose last bits are not zero":      {msg(user(picture("image/png", "aGl="))), "base64"},
		"a picture in the URL-safe alphabet":          {msg(user(picture("image/png", "_-8="))), "base64"},
		"a picture by address":                        {msg(user(`{"type":"image","source":{"type":"url","url":"http://127.0.0.1/x.png"}}`)), "url"},
		"a document that is text":                     {msg(user(`{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"aGk="}}`)), "text/plain"},
		"a document of the assistant":                 {msg(msgHi, assistant(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGk="}}`), msgHi), `role "assistant"`},
		"C01 a call without a result":                 {msg(msgHi, msgUse("c1")), "no tool output"},
		"C03 a hole in the middle":                    {msg(msgHi, msgUse("c1"), msgHi), "must stand"},
		"C06 a result without a call":                 {msg(user(msgResult("c1"))), "no tool call found"},
		"C07 a result twice":                          {msg(msgHi, msgUse("c1"), user(msgResult("c1"), msgResult("c1"))), "no tool call found"},
		"one of two results":                          {msg(msgHi, msgUse("c1", "c2"), user(msgResult("c1"))), "before call c2"},
		"a result after text":                         {msg(msgHi, msgUse("c1"), user(textBlock("wait"), msgResult("c1"))), "after other content"},
		"a result in the assistant's message":         {msg(msgHi, assistant(msgResult("c1")), msgHi), `type "tool_result"`},
		"C05 a call ID twice":                         {msg(msgHi, msgUse("c1"), user(msgResult("c1")), msgUse("c1"), user(msgResult("c1"))), "was there before"},
		"C05 a call ID twice in one answer":           {msg(msgHi, msgUse("c1", "c1"), user(msgResult("c1"), msgResult("c1"))), "was there before"},
		"a call ID with a dot":                        {msg(msgHi, msgUse("c.1"), user(msgResult("c.1"))), "does not match"},
		"a call by the user":                          {msg(user(`{"type":"tool_use","id":"c1","name":"f","input":{}}`)), `role "user"`},
		"C40 an input that is no object":              {msg(msgHi, assistant(`{"type":"tool_use","id":"c1","name":"f","input":"{"}`), user(msgResult("c1"))), "not a JSON object"},
		"a call without an input":                     {msg(msgHi, assistant(`{"type":"tool_use","id":"c1","name":"f"}`), user(msgResult("c1"))), "not a JSON object"},
		"a failure that says nothing":                 {msg(msgHi, msgUse("c1"), user(`{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":""}`)), "is_error"},
		"a result with an empty block":                {msg(msgHi, msgUse("c1"), user(`{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":""}]}`)), "non-empty"},
		"a result that thinks":                        {msg(msgHi, msgUse("c1"), user(`{"type":"tool_result","tool_use_id":"c1","content":[`+thinking+`]}`)), "in a tool_result"},
		"calls without tools":                         {strings.Replace(msg(msgHi, msgUse("c1"), user(msgResult("c1"))), `"tools":[`+msgTool+`],`, "", 1), "must define tools"},
		"a tool twice":                                {withTool(msgTool + "," + msgTool), "unique"},
		"a tool with a dot in its name":               {withTool(strings.Replace(msgTool, `"f"`, `"f.g"`, 1)), "does not match"},
		"a tool with a name of 65":                    {withTool(strings.Replace(msgTool, `"f"`, `"`+strings.Repeat("f", 65)+`"`, 1)), "does not match"},
		"a tool without a schema":                     {withTool(`{"name":"f"}`), "schema"},
		"a tool whose schema is no object's":          {withTool(`{"name":"f","input_schema":{}}`), "object"},
		"a tool with a choice at the top":             {withTool(`{"name":"f","input_schema":{"type":"object","oneOf":[]}}`), "oneOf"},
		"a tool of the server":                        {withTool(`{"type":"web_search_20250305","name":"web_search"}`), "unknown type"},
		"a tool choice without tools":                 {without(`"tool_choice":{"type":"auto"}`), "while providing tools"},
		"an unknown tool choice":                      {msgWith(`"tool_choice":{"type":"required"},`, msgHi), "unknown type"},
		"a choice of no tool":                         {msgWith(`"tool_choice":{"type":"tool","name":"g"},`, msgHi), "no tool"},
		"a choice of none that is not parallel":       {msgWith(`"tool_choice":{"type":"none","disable_parallel_tool_use":true},`, msgHi), "disable_parallel_tool_use"},
		"thinking with too small a budget":            {msgWith(`"thinking":{"type":"enabled","budget_tokens":1023},`, msgHi), "1024"},
		"thinking without a budget":                   {msgWith(`"thinking":{"type":"enabled"},`, msgHi), "required"},
		"thinking that leaves nothing to say":         {msgWith(`"thinking":{"type":"enabled","budget_tokens":4096},`, msgHi), "max_tokens must be greater"},
		"adaptive thinking with a budget":             {msgWith(`"thinking":{"type":"adaptive","budget_tokens":2000},`, msgHi), "another type"},
		"thinking in a forced call":                   {msgWith(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},`, msgHi), "forces tool use"},
		"thinking bound in an unknown way":            {msgWith(`"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"keep"}},`, msgHi), "prefix_mismatch_behavior"},
		"thinking shown in an unknown way":            {msgWith(`"thinking":{"type":"adaptive","display":"full"},`, msgHi), "display"},
		"a budget, but the call was not thought over": {msgWith(`"thinking":{"type":"enabled","budget_tokens":1024},`, msgHi, msgUse("c1"), user(msgResult("c1"))), "must start with a thinking block"},
		"an unknown effort":                           {msgWith(`"output_config":{"effort":"huge"},`, msgHi), "effort"},
		"C08 thinking that is changed":                {msg(msgHi, assistant(strings.Replace(thinking, "I think.", "I thought.", 1), textBlock("x")), msgHi), "invalid `signature`"},
		"C08 thinking without a signature":            {msg(msgHi, assistant(`{"type":"thinking","thinking":"I think."}`, textBlock("x")), msgHi), "invalid `signature`"},
		"C08 thinking of another provider":            {msg(msgHi, assistant(`{"type":"thinking","thinking":"I think.","signature":"cnNf"}`, textBlock("x")), msgHi), "not issued here"},
		"C08 thinking of another model":               {msg(msgHi, assistant(issuedThinking(t, "n", reply{Reasoning: "I think."}), textBlock("x")), msgHi), `"n"`},
		"C08 redacted thinking that is changed":       {msg(msgHi, assistant(strings.Replace(hidden, `"data":"`, `"data":"AAAA`, 1), textBlock("x")), msgHi), "invalid `signature`"},
		"a signature in the place of redacted data":   {msg(msgHi, assistant(strings.NewReplacer(`"type":"thinking"`, `"type":"redacted_thinking"`, `"signature"`, `"data"`, `"thinking":"I think.",`, ``, `,"thinking":"I think."`, ``).Replace(thinking), textBlock("x")), msgHi), "invalid `signature`"},
		"thinking after text":                         {msg(msgHi, assistant(textBlock("x"), thinking, textBlock("y")), msgHi), "after other content"},
		"thinking at the end":                         {msg(msgHi, assistant(thinking), msgHi), "final block"},
		"thinking of the user":                        {msg(user(thinking)), `role "user"`},
		"a cache mark on thinking":                    {msg(msgHi, assistant(strings.Replace(thinking, `"type"`, mark[1:]+`,"type"`, 1), textBlock("x")), msgHi), "cache_control"},
		"a cache mark on an empty text":               {msg(user(`{"type":"text","text":""` + mark + `}`)), "non-empty"},
		"a cache mark of an unknown kind":             {msg(user(`{"type":"text","text":"x","cache_control":{"type":"forever"}}`)), "forever"},
		"five cache marks": {
			msg(user(strings.Repeat(`{"type":"text","text":"x"`+mark+`},`, 4) + `{"type":"text","text":"x"` + mark + `}`)), "maximum of 4",
		},
		"an hour's cache mark after one of five minutes": {
			msgWith(`"system":[{"type":"text","text":"s"`+mark+`}],`, user(`{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}`)), "must not come after",
		},
		"a field of another block":    {msg(user(`{"type":"text","text":"x","title":"y"}`)), "field of another type"},
		"something after the request": {msg(msgHi) + "{}", "follows"},
	})
}

func TestMessagesTakesAWholeConversation(t *testing.T) {
	t.Parallel()
	thinking := issuedThinking(t, "m", reply{Reasoning: "I think."})
	hidden := issuedThinking(t, "m", reply{Withheld: true})
	req, err := modeltestserver.DecodeMessages([]byte(msgWith(
		`"system":[{"type":"text","text":"s"`+mark+`}],"thinking":{"type":"enabled","budget_tokens":1024},"tool_choice":{"type":"auto"},`,
		user(textBlock("see")), user(picture("image/png", "aGk="), `{"type":"document","title":"r.pdf","source":{"type":"base64","media_type":"application/pdf","data":"aG8="}}`),
		assistant(thinking, hidden, textBlock("I look."), `{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}`, `{"type":"tool_use","id":"c2","name":"f","input":{}}`),
		user(msgResult("c1"), `{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"no"}]}`, `{"type":"text","text":"and?"`+mark+`}`),
		msgAnswer, msgHi,
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
			Role: "assistant", Content: "I look.", Reasoning: []modeltestserver.Reasoning{{Text: "I think."}, {}},
			Calls: []modeltestserver.Call{{ID: "c1", Name: "f", Arguments: `{"a":1}`}, {ID: "c2", Name: "f", Arguments: "{}"}},
		},
		{Role: "tool", Content: "ok", ToolCallID: "c1"},
		{Role: "tool", Content: "no", ToolCallID: "c2", Failed: true},
		{Role: "user", Content: "and?"},
		{Role: "assistant", Content: "x"},
		{Role: "user", Content: "hi"},
	}
	if diff := cmp.Diff(want, req.Messages, withoutPrivate); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if req.CacheMarks != 2 || req.MaxTokens != 4096 || req.ToolChoice != "auto" || req.LastRole != "user" || req.Tools[0] != "f" {
		t.Errorf("got %+v", req)
	}
}

func TestMessagesGoesOnWithACallThatAnotherModelMade(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"without thinking": ``, "adaptive": `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}},`} {
		if _, err := modeltestserver.DecodeMessages([]byte(msgWith(head, msgHi, msgUse("c1"), user(msgResult("c1"))))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
