package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/strictjson"
)

// Bounds of a schema and of the arguments that are checked against it. All are inclusive.
const (
	MaxSchemaBytes    = 64_000  // an input schema's JSON
	MaxSchemaDepth    = 32      // its levels of objects and arrays
	MaxArgumentsBytes = 512_000 // the arguments of one call
	MaxArgumentsDepth = 64      // their levels, the arguments object being the first
)

const (
	maxProblems     = 8   // told to the model at once
	maxProblemBytes = 300 // of one problem's text
	schemaURL       = "openworker:///input-schema"
)

// Schema is a compiled input schema. It may be used concurrently.
type Schema struct {
	compiled *jsonschema.Schema
}

// Compile checks and compiles a JSON Schema (2020-12) of an object. It reads nothing but its argument: a
// $ref to a file or an address is refused. Patterns are Go's, which match in linear time; a schema can
// still be built so that checking takes exponential time (references that multiply), so whoever accepts
// schemas from strangers must bound that first. Errors are invalid_tool.
func Compile(schema json.RawMessage) (*Schema, error) {
	if len(schema) > MaxSchemaBytes {
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema is %d bytes long; at most %d are allowed", len(schema), MaxSchemaBytes)
	}
	doc, err := strictjson.Parse(schema, MaxSchemaDepth)
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema cannot be read: %w", err)
	}
	top, ok := doc.(map[string]any)
	if !ok {
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema must be a JSON object, it is %s", strictjson.KindOf(doc))
	}
	if top["type"] != "object" {
		return nil, api.Errorf(api.CodeInvalidTool, `the input schema must have "type": "object" at its top: a tool's arguments are always an object`)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuser{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema cannot be used: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	switch {
	case errors.As(err, &broken) && errors.As(broken.Err, &invalid): // it hides what is wrong below the rules of rules
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema is not valid: %s", bound(problems(invalid), maxProblems*maxProblemBytes))
	case err != nil:
		return nil, api.Errorf(api.CodeInvalidTool, "the input schema is not valid: %w", shorten(err))
	}
	return &Schema{compiled: compiled}, nil
}

// Validate checks the arguments of a call as a model wrote them. An error is arguments_invalid, with a
// message for the model: what is wrong, where, and to correct it (RU8). It wraps what is wrong alone, for people.
func (s *Schema) Validate(args []byte) error {
	if len(args) > MaxArgumentsBytes {
		return argumentsError(fmt.Sprintf("they are %d bytes long; at most %d are allowed", len(args), MaxArgumentsBytes))
	}
	v, err := strictjson.Parse(args, MaxArgumentsDepth)
	if err != nil {
		return argumentsError(err.Error())
	}
	if _, ok := v.(map[string]any); !ok {
		return argumentsError("they must be a JSON object, not " + strictjson.KindOf(v))
	}
	err = s.compiled.Validate(v)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return argumentsError(problems(invalid))
	default:
		return argumentsError(err.Error())
	}
}

func argumentsError(problem string) error {
	return api.Errorf(api.CodeArgumentsInvalid,
		"the call was not run: its arguments are not acceptable: %w. Correct them and call again.",
		errors.New(strings.TrimSuffix(bound(problem, maxProblems*maxProblemBytes), ".")))
}

// problems lists the places where a value broke the schema, at most maxProblems of them.
func problems(e *jsonschema.ValidationError) string {
	printer := message.NewPrinter(language.English)
	var found []string
	left := 0
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if len(found) == maxProblems {
			left++
			return
		}
		text := e.ErrorKind.LocalizedString(printer)
		if len(e.InstanceLocation) > 0 {
			text = "at /" + strings.Join(e.InstanceLocation, "/") + ": " + text
		}
		found = append(found, bound(text, maxProblemBytes))
	}
	walk(e)
	if left > 0 {
		found = append(found, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(found, "; ")
}

// shorten bounds the text of a compiler's error, which may quote the schema.
func shorten(err error) error {
	if text := err.Error(); len(text) > maxProblems*maxProblemBytes {
		return errors.New(bound(text, maxProblems*maxProblemBytes))
	}
	return err
}

// refuser is a loader that loads nothing: a schema may come from somebody who must not read our files.
type refuser struct{}

func (refuser) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %q; only references within the schema (#/$defs/…) are allowed", bound(url, 200))
}
