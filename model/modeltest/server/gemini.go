package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type geminiRequest struct {
	Contents          []geminiContent   `json:"contents"`
	SystemInstruction *geminiContent    `json:"systemInstruction"`
	Tools             []geminiTool      `json:"tools"`
	ToolConfig        *geminiToolConfig `json:"toolConfig"`
	GenerationConfig  *geminiGeneration `json:"generationConfig"`
	SafetySettings    []json.RawMessage `json:"safetySettings"`
	ServiceTier       string            `json:"serviceTier"`
	Store             *bool             `json:"store"`
}

type geminiTool struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description"`
	Parameters           *openAPISchema  `json:"parameters"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
}

type geminiToolConfig struct {
	FunctionCallingConfig *struct {
		Mode                 string   `json:"mode"`
		AllowedFunctionNames []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

type geminiGeneration struct {
	MaxOutputTokens    *int            `json:"maxOutputTokens"`
	Temperature        *float64        `json:"temperature"`
	TopP               *float64        `json:"topP"`
	TopK               *float64        `json:"topK"`
	CandidateCount     *int            `json:"candidateCount"`
	StopSequences      []string        `json:"stopSequences"`
	Seed               *int            `json:"seed"`
	ResponseMIMEType   string          `json:"responseMimeType"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	ThinkingConfig     *struct {
		IncludeThoughts bool   `json:"includeThoughts"`
		ThinkingBudget  *int   `json:"thinkingBudget"`
		ThinkingLevel   string `json:"thinkingLevel"`
	} `json:"thinkingConfig"`
}

var validGeminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

// DecodeGemini decodes the body of a streamGenerateContent request to a model, whose name is in the path, and says
// what a strict server would refuse it for.
func DecodeGemini(model string, body []byte) (Request, error) {
	req := Request{Protocol: Gemini, Model: model, Body: body, Stream: true}
	var wire geminiRequest
	if err := decodeBody(body, &wire); err != nil {
		return req, err
	}
	if model == "" {
		return req, errors.New("no model")
	}
	for _, step := range []func(geminiRequest) error{req.takeGeminiGeneration, req.takeGeminiTools, req.takeGeminiChoice} {
		if err := step(wire); err != nil {
			return req, err
		}
	}
	return req, req.takeGeminiContents(wire)
}

func (r *Request) takeGeminiGeneration(wire geminiRequest) error {
	config := wire.GenerationConfig
	if config == nil {
		return nil
	}
	if config.MaxOutputTokens != nil {
		if r.MaxTokens = *config.MaxOutputTokens; r.MaxTokens < 1 {
			return fmt.Errorf("max_output_tokens must be positive, got %d", r.MaxTokens)
		}
	}
	if config.CandidateCount != nil && *config.CandidateCount != 1 {
		return errors.New("only one candidate can be had")
	}
	thinking := config.ThinkingConfig
	if thinking == nil {
		return nil
	}
	levels := []string{"", "MINIMAL", "LOW", "MEDIUM", "HIGH"}
	if !slices.Contains(levels, strings.ToUpper(thinking.ThinkingLevel)) {
		return fmt.Errorf("unknown thinking_level %q", thinking.ThinkingLevel)
	}
	if thinking.ThinkingBudget != nil && thinking.ThinkingLevel != "" {
		return errors.New("you can only set one of thinking budget and thinking level")
	}
	return nil
}

func (r *Request) takeGeminiTools(wire geminiRequest) error {
	for _, tool := range wire.Tools {
		if len(tool.FunctionDeclarations) == 0 {
			return errors.New("a tool without functionDeclarations")
		}
		for _, f := range tool.FunctionDeclarations {
			switch {
			case !validGeminiName.MatchString(f.Name):
				return fmt.Errorf("invalid function name %q: must start with a letter or an underscore, and hold a-z, A-Z, 0-9, _.:- only", f.Name)
			case slices.Contains(r.Tools, f.Name):
				return fmt.Errorf("duplicate function declaration found: %s", f.Name)
			case f.Parameters != nil && f.ParametersJSONSchema != nil:
				return fmt.Errorf("function %q has parameters and parametersJsonSchema", f.Name)
			case f.ParametersJSONSchema != nil && !isObject(f.ParametersJSONSchema):
				return fmt.Errorf("the parametersJsonSchema of %q is not a JSON object", f.Name)
			case f.Parameters != nil && f.Parameters.Type != "OBJECT":
				return fmt.Errorf("the parameters of %q are of type %q, not of OBJECT", f.Name, f.Parameters.Type)
			}
			r.Tools = append(r.Tools, f.Name)
		}
	}
	return nil
}

func (r *Request) takeGeminiChoice(wire geminiRequest) error {
	if wire.ToolConfig == nil || wire.ToolConfig.FunctionCallingConfig == nil {
		return nil
	}
	config := wire.ToolConfig.FunctionCallingConfig
	choice, known := map[string]string{"": "", "NONE": "none", "AUTO": "auto", "ANY": "required", "VALIDATED": "auto"}[config.Mode]
	switch {
	case !known:
		return fmt.Errorf("unknown function calling mode %q", config.Mode)
	case len(r.Tools) == 0:
		return errors.New("function calling config is set without function_declarations")
	case len(config.AllowedFunctionNames) > 0 && config.Mode != "ANY" && config.Mode != "VALIDATED":
		return errors.New("allowed function names should only be set when function calling mode is ANY")
	}
	for _, name := range config.AllowedFunctionNames {
		if !slices.Contains(r.Tools, name) {
			return fmt.Errorf("allowed function name %q is not declared", name)
		}
	}
	if len(config.AllowedFunctionNames) == 1 && config.Mode == "ANY" {
		choice = config.AllowedFunctionNames[0]
	}
	r.ToolChoice = choice
	return nil
}
