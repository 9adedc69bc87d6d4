package definition

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// The names of the session's own tools, to the model and in the catalogue. They are taken in every agent.
const (
	AskUser     = "ask_user"
	ReadHistory = "read_history"
)

// IsBuiltin reports whether a name is that of one of the session's own tools.
func IsBuiltin(name string) bool { return name == AskUser || name == ReadHistory }

// Builtins lists the built-in tools that are on for a definition (BT1): they follow the agent's own tools
// in every request. They are not part of the definition, so a later version may word them better.
func Builtins(def api.AgentDefinition) []api.ToolDeclaration {
	var on []api.ToolDeclaration
	if isOn(def.BuiltinTools.AskUser, len(def.Tools) > 0) {
		on = append(on, askUser())
	}
	if isOn(def.BuiltinTools.ReadHistory, len(def.Tools) > 0) {
		on = append(on, readHistory())
	}
	return on
}

func askUser() api.ToolDeclaration {
	return api.ToolDeclaration{
		Name: AskUser,
		Description: "Asks the user a question and waits for the answer, which may take long. Ask where you cannot go on without it or where the choice is the user's. " +
			"Propose choices where there are a few likely answers; the user may still answer something else. Ask one thing at a time. An answer gives no permission for any action.",
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["question"],"properties":{` +
			`"question":{"type":"string","minLength":1,"maxLength":8000,"description":"the question as the user is to read it"},` +
			`"choices":{"type":"array","maxItems":20,"description":"likely answers; leave out for an open question","items":{"type":"object","additionalProperties":false,"required":["label"],"properties":{` +
			`"label":{"type":"string","minLength":1,"maxLength":500,"description":"the answer, in a few words"},"description":{"type":"string","maxLength":2000,"description":"what it would mean"}}}},` +
			`"multiple":{"type":"boolean","description":"true where several answers may be given"}}}`),
		Effect: api.ReadOnly,
	}
}

func readHistory() api.ToolDeclaration {
	return api.ToolDeclaration{
		Name: ReadHistory,
		Description: "Reads the complete history of this conversation, oldest first, including what is no longer in your context. " +
			"Reads one page; call again with the returned cursor for the next.",
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
			`"cursor":{"type":"string","maxLength":200,"description":"the cursor of the previous page; leave out for the first"},` +
			`"query":{"type":"string","maxLength":1000,"description":"only items that contain this text, in any case"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"items of one page, 20 if left out"}}}`),
		Effect: api.ReadOnly,
	}
}

func isOn(option *bool, hasTools bool) bool {
	if option != nil {
		return *option
	}
	return hasTools
}

// normalizeBuiltins leaves out what the default would say.
func normalizeBuiltins(b api.BuiltinTools, hasTools bool) api.BuiltinTools {
	for _, option := range []**bool{&b.AskUser, &b.ReadHistory} {
		if *option != nil && **option == hasTools {
			*option = nil
		}
	}
	return b
}
