package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/strictjson"
)

// maxArgumentsDepth is what the runtime lets pass of a call's arguments. Google's server reads 100 levels of messages.
const maxArgumentsDepth = 64

// Check reports the first way in which req is not what [Request] promises, or nil. It is as strict as the
// strictest provider, so that a request that passes is refused by none of them for its form:
//
//   - it names a model, its tools have names of 1–64 of A-Za-z0-9_-, each once, and schemas that are JSON objects;
//   - its first item is the user's, its last is the user's or a tool's result;
//   - each answer's calls are followed at once by their results, in call order, one each;
//   - call IDs are 1–64 of A-Za-z0-9_-, each once in the whole request; arguments are JSON objects of at most 64 levels in
//     which no key stands twice and each number is one that a float64 has;
//   - no JSON text has half a surrogate pair in it ([MendJSON]);
//   - every text is UTF-8, no text of the user or the assistant is empty, no item has fields of another kind.
//
// The error has code internal: whatever it says is a fault of the runtime's, not the user's (RU5, RU8).
// Its cost is that of reading the request once. Empty results and an absent schema are allowed.
func Check(req Request) error {
	if err := checkHead(req); err != nil {
		return err
	}
	if len(req.Items) == 0 {
		return malformed("the request has no items")
	}
	if kind := req.Items[0].Kind; kind != UserItem {
		return malformed("the first item is of kind %q and must be the user's", kind)
	}
	var (
		open = make([]string, 0, 8) // calls of the answer that have no result yet, in call order
		seen = make(map[string]struct{}, len(req.Items)/2)
	)
	for i, item := range req.Items {
		if err := checkItem(item); err != nil {
			return malformed("item %d (%s): %w", i, item.Kind, err)
		}
		switch item.Kind {
		case ToolCallItem:
			if i > 0 && req.Items[i-1].Kind == ToolResultItem && len(open) > 0 {
				return malformed("item %d: call %s comes between the results of the answer before it, %s has none", i, item.CallID, open[0])
			}
			if _, taken := seen[item.CallID]; taken {
				return malformed("item %d: call ID %s is there twice", i, item.CallID)
			}
			seen[item.CallID] = struct{}{}
			open = append(open, item.CallID)
		case ToolResultItem:
			if len(open) == 0 {
				return malformed("item %d: result of %s, but no call waits for one", i, item.CallID)
			}
			if open[0] != item.CallID {
				return malformed("item %d: result of %s where that of %s is due", i, item.CallID, open[0])
			}
			open = open[1:]
		case AssistantItem, ReasoningItem:
			if len(open) > 0 && req.Items[i-1].Kind == ToolResultItem {
				return malformed("item %d: an answer begins before call %s has its result", i, open[0])
			}
		default:
			if len(open) > 0 {
				return malformed("item %d: a user item comes before call %s has its result", i, open[0])
			}
		}
	}
	if len(open) > 0 {
		return malformed("the request ends before call %s has its result", open[0])
	}
	switch last := req.Items[len(req.Items)-1].Kind; last {
	case UserItem, ToolResultItem:
		return nil
	default:
		return malformed("the last item is of kind %q, so nothing is left to answer", last)
	}
}

func checkHead(req Request) error {
	if req.Model == "" {
		return malformed("the request names no model")
	}
	if req.MaxOutputTokens < 0 {
		return malformed("MaxOutputTokens is %d and must not be negative", req.MaxOutputTokens)
	}
	if !utf8.ValidString(req.Model) || !utf8.ValidString(req.Instructions) {
		return malformed("the model's name or the instructions are not UTF-8")
	}
	names := make(map[string]struct{}, len(req.Tools))
	for i, tool := range req.Tools {
		if !ValidName(tool.Name) {
			return malformed("tool %d: name %.80q is not 1–64 of A-Za-z0-9_-", i, tool.Name)
		}
		if _, taken := names[tool.Name]; taken {
			return malformed("tool %d: name %s is declared twice", i, tool.Name)
		}
		names[tool.Name] = struct{}{}
		if !utf8.ValidString(tool.Description) {
			return malformed("tool %s: the description is not UTF-8", tool.Name)
		}
		if len(tool.InputSchema) > 0 && !isObject(tool.InputSchema) {
			return malformed("tool %s: the input schema is not a JSON object", tool.Name)
		}
	}
	return nil
}

func checkItem(item Item) error {
	if !utf8.ValidString(item.Text) || !utf8.ValidString(item.Output) {
		return fmt.Errorf("the text is not UTF-8")
	}
	if p := item.Private; p != nil && (p.Provider == "" || p.Model == "" || !json.Valid(p.Data)) {
		return fmt.Errorf("the private data names no provider or model, or is not JSON")
	}
	isCall, isResult := item.Kind == ToolCallItem, item.Kind == ToolResultItem
	switch item.Kind {
	case UserItem:
		if len(item.Parts) > 0 {
			return checkParts(item)
		}
		if item.Text == "" {
			return fmt.Errorf("the text is empty")
		}
	case AssistantItem:
		if item.Text == "" {
			return fmt.Errorf("the text is empty")
		}
	case ReasoningItem:
		if item.Text == "" && item.Private == nil {
			return fmt.Errorf("there is neither text nor private data")
		}
	case ToolCallItem:
		if !ValidName(item.Name) {
			return fmt.Errorf("tool name %.80q is not 1–64 of A-Za-z0-9_-", item.Name)
		}
		if !isObject(item.Arguments) {
			return fmt.Errorf("the arguments of call %.80s are not a JSON object", item.CallID)
		}
		if _, err := strictjson.Object(item.Arguments, maxArgumentsDepth); err != nil {
			return fmt.Errorf("the arguments of call %.80s: %w", item.CallID, err)
		}
	case ToolResultItem:
	default:
		return fmt.Errorf("there is no such kind")
	}
	if (isCall || isResult) && !ValidName(item.CallID) {
		return fmt.Errorf("call ID %.80q is not 1–64 of A-Za-z0-9_-", item.CallID)
	}
	foreign := len(item.Parts) > 0 || !isCall && !isResult && item.CallID != "" || !isCall && (item.Name != "" || len(item.Arguments) > 0) ||
		!isResult && (item.Output != "" || item.Failed) || (isCall || isResult) && item.Text != ""
	if foreign {
		return fmt.Errorf("it has a field of another kind of item")
	}
	return nil
}

// checkParts checks a user's item that has files.
func checkParts(item Item) error {
	if item.Text != "" || item.CallID != "" || item.Name != "" || len(item.Arguments) > 0 || item.Output != "" || item.Failed {
		return fmt.Errorf("it has parts and another field beside them")
	}
	for i, part := range item.Parts {
		if !utf8.ValidString(part.Text) || !utf8.ValidString(part.Name) {
			return fmt.Errorf("part %d: its text or its name is not UTF-8", i)
		}
		switch {
		case part.MediaType == "" && (part.Name != "" || len(part.Data) > 0):
			return fmt.Errorf("part %d: a file without a media type", i)
		case part.MediaType == "" && part.Text == "":
			return fmt.Errorf("part %d: the text is empty", i)
		case part.MediaType == "":
		case part.Text != "" || part.Name == "" || len(part.Data) == 0:
			return fmt.Errorf("part %d: a file needs a name and data, and has no text beside them", i)
		case part.IsImage():
			switch part.MediaType {
			case TypePNG, TypeJPEG, TypeGIF, TypeWebP:
			default:
				return fmt.Errorf("part %d: no provider takes %s", i, part.MediaType)
			}
		case !part.IsPDF() && !utf8.Valid(part.Data):
			return fmt.Errorf("part %d: the file is not UTF-8", i)
		}
	}
	return nil
}

// ValidName reports whether s may be the name of a tool or the ID of a call at every provider: 1–64 of
// A-Za-z0-9_- (AG5).
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > api.MaxModelToolName {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isObject(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && utf8.Valid(data) && json.Valid(data) && bytes.Equal(MendJSON(data), data)
}

func malformed(format string, args ...any) error {
	return api.Errorf(api.CodeInternal, "malformed model request: "+format, args...)
}
