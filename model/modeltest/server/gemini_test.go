package modeltestserver_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

const gemHi = `{"role":"user","parts":[{"text":"hi"}]}`

func gemModel(parts ...string) string {
	return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
}

func gemUser(parts ...string) string {
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

func gemCall(name string) string {
	return fmt.Sprintf(`{"functionCall":{"name":%q,"args":{}}}`, name)
}

func gemResult(name string) string {
	return fmt.Sprintf(`{"functionResponse":{"name":%q,"response":{"output":"ok"}}}`, name)
}

func gemSigned(part, signature string) string {
	return strings.Replace(part, "{", `{"thoughtSignature":"`+signature+`",`, 1)
}

func gem(contents ...string) string { return gemWith("", contents...) }

func gemWith(head string, contents ...string) string {
	return `{` + head + `"contents":[` + strings.Join(contents, ",") + `]}`
}

func decodeGemini(model string) func([]byte) (modeltestserver.Request, error) {
	return func(body []byte) (modeltestserver.Request, error) { return modeltestserver.DecodeGemini(model, body) }
}

func TestGeminiRefusesWhatTheRealAPIRefuses(t *testing.T) {
	t.Parallel()
	tool := func(f string) string { return gemWith(`"tools":[{"functionDeclarations":[`+f+`]}],`, gemHi) }
	mode := func(config string) string {
		return gemWith(`"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":`+config+`},`, gemHi)
	}
	config := func(c string) string { return gemWith(`"generationConfig":`+c+`,`, gemHi) }
	refuses(t, decodeGemini("gemini-2.5-pro"), map[string]refusal{
		"an unknown field":                     {gemWith(`"foo":1,`, gemHi), "foo"},
		"a model in the body":                  {gemWith(`"model":"m",`, gemHi), "model"},
		"no contents":                          {gem(), "no messages"},
		"a content without parts":              {gem(`{"role":"user","parts":[]}`), "must not be empty"},
		"a part that holds nothing":            {gem(gemUser(`{}`)), "oneof"},
		"a part of a signature alone":          {gem(gemHi, gemModel(`{"text":"x"}`, `{"thoughtSignature":"`+issuedSignature(t, "gemini-2.5-pro")+`"}`), gemHi), "oneof"},
		"a part that holds two things":         {gem(gemUser(`{"text":"x","inlineData":{"mimeType":"image/png","data":"aGk="}}`)), "oneof"},
		"an empty text":                        {gem(gemUser(`{"text":""}`)), "empty"},
		"an empty system":                      {gemWith(`"systemInstruction":{"parts":[{"text":""}]},`, gemHi), "systemInstruction"},
		"an unknown role":                      {gem(`{"role":"assistant","parts":[{"text":"x"}]}`), "valid role"},
		"no role":                              {gem(`{"parts":[{"text":"x"}]}`), "valid role"},
		"the model first":                      {gem(gemModel(`{"text":"x"}`), gemHi), "speaks first"},
		"the model last":                       {gem(gemHi, gemModel(`{"text":"x"}`)), "nothing is left"},
		"the user twice":                       {gem(gemHi, gemHi), "alternate"},
		"the model twice":                      {gem(gemHi, gemModel(`{"text":"x"}`), gemModel(gemCall("f")), gemUser(gemResult("f"))), "alternate"},
		"a picture of an unknown type":         {gem(gemUser(`{"inlineData":{"mimeType":"image/bmp","data":"aGk="}}`)), "image/bmp"},
		"a picture that is a GIF":              {gem(gemUser(`{"inlineData":{"mimeType":"image/gif","data":"aGk="}}`)), "image/gif"},
		"a picture with a name":                {gem(gemUser(`{"inlineData":{"mimeType":"image/png","displayName":"a.png","data":"aGk="}}`)), "displayName"},
		"a picture of the model":               {gem(gemHi, gemModel(`{"inlineData":{"mimeType":"image/png","data":"aGk="}}`), gemHi), "neither text nor"},
		"a picture that is not base64":         {gem(gemUser(`{"inlineData":{"mimeType":"image/png","data":"?"}}`)), "base64"},
		"C01 a call without a response":        {gem(gemHi, gemModel(gemCall("f"))), "before call"},
		"C03 a hole in the middle":             {gem(gemHi, gemModel(gemCall("f")), gemHi), "must stand"},
		"C06 a response without a call":        {gem(gemUser(gemResult("f"))), "immediately after a function call"},
		"C07 a response twice":                 {gem(gemHi, gemModel(gemCall("f")), gemUser(gemResult("f"), gemResult("f"))), "immediately after a function call"},
		"one of two responses":                 {gem(gemHi, gemModel(gemCall("f"), gemCall("g")), gemUser(gemResult("f"))), "number of function response parts"},
		"the responses in two contents":        {gem(gemHi, gemModel(gemCall("f"), gemCall("g")), gemUser(gemResult("f")), gemUser(gemResult("g"))), "number of function response parts"},
		"responses that are not in order":      {gem(gemHi, gemModel(gemCall("f"), gemCall("g")), gemUser(gemResult("g"), gemResult("f"))), `of "g", the call was of "f"`},
		"C05 a call ID twice":                  {gem(gemHi, gemModel(`{"functionCall":{"id":"1","name":"f"}}`, `{"functionCall":{"id":"1","name":"f"}}`), gemUser(gemResult("f"), gemResult("f"))), "was there before"},
		"a response with another ID":           {gem(gemHi, gemModel(`{"functionCall":{"id":"1","name":"f"}}`), gemUser(`{"functionResponse":{"id":"2","name":"f","response":{}}}`)), `the id "2"`},
		"a response that is no object":         {gem(gemHi, gemModel(gemCall("f")), gemUser(`{"functionResponse":{"name":"f","response":"ok"}}`)), "not a JSON object"},
		"C40 arguments that are no object":     {gem(gemHi, gemModel(`{"functionCall":{"name":"f","args":"{"}}`), gemUser(gemResult("f"))), "not a JSON object"},
		"arguments with a key twice":           {gem(gemHi, gemModel(`{"functionCall":{"name":"f","args":{"a":[{"b":1,"\u0062":2}]}}}`), gemUser(gemResult("f"))), `repeated map key: "b"`},
		"arguments with a number too large":    {gem(gemHi, gemModel(`{"functionCall":{"name":"f","args":{"a":1e999}}}`), gemUser(gemResult("f"))), "1e999"},
		"a response with a key twice":          {gem(gemHi, gemModel(gemCall("f")), gemUser(`{"functionResponse":{"name":"f","response":{"output":"a","output":"b"}}}`)), `repeated map key: "output"`},
		"a call by the user":                   {gem(gemUser(gemCall("f"))), "only a model's"},
		"a tool without functions":             {gemWith(`"tools":[{}],`, gemHi), "without functionDeclarations"},
		"a function that begins with a digit":  {tool(`{"name":"1f"}`), "must start with a letter"},
		"a function twice":                     {tool(`{"name":"f"},{"name":"f"}`), "duplicate"},
		"a function with two schemas":          {tool(`{"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{}}`), "parametersJsonSchema"},
		"JSON Schema in the other dialect":     {tool(`{"name":"f","parameters":{"type":"OBJECT","additionalProperties":false}}`), "additionalProperties"},
		"a schema that is no object's":         {tool(`{"name":"f","parameters":{"type":"STRING"}}`), "not of OBJECT"},
		"a JSON schema that is no object":      {tool(`{"name":"f","parametersJsonSchema":[]}`), "not a JSON object"},
		"an unknown calling mode":              {mode(`{"mode":"REQUIRED"}`), "unknown function calling mode"},
		"allowed names that are not asked for": {mode(`{"mode":"AUTO","allowedFunctionNames":["f"]}`), "mode is ANY"},
		"an allowed name that is not declared": {mode(`{"mode":"ANY","allowedFunctionNames":["g"]}`), "not declared"},
		"a calling mode without functions":     {gemWith(`"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},`, gemHi), "without function_declarations"},
		"an output limit of nothing":           {config(`{"maxOutputTokens":0}`), "positive"},
		"two candidates":                       {config(`{"candidateCount":2}`), "one candidate"},
		"a level and a budget of thinking":     {config(`{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}}`), "one of thinking budget"},
		"an unknown level of thinking":         {config(`{"thinkingConfig":{"thinkingLevel":"HUGE"}}`), "thinking_level"},
		"a thought without a signature":        {gem(gemHi, gemModel(`{"text":"I think.","thought":true}`, `{"text":"x"}`), gemHi), "no signature"},
		"a signature that is not base64":       {gem(gemHi, gemModel(gemSigned(`{"text":"x"}`, "?")), gemHi), "base64"},
		"C08 a signature that is changed":      {gem(gemHi, gemModel(gemSigned(`{"text":"x"}`, "AAAA"+issuedSignature(t, "gemini-2.5-pro"))), gemHi), "corrupted"},
		"C08 a signature of another model":     {gem(gemHi, gemModel(gemSigned(`{"text":"x"}`, issuedSignature(t, "gemini-3-pro"))), gemHi), "gemini-3-pro"},
		"the skip word on a text":              {gem(gemHi, gemModel(gemSigned(`{"text":"x"}`, "skip_thought_signature_validator")), gemHi), "corrupted"},
		"something after the request":          {gem(gemHi) + "{}", "follows"},
	})
	refuses(t, decodeGemini("gemini-3-pro"), map[string]refusal{
		"a call of the current turn that is not signed":      {gem(gemHi, gemModel(gemCall("f")), gemUser(gemResult("f"))), "missing a thought_signature"},
		"a second step that is not signed":                   {gem(gemHi, gemModel(gemSigned(gemCall("f"), issuedSignature(t, "gemini-3-pro"))), gemUser(gemResult("f")), gemModel(gemCall("f")), gemUser(gemResult("f"))), "contents[3]"},
		"C08 a call that is signed by another of the models": {gem(gemHi, gemModel(gemSigned(gemCall("f"), issuedSignature(t, "gemini-3-flash"))), gemUser(gemResult("f"))), "corrupted"},
	})
	refuses(t, decodeGemini(""), map[string]refusal{"no model": {gem(gemHi), "no model"}})
}

func TestGeminiTakesAWholeConversation(t *testing.T) {
	t.Parallel()
	signature := issuedSignature(t, "gemini-3-pro")
	req, err := modeltestserver.DecodeGemini("gemini-3-pro", []byte(gemWith(
		`"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true}},`+
			`"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}},{"name":"g.h","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}}]}],`+
			`"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},`,
		gemUser(`{"text":"see"}`, `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`, `{"inlineData":{"mimeType":"application/pdf","data":"aG8="}}`),
		gemModel(gemSigned(`{"text":"I think.","thought":true}`, signature), `{"text":"I look."}`, gemCall("f"), `{"functionCall":{"id":"c2","name":"g.h","args":{"a":1}}}`),
		gemUser(gemResult("f"), `{"functionResponse":{"id":"c2","name":"g.h","response":{"error":"no"}}}`),
		gemUser(`{"text":"and?"}`),
		gemModel(gemSigned(`{"text":"x"}`, signature)), gemHi,
		gemModel(gemSigned(gemCall("f"), signature), gemCall("f")), gemUser(gemResult("f"), gemResult("f")),
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := []modeltestserver.Message{
		{Role: "system", Content: "s"},
		{Role: "user", Content: "see", Parts: []modeltestserver.Part{
			{MediaType: "image/png", Data: []byte("hi")}, {MediaType: "application/pdf", Data: []byte("ho")},
		}},
		{
			Role: "assistant", Content: "I look.", Reasoning: []modeltestserver.Reasoning{{Text: "I think."}},
			Calls: []modeltestserver.Call{{ID: "content_1_call_0", Name: "f", Arguments: "{}"}, {ID: "c2", Name: "g.h", Arguments: `{"a":1}`}},
		},
		{Role: "tool", Content: "ok", ToolCallID: "content_1_call_0"},
		{Role: "tool", Content: "no", ToolCallID: "c2", Failed: true},
		{Role: "user", Content: "and?"},
		{Role: "assistant", Content: "x", Reasoning: []modeltestserver.Reasoning{{}}},
		{Role: "user", Content: "hi"},
		{
			Role: "assistant", Reasoning: []modeltestserver.Reasoning{{}},
			Calls: []modeltestserver.Call{{ID: "content_6_call_0", Name: "f", Arguments: "{}"}, {ID: "content_6_call_1", Name: "f", Arguments: "{}"}},
		},
		{Role: "tool", Content: "ok", ToolCallID: "content_6_call_0"},
		{Role: "tool", Content: "ok", ToolCallID: "content_6_call_1"},
	}
	if diff := cmp.Diff(want, req.Messages, withoutPrivate); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if req.MaxTokens != 100 || req.ToolChoice != "none" || req.LastRole != "tool" || len(req.Tools) != 2 {
		t.Errorf("got %+v", req)
	}
}

func TestGeminiGoesOnWithACallThatAnotherModelMade(t *testing.T) {
	t.Parallel()
	const skip = "skip_thought_signature_validator"
	for name, signature := range map[string]string{"the word": skip, "the word in base64": base64.StdEncoding.EncodeToString([]byte(skip))} {
		body := gem(gemHi, gemModel(gemSigned(gemCall("f"), signature)), gemUser(gemResult("f")))
		if _, err := modeltestserver.DecodeGemini("gemini-3-pro", []byte(body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
