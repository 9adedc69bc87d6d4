package modeltestserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

type (
	reply  = modeltestserver.Reply
	call   = modeltestserver.Call
	object = map[string]any
)

// withoutPrivate compares messages without the private data, which differs from answer to answer.
var withoutPrivate = cmpopts.IgnoreFields(modeltestserver.Reasoning{}, "Private")

// events decodes a stream. The type that stands on a line of its own must be that of the data.
func events(t *testing.T, stream string) []object {
	t.Helper()
	var out []object
	for frame := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, data, named := strings.Cut(frame, "\n")
		if !named {
			name, data = "", frame
		}
		data = strings.TrimPrefix(data, "data: ")
		if data == "[DONE]" {
			out = append(out, object{"type": "[DONE]"})
			continue
		}
		var event object
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if named && name != "event: "+event["type"].(string) {
			t.Errorf("the event %q has the type %v", name, event["type"])
		}
		out = append(out, event)
	}
	return out
}

func prepared(t *testing.T, r reply, protocol modeltestserver.Protocol, model string) []object {
	t.Helper()
	return events(t, string(r.PreparedFor(protocol, model).Events))
}

// at follows a path of names and indices into decoded JSON.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(object)[step]
		case int:
			list := value.([]any)
			if step < 0 {
				step += len(list)
			}
			value = list[step]
		}
	}
	return value
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// issuedReasoning is a reasoning item that a model gave.
func issuedReasoning(t *testing.T, model string) string {
	t.Helper()
	all := prepared(t, reply{Reasoning: "I think.", Text: "x"}, modeltestserver.Responses, model)
	return text(t, at(t, all[len(all)-1], "response", "output", 0))
}

// issuedThinking is the thinking or redacted thinking that a model gave.
func issuedThinking(t *testing.T, model string, r reply) string {
	t.Helper()
	for _, event := range prepared(t, r, modeltestserver.Messages, model) {
		if block, _ := event["content_block"].(object); block["type"] == "redacted_thinking" {
			return text(t, block)
		}
		if delta, _ := event["delta"].(object); delta["type"] == "signature_delta" {
			return text(t, object{"type": "thinking", "thinking": r.Reasoning, "signature": delta["signature"]})
		}
	}
	t.Fatal("no thinking was given")
	return ""
}

// issuedSignature is the thought signature that a Gemini model gave.
func issuedSignature(t *testing.T, model string) string {
	t.Helper()
	all := prepared(t, reply{Reasoning: "I think.", Calls: []call{{Name: "f", Arguments: "{}"}}}, modeltestserver.Gemini, model)
	return at(t, all[1], "candidates", 0, "content", "parts", 0, "thoughtSignature").(string)
}

var full = reply{
	Reasoning: "I think.", Text: "Hello.", Chunk: 4, Calls: []call{{ID: "c1", Name: "f", Arguments: `{"a":1}`}, {ID: "c2", Name: "g", Arguments: `{}`}},
	InputTokens: 100, CachedTokens: 60, OutputTokens: 20, ReasoningTokens: 5,
}

func TestResponsesSendsItsEventsInTheRealOrder(t *testing.T) {
	t.Parallel()
	all := prepared(t, full, modeltestserver.Responses, "m")
	var kinds []string
	for i, event := range all {
		if event["sequence_number"] != float64(i) {
			t.Errorf("event %d has the number %v", i, event["sequence_number"])
		}
		kinds = append(kinds, strings.TrimPrefix(event["type"].(string), "response."))
	}
	want := []string{
		"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta",
		"reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
		"completed",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	response := at(t, all[len(all)-1], "response")
	wantUsage := `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":120}`
	if got := text(t, at(t, response, "usage")); got != wantUsage {
		t.Errorf("got usage %s", got)
	}
	var items []string
	for _, item := range at(t, response, "output").([]any) {
		items = append(items, at(t, item, "type").(string)+" "+at(t, item, "id").(string)[:3])
	}
	if diff := cmp.Diff([]string{"reasoning rs_", "message msg", "function_call fc_", "function_call fc_"}, items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMessagesSendsItsEventsInTheRealOrder(t *testing.T) {
	t.Parallel()
	all := prepared(t, full, modeltestserver.Messages, "m")
	var kinds []string
	for _, event := range all {
		kind := event["type"].(string)
		if delta, _ := event["delta"].(object); kind == "content_block_delta" {
			kind = delta["type"].(string)
		}
		kinds = append(kinds, kind)
	}
	want := []string{
		"message_start",
		"content_block_start", "ping", "thinking_delta", "thinking_delta", "signature_delta", "content_block_stop",
		"content_block_start", "text_delta", "text_delta", "content_block_stop",
		"content_block_start", "input_json_delta", "input_json_delta", "input_json_delta", "content_block_stop",
		"content_block_start", "input_json_delta", "input_json_delta", "content_block_stop",
		"message_delta", "message_stop",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	end := all[len(all)-2]
	if at(t, end, "delta", "stop_reason") != "tool_use" || at(t, end, "usage", "input_tokens") != 40. ||
		at(t, end, "usage", "cache_read_input_tokens") != 60. || at(t, end, "usage", "output_tokens") != 20. {
		t.Errorf("got %v", end)
	}
}

func TestGeminiTellsTheReasonAndTheUsageWithItsLastChunk(t *testing.T) {
	t.Parallel()
	all := prepared(t, full, modeltestserver.Gemini, "m")
	var parts []string
	for _, event := range all[:len(all)-1] {
		candidate := at(t, event, "candidates", 0).(object)
		if candidate["finishReason"] != nil {
			t.Errorf("a reason before the end: %v", event)
		}
		part := at(t, candidate, "content", "parts", 0).(object)
		if part["thoughtSignature"] != nil {
			part["thoughtSignature"] = "S"
		}
		parts = append(parts, text(t, part))
	}
	want := []string{
		`{"text":"I th","thought":true}`, `{"text":"ink.","thought":true}`, `{"text":"Hell"}`, `{"text":"o."}`,
		`{"functionCall":{"args":{"a":1},"id":"c1","name":"f"},"thoughtSignature":"S"}`, `{"functionCall":{"args":{},"id":"c2","name":"g"}}`,
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	end := all[len(all)-1]
	wantUsage := `{"cachedContentTokenCount":60,"candidatesTokenCount":15,"promptTokenCount":100,"thoughtsTokenCount":5,"totalTokenCount":120}`
	if got := text(t, at(t, end, "usageMetadata")); at(t, end, "candidates", 0, "finishReason") != "STOP" || got != wantUsage {
		t.Errorf("got %v", end)
	}
}

func TestWithheldReasoningIsPrivateDataAlone(t *testing.T) {
	t.Parallel()
	r := reply{Reasoning: "secret", Withheld: true, Text: "x"}
	for _, protocol := range modeltestserver.Protocols() {
		stream := string(r.PreparedFor(protocol, "m").Events)
		if protocol != modeltestserver.Chat && strings.Contains(stream, "secret") {
			t.Errorf("%s tells it: %s", protocol, stream)
		}
	}
	all := prepared(t, r, modeltestserver.Responses, "m")
	if item := at(t, all[len(all)-1], "response", "output", 0).(object); text(t, item["summary"]) != "[]" || item["encrypted_content"] == nil {
		t.Errorf("Responses gave %v", item)
	}
	if block := issuedThinking(t, "m", r); !strings.Contains(block, `"type":"redacted_thinking"`) {
		t.Errorf("Messages gave %s", block)
	}
	all = prepared(t, r, modeltestserver.Gemini, "m")
	if part := at(t, all[len(all)-1], "candidates", 0, "content", "parts", 0).(object); part["text"] != "" || part["thoughtSignature"] == nil {
		t.Errorf("Gemini gave %v", part)
	}
}

// ending is what tells how an answer ended: the status or reason, and the error if there is one.
func ending(t *testing.T, protocol modeltestserver.Protocol, all []object) string {
	t.Helper()
	last := all[len(all)-1]
	switch protocol {
	case modeltestserver.Responses:
		response, _ := last["response"].(object)
		if response == nil {
			return text(t, object{"code": last["code"], "message": last["message"], "type": last["type"]})
		}
		return strings.TrimSpace(strings.TrimPrefix(last["type"].(string), "response.") + " " + text(t, response["incomplete_details"]) + text(t, response["error"]))
	case modeltestserver.Messages:
		if last["type"] == "message_stop" {
			return at(t, all[len(all)-2], "delta", "stop_reason").(string)
		}
		delete(last, "request_id")
	case modeltestserver.Gemini:
		if candidates, has := last["candidates"]; has {
			return at(t, candidates, 0, "finishReason").(string)
		}
		delete(last, "usageMetadata")
		delete(last, "modelVersion")
		delete(last, "responseId")
	case modeltestserver.Chat:
		if last["type"] == "[DONE]" {
			return at(t, all[len(all)-3], "choices", 0, "finish_reason").(string)
		}
	}
	return text(t, last)
}

func TestEachEndIsInTheProtocolsOwnWords(t *testing.T) {
	t.Parallel()
	calls := []call{{ID: "c1", Name: "f", Arguments: "{}"}}
	half := []call{{ID: "c1", Name: "f", Arguments: `{"a`}}
	for name, test := range map[string]struct {
		reply reply
		want  map[modeltestserver.Protocol]string
	}{
		"text": {reply{Text: "x"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "stop", modeltestserver.Responses: "completed nullnull", modeltestserver.Messages: "end_turn", modeltestserver.Gemini: "STOP",
		}},
		"nothing": {reply{}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "stop", modeltestserver.Responses: "completed nullnull", modeltestserver.Messages: "end_turn", modeltestserver.Gemini: "STOP",
		}},
		"calls": {reply{Calls: calls}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "tool_calls", modeltestserver.Responses: "completed nullnull", modeltestserver.Messages: "tool_use", modeltestserver.Gemini: "STOP",
		}},
		"C42 calls that end like text": {reply{Calls: calls, Finish: "stop"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "stop", modeltestserver.Responses: "completed nullnull", modeltestserver.Messages: "end_turn", modeltestserver.Gemini: "STOP",
		}},
		"C40 a call that the limit cuts": {reply{Calls: half, Finish: "length"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "length", modeltestserver.Responses: `incomplete {"reason":"max_output_tokens"}null`,
			modeltestserver.Messages: "max_tokens", modeltestserver.Gemini: "MAX_TOKENS",
		}},
		"a call that the model malformed": {reply{Calls: half}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "tool_calls", modeltestserver.Responses: "completed nullnull", modeltestserver.Messages: "tool_use",
			modeltestserver.Gemini: "MALFORMED_FUNCTION_CALL",
		}},
		"a filter": {reply{Text: "x", Finish: "content_filter"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "content_filter", modeltestserver.Responses: `incomplete {"reason":"content_filter"}null`,
			modeltestserver.Messages: "refusal", modeltestserver.Gemini: "SAFETY",
		}},
		"a filter before the answer": {reply{Finish: "content_filter"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "content_filter", modeltestserver.Responses: `incomplete {"reason":"content_filter"}null`,
			modeltestserver.Messages: "refusal", modeltestserver.Gemini: `{"promptFeedback":{"blockReason":"SAFETY"}}`,
		}},
		"a raw reason": {reply{Text: "x", Finish: "odd"}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "odd", modeltestserver.Responses: `incomplete {"reason":"odd"}null`, modeltestserver.Messages: "odd", modeltestserver.Gemini: "odd",
		}},
		"C48 an error inside the stream": {reply{Text: "x", Broken: &modeltestserver.Error{Message: "busy"}}, map[modeltestserver.Protocol]string{
			modeltestserver.Chat:      `{"error":{"code":null,"message":"busy","param":null,"type":"server_error"}}`,
			modeltestserver.Responses: `{"code":null,"message":"busy","type":"error"}`,
			modeltestserver.Messages:  `{"error":{"message":"busy","type":"api_error"},"type":"error"}`,
			modeltestserver.Gemini:    `{"error":{"code":500,"message":"busy","status":"INTERNAL"}}`,
		}},
		"C48 an error that says what it is": {
			reply{Text: "x", Broken: &modeltestserver.Error{Code: "c", Type: "UNAVAILABLE", Message: "busy"}}, map[modeltestserver.Protocol]string{
				modeltestserver.Chat:      `{"error":{"code":"c","message":"busy","param":null,"type":"UNAVAILABLE"}}`,
				modeltestserver.Responses: `{"code":"c","message":"busy","type":"error"}`,
				modeltestserver.Messages:  `{"error":{"message":"busy","type":"UNAVAILABLE"},"type":"error"}`,
				modeltestserver.Gemini:    `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`,
			},
		},
	} {
		for _, protocol := range modeltestserver.Protocols() {
			t.Run(name+" in "+string(protocol), func(t *testing.T) {
				t.Parallel()
				all := prepared(t, test.reply, protocol, "m")
				if got := ending(t, protocol, all); got != test.want[protocol] {
					t.Errorf("got %s, want %s", got, test.want[protocol])
				}
			})
		}
	}
}

func TestAFailedResponseEndsWithItsError(t *testing.T) {
	t.Parallel()
	r := reply{Text: "x", Finish: "failed", Broken: &modeltestserver.Error{Code: "rate_limit_exceeded", Message: "slow down"}}
	all := prepared(t, r, modeltestserver.Responses, "m")
	if got := ending(t, modeltestserver.Responses, all); got != `failed null{"code":"rate_limit_exceeded","message":"slow down"}` {
		t.Errorf("got %s", got)
	}
}

func TestTheItemThatTheLimitCutIsIncomplete(t *testing.T) {
	t.Parallel()
	r := reply{Text: "x", Finish: "length", Calls: []call{{ID: "c1", Name: "f", Arguments: `{"a`}}}
	all := prepared(t, r, modeltestserver.Responses, "m")
	output := at(t, all[len(all)-1], "response", "output")
	if at(t, output, 0, "status") != "completed" || at(t, output, 1, "status") != "incomplete" || at(t, output, 1, "arguments") != `{"a` {
		t.Errorf("got %v", output)
	}
}
