package google

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	"google.golang.org/genai"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// What a user says is the only content that ends with its role: so the place where it can go on is known from
// the bytes alone.
const (
	userBegin = `{"parts":[`
	userEnd   = `],"role":"user"},`
)

// part is a part of what a model said or of the results that it is given. Signatures and arguments are kept as they came, which genai.Part cannot.
type part struct {
	Text             *string                 `json:"text,omitempty"`
	FunctionCall     *functionCall           `json:"functionCall,omitempty"`
	FunctionResponse *genai.FunctionResponse `json:"functionResponse,omitempty"`
	Thought          bool                    `json:"thought,omitempty"`
	ThoughtSignature string                  `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// content is what a model said or the results that it is given.
type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// contentWriter encodes items as contents, each with a comma after it.
type contentWriter struct {
	provider string
	model    string
	signs    bool
}

// append appends the contents of items to those of the items before.
func (w *contentWriter) append(b []byte, items []model.Item) []byte {
	for len(items) > 0 {
		if items[0].Kind == model.UserItem {
			b = appendUser(b, items[0])
			items = items[1:]
			continue
		}
		n := span(items, func(k model.ItemKind) bool { return k != model.UserItem && k != model.ToolResultItem })
		answer, rest := items[:n], items[n:]
		n = span(rest, func(k model.ItemKind) bool { return k == model.ToolResultItem })
		b = appendContent(b, content{Role: "model", Parts: w.answer(answer)})
		b = appendContent(b, content{Role: "user", Parts: results(answer, rest[:n])})
		items = rest[n:]
	}
	return b
}

// span is the number of items at the start whose kind is wanted.
func span(items []model.Item, want func(model.ItemKind) bool) int {
	for i := range items {
		if !want(items[i].Kind) {
			return i
		}
	}
	return len(items)
}

// appendContent leaves out what has no parts, such as an answer of thoughts alone.
func appendContent(b []byte, c content) []byte {
	if len(c.Parts) == 0 {
		return b
	}
	return append(appendJSON(b, c), ',')
}

func appendJSON(b []byte, v any) []byte {
	data, _ := marshal(v) // nothing in a content fails: arguments sees to those that are no JSON
	return append(b, data...)
}

// appendUser begins a content, or goes on with the one that the user began.
func appendUser(b []byte, item model.Item) []byte {
	if before, ok := bytes.CutSuffix(b, []byte(userEnd)); ok {
		b = append(before, ',')
	} else {
		b = append(b, userBegin...)
	}
	if len(item.Parts) == 0 {
		b = append(wire.AppendString(append(b, `{"text":`...), item.Text), '}')
	}
	for i := range item.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendUserPart(b, &item.Parts[i])
	}
	return append(b, userEnd...)
}

// appendUserPart appends text or a file. It is written by hand: genai's types hold a file as bytes, of which an encoder
// makes copy after copy.
func appendUserPart(b []byte, part *model.Part) []byte {
	if part.IsImage() || part.IsPDF() {
		b = append(b, `{"inlineData":{"data":`...)
		b = append(wire.AppendBase64(b, part), `,"mimeType":`...)
		return append(wire.AppendString(b, part.MediaType), `}}`...)
	}
	return append(wire.AppendText(append(b, `{"text":`...), part), '}')
}

// results are the results of an answer's calls. Gemini wants the call's name with each. The text of an output is
// sent as a text also where it is JSON: as an object its numbers would be floats to the server.
func results(answer, given []model.Item) []part {
	var parts []part
	for _, item := range given {
		key := "output"
		if item.Failed {
			key = "error"
		}
		response := &genai.FunctionResponse{ID: item.CallID, Response: map[string]any{key: item.Output}}
		for i := range answer {
			if answer[i].Kind == model.ToolCallItem && answer[i].CallID == item.CallID {
				response.Name = sentName(answer[i].Name)
			}
		}
		parts = append(parts, part{FunctionResponse: response})
	}
	return parts
}

// placeholder takes the place of the signature of a call that another model made.
const placeholder = "skip_thought_signature_validator"

// unsigned matches the models that came before signatures were wanted. They know no placeholder.
var unsigned = regexp.MustCompile(`(^|/)(gemini-[12]\b|gemma-|learnlm-)`)

// signs reports whether a model wants each step's first call to have a signature.
func signs(name string) bool { return !unsigned.MatchString(name) }

// answer are the parts of a model's answer: texts, calls, and of the thoughts those that are signed. One of thoughts
// alone has said nothing and has none.
func (w *contentWriter) answer(items []model.Item) []part {
	if !slices.ContainsFunc(items, func(item model.Item) bool { return item.Kind != model.ReasoningItem }) {
		return nil
	}
	var parts []part
	called := false
	for i := range items {
		item := &items[i]
		signed := w.own(item)
		if item.Kind != model.ToolCallItem {
			parts = append(parts, signed.parts(item)...)
			continue
		}
		call := part{
			FunctionCall:     &functionCall{ID: item.CallID, Name: sentName(item.Name), Args: arguments(item.Arguments)},
			ThoughtSignature: signed.Signature,
		}
		if w.signs && !called && call.ThoughtSignature == "" {
			call.ThoughtSignature = placeholder
		}
		called = true
		parts = append(parts, call)
	}
	return parts
}

// arguments are those of a call. What is no JSON, which Check refuses, is a string, which the server refuses.
func arguments(given json.RawMessage) json.RawMessage {
	if len(given) > 0 && !json.Valid(given) {
		given, _ = json.Marshal(string(given)) // a string always encodes
	}
	return given
}

// own is what this provider and model gave with an item, nothing where it is of others.
func (w *contentWriter) own(item *model.Item) (s signed) {
	if p := item.Private; p != nil && p.Provider == w.provider && p.Model == w.model {
		if json.Unmarshal(p.Data, &s) != nil || !s.sound() {
			return signed{}
		}
	}
	return s
}
