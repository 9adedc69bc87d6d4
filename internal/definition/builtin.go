package definition

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// The names of the session's own tools, to the model and in the catalogue. They are taken in every agent.
const (
	nameAskUser     = "ask_user"
	nameReadHistory = "read_history"
)

// Builtins lists the built-in tools that are on for a definition (BT1): they follow the agent's own tools
// in every request. They are not part of the definition, so a later version may word them better.
func Builtins(def api.AgentDefinition) []api.ToolDeclaration {
	if !isOn(def.BuiltinTools.ReadHistory, len(def.Tools) > 0) {
		return nil
	}
	return []api.ToolDeclaration{{
		Name: nameReadHistory,
		Description: "Reads the complete history of this conversation, oldest first, including what is no longer in your context. " +
			"Reads one page; call again with the returned cursor for the next.",
		InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
			`"cursor":{"type":"string","maxLength":200,"description":"the cursor of the previous page; leave out for the first"},` +
			`"query":{"type":"string","maxLength":1000,"description":"only items that contain this text, in any case"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"items of one page, 20 if left out"}}}`),
		Effect: api.ReadOnly,
	}}
}

func isOn(option *bool, hasTools bool) bool {
	if option != nil {
		return *option
	}
	return hasTools
}

// normalizeBuiltins leaves out what the default would say.
func normalizeBuiltins(b api.BuiltinTools, hasTools bool) (api.BuiltinTools, error) {
	if b.AskUser != nil && *b.AskUser {
		return b, unsupported("builtinTools.askUser", "this version has no ask_user tool")
	}
	for _, option := range []**bool{&b.AskUser, &b.ReadHistory} {
		if *option != nil && **option == hasTools {
			*option = nil
		}
	}
	return b, nil
}
