package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// checkObjectSchema refuses a tool's schema whose root is not a plain object, as OpenAI and Anthropic do.
func checkObjectSchema(data json.RawMessage) error {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(data, &root); err != nil || root == nil {
		return errors.New("the schema is not a JSON object")
	}
	if string(root["type"]) != `"object"` {
		return fmt.Errorf("the schema must have type \"object\", got %s", root["type"])
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		if root[keyword] != nil {
			return fmt.Errorf("the schema has %s at its top level", keyword)
		}
	}
	return nil
}

// checkStrictSchema refuses what OpenAI's strict mode refuses: an object that allows other properties or that has
// optional ones, at any depth.
func checkStrictSchema(at string, value any) error {
	schema, isObject := value.(map[string]any)
	if !isObject {
		return nil
	}
	if properties, has := schema["properties"].(map[string]any); has || schema["type"] == "object" {
		if schema["additionalProperties"] != false {
			return fmt.Errorf("strict schema: in %s, 'additionalProperties' is required to be false", at)
		}
		required, _ := schema["required"].([]any)
		for name := range properties {
			if !slices.Contains(required, any(name)) {
				return fmt.Errorf("strict schema: in %s, 'required' must hold every property, %q is missing", at, name)
			}
		}
	}
	for _, keyword := range []string{"properties", "$defs", "definitions"} {
		children, _ := schema[keyword].(map[string]any)
		for name, child := range children {
			if err := checkStrictSchema(at+"."+keyword+"."+name, child); err != nil {
				return err
			}
		}
	}
	for _, child := range append(anys(schema["anyOf"]), schema["items"]) {
		if err := checkStrictSchema(at+".items or anyOf", child); err != nil {
			return err
		}
	}
	return nil
}

func anys(value any) []any {
	list, _ := value.([]any)
	return slices.Clone(list)
}

// openAPISchema is the dialect of Gemini's "parameters": a keyword beside it is an unknown field.
type openAPISchema struct {
	Type             string                   `json:"type"`
	Format           string                   `json:"format"`
	Title            string                   `json:"title"`
	Description      string                   `json:"description"`
	Nullable         *bool                    `json:"nullable"`
	Enum             []string                 `json:"enum"`
	Items            *openAPISchema           `json:"items"`
	Properties       map[string]openAPISchema `json:"properties"`
	PropertyOrdering []string                 `json:"propertyOrdering"`
	Required         []string                 `json:"required"`
	AnyOf            []openAPISchema          `json:"anyOf"`
	Default          json.RawMessage          `json:"default"`
	Example          json.RawMessage          `json:"example"`
	Pattern          string                   `json:"pattern"`
	MinItems         json.RawMessage          `json:"minItems"`
	MaxItems         json.RawMessage          `json:"maxItems"`
	MinLength        json.RawMessage          `json:"minLength"`
	MaxLength        json.RawMessage          `json:"maxLength"`
	MinProperties    json.RawMessage          `json:"minProperties"`
	MaxProperties    json.RawMessage          `json:"maxProperties"`
	Minimum          json.RawMessage          `json:"minimum"`
	Maximum          json.RawMessage          `json:"maximum"`
}
