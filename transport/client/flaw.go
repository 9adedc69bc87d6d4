package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Go's values hold more than JSON can: texts that are not UTF-8, for which an encoder puts other characters, and raw
// JSON that is none. They are refused here, with the code that the service has for them.

// flawOf looks at a value that was written as line, or failed to be with err.
func flawOf(method string, value any, line []byte, err error) *api.Error {
	if err == nil && utf8.Valid(line) && !bytes.Contains(line, []byte(`\ufffd`)) { // which only the encoder, or raw JSON, writes so
		return nil
	}
	path, flaw := search(reflect.ValueOf(value), "")
	switch {
	case flaw != "":
	case err == nil:
		return nil
	default:
		flaw = err.Error()
	}
	code := api.CodeInvalidRequest
	switch last := path[strings.LastIndexByte(path, '.')+1:]; {
	case slices.Contains(guidance, last):
		code = api.CodeInvalidGuidance
	case method == rpc.MethodRegisterTools, strings.HasPrefix(path, "definition.tools["):
		code = api.CodeInvalidTool
	case strings.HasPrefix(path, "definition."):
		code = api.CodeInvalidAgent
	}
	told := api.Errorf(code, "%s of %s cannot be sent: %s", path, method, flaw)
	if block := 0; method == rpc.MethodSubmit && scan(path, "content[%d]", &block) {
		told.Message = fmt.Sprintf("block %d: %s", block+1, told.Message)
		told.With("block", fmt.Sprint(block+1))
	}
	return told
}

func scan(text, format string, into ...any) bool {
	n, _ := fmt.Sscanf(text, format, into...)
	return n == len(into)
}

// guidance are the fields of texts that have a code of their own (GU3).
var guidance = []string{"instructionAddendum", "autoApproverContext", "additionalInstructions"}

// names are fields of ids. One that is not UTF-8 names nothing, and neither does what the encoder makes of it.
var names = []string{"session", "run", "interaction", "upload"}

var rawJSON = reflect.TypeFor[json.RawMessage]()

// search finds the first flaw below a value, and where it is.
func search(v reflect.Value, path string) (at, flaw string) {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) && !slices.Contains(names, path) {
			return path, "it is not UTF-8; convert it"
		}
	case reflect.Pointer, reflect.Interface:
		return search(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		switch {
		case v.Type() == rawJSON && v.Len() == 0:
		case v.Type() == rawJSON && !utf8.Valid(v.Bytes()):
			return path, "it is not UTF-8; convert it"
		case v.Type() == rawJSON && !json.Valid(v.Bytes()):
			return path, "it is not JSON"
		case v.Type().Elem().Kind() == reflect.Uint8: // bytes go as base64
		default:
			for i := range v.Len() {
				if at, flaw := search(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); flaw != "" {
					return at, flaw
				}
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			key := fmt.Sprintf("%s[%.80q]", path, entries.Key())
			if _, flaw := search(entries.Key(), key); flaw != "" {
				return path, "a name in it is not UTF-8; convert it"
			}
			if at, flaw := search(entries.Value(), key); flaw != "" {
				return at, flaw
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous:
				name = path
			case path != "":
				name = path + "." + name
			}
			if at, flaw := search(v.Field(i), name); flaw != "" {
				return at, flaw
			}
		}
	}
	return "", ""
}

// checkArguments looks at the arguments that a person changed. JSON tells neither how long they were, with their blanks,
// nor what they are that are no JSON.
func checkArguments(arguments json.RawMessage) error {
	switch {
	case len(arguments) > api.MaxToolOutputBytes:
		return api.Errorf(api.CodeInvalidRequest, "arguments has %d bytes; at most %d are allowed", len(arguments), api.MaxToolOutputBytes)
	case bytes.IndexByte(arguments, 0) >= 0 || !utf8.Valid(arguments):
		return api.Errorf(api.CodeInvalidRequest, "arguments holds a NUL or is not UTF-8; take it out, or convert it")
	case len(arguments) > 0 && !json.Valid(arguments):
		return api.Errorf(api.CodeArgumentsInvalid, "the interaction stays open: the changed arguments are not JSON; correct them, and answer again")
	}
	return nil
}

// checkImport looks for what is wrong with items of an imported conversation that their JSON would not tell.
func checkImport(items []api.HistoryImport) error {
	for i, item := range items {
		rule, flaw := item.Flaw()
		switch {
		case flaw != "":
		case !utf8.ValidString(item.Text) || !utf8.ValidString(item.Output) || !utf8.ValidString(item.CallID) || !utf8.ValidString(item.Name) || !utf8.Valid(item.Arguments):
			rule, flaw = "text", "a text is not UTF-8; convert it"
		case len(item.Arguments) > 0 && !json.Valid(item.Arguments):
			rule, flaw = "arguments", "the arguments are not JSON; they must be an object"
		case len(item.Arguments) == 0 && item.Type == api.ImportToolCall && item.Given() == nil:
			rule, flaw = "arguments", "the arguments are missing; without any they are {}"
		default:
			continue
		}
		return api.Errorf(api.CodeInvalidHistory, "initialHistory, item %d: %s", i, flaw).With("item", fmt.Sprint(i)).With("rule", rule)
	}
	return nil
}
