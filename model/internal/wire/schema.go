package wire

import "encoding/json"

// ObjectSchema is a tool's schema in the form that the strictest APIs take: its root has the type object and no
// alternatives, which they refuse with the whole request. What is left out the host still checks in each call's
// arguments (RU8). A schema that is in that form, or is no object, is returned as it is, an absent one as that of any
// object.
func ObjectSchema(schema json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if json.Unmarshal(schema, &root) != nil || root == nil {
		return schema
	}
	changed := string(root["type"]) != `"object"`
	root["type"] = json.RawMessage(`"object"`)
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if _, has := root[keyword]; has {
			delete(root, keyword)
			changed = true
		}
	}
	if !changed {
		return schema
	}
	out, err := json.Marshal(root)
	if err != nil { // values that were decoded encode again
		return schema
	}
	return out
}
