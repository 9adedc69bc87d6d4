package modeltestserver

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart holds one of text, inlineData, functionCall and functionResponse.
type geminiPart struct {
	Text             *string                 `json:"text"`
	InlineData       *geminiBlob             `json:"inlineData"`
	FunctionCall     *geminiFunctionCall     `json:"functionCall"`
	FunctionResponse *geminiFunctionResponse `json:"functionResponse"`
	Thought          bool                    `json:"thought"`
	ThoughtSignature string                  `json:"thoughtSignature"`
}

// geminiBlob has no displayName: only Google's cloud knows one.
type geminiBlob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type geminiFunctionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiFunctionResponse struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
	Parts    []struct {
		InlineData *geminiBlob `json:"inlineData"`
	} `json:"parts"`
}

// signingModel matches the models that want the signatures of calls: those of generation 3 and later.
var signingModel = regexp.MustCompile(`^gemini-([3-9]|[1-9][0-9])`)

// skipSignature stands in for the signature of a call that another model made.
const skipSignature = "skip_thought_signature_validator"

// geminiInput turns the contents into messages.
type geminiInput struct {
	talk    *conversation
	model   string
	last    string // "user", "model", or "function" for a content of results
	current bool   // the turn that the request continues: no user has spoken since
}

func (r *Request) takeGeminiContents(wire geminiRequest) error {
	in := &geminiInput{talk: newConversation(validGeminiName), model: r.Model}
	if err := in.addSystem(wire.SystemInstruction); err != nil {
		return fmt.Errorf("systemInstruction: %w", err)
	}
	turn := lastUserContent(wire.Contents)
	for i, content := range wire.Contents {
		in.current = i > turn
		if err := in.add(i, content); err != nil {
			return fmt.Errorf("contents[%d]: %w", i, err)
		}
	}
	if err := in.talk.end(r); err != nil {
		return fmt.Errorf("contents: %w", err)
	}
	return nil
}

// lastUserContent is where the current turn begins: the last content that holds something of the user.
func lastUserContent(contents []geminiContent) int {
	for i := len(contents) - 1; i >= 0; i-- {
		for _, part := range contents[i].Parts {
			if contents[i].Role != "model" && part.FunctionResponse == nil {
				return i
			}
		}
	}
	return -1
}

func (in *geminiInput) addSystem(content *geminiContent) error {
	if content == nil {
		return nil
	}
	message := Message{Role: "system"}
	for i, part := range content.Parts {
		if part.Text == nil || *part.Text == "" {
			return fmt.Errorf("parts[%d] is no text or is empty", i)
		}
		message.addText(*part.Text)
	}
	return in.talk.add(message)
}

func (in *geminiInput) add(i int, content geminiContent) error {
	if len(content.Parts) == 0 {
		return errors.New("contents.parts must not be empty")
	}
	for i, part := range content.Parts {
		if err := part.check(); err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
	}
	switch content.Role {
	case "user", "function":
		return in.addUser(content)
	case "model":
		return in.addModel(i, content)
	}
	return fmt.Errorf("please use a valid role: user, model, got %q", content.Role)
}

// check refuses a part that holds nothing or two things.
func (p geminiPart) check() error {
	held := 0
	for _, has := range []bool{p.Text != nil, p.InlineData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if has {
			held++
		}
	}
	if held != 1 {
		return errors.New("required oneof field 'data' must have one initialized field")
	}
	if p.Text != nil && *p.Text == "" && p.ThoughtSignature == "" {
		return errors.New("the text is empty")
	}
	return nil
}

// addUser adds the results of a content first, and then what the user says in it.
func (in *geminiInput) addUser(content geminiContent) error {
	message := Message{Role: "user"}
	results := 0
	for i, part := range content.Parts {
		var err error
		switch {
		case part.ThoughtSignature != "" || part.Thought || part.FunctionCall != nil:
			err = errors.New("a user's part holds what only a model's can")
		case part.FunctionResponse != nil:
			err = in.addResult(*part.FunctionResponse)
			results++
		case part.Text != nil:
			message.addText(*part.Text)
		default:
			err = part.InlineData.addTo(&message)
		}
		if err != nil {
			return fmt.Errorf("parts[%d]: %w", i, err)
		}
	}
	if results > 0 && len(in.talk.due) > 0 {
		return errors.New("the number of function response parts is not equal to the number of function call parts of the function call turn")
	}
	if results == len(content.Parts) {
		in.last = "function"
		return nil
	}
	if in.last == "user" {
		return errors.New("roles must alternate between user and model")
	}
	in.last = "user"
	return in.talk.add(message)
}

func (in *geminiInput) addResult(response geminiFunctionResponse) error {
	if len(in.talk.due) == 0 {
		return errors.New("function response turn must come immediately after a function call turn")
	}
	call := in.talk.due[0]
	switch {
	case response.Name != call.Name:
		return fmt.Errorf("the function response is of %q, the call was of %q", response.Name, call.Name)
	case response.ID != "" && response.ID != call.ID:
		return fmt.Errorf("the function response has the id %q, the call had %q", response.ID, call.ID)
	case !isObject(response.Response):
		return errors.New("the response of a function is not a JSON object")
	}
	if err := checkStruct(response.Response); err != nil {
		return fmt.Errorf("function response %q: response: %w", response.Name, err)
	}
	message := Message{Role: "tool", ToolCallID: call.ID, Content: resultText(response.Response)}
	for _, part := range response.Parts {
		if part.InlineData == nil {
			return errors.New("a part of a function response without inlineData")
		}
		if err := part.InlineData.addTo(&message); err != nil {
			return err
		}
	}
	message.Failed = hasError(response.Response)
	return in.talk.add(message)
}

func (b geminiBlob) addTo(m *Message) error {
	part, err := newPart(b.MIMEType, "", b.Data, "application/pdf", "image/png", "image/jpeg", "image/webp")
	m.Parts = append(m.Parts, part)
	return err
}

// resultText is the text of a result under the keys that the API documents, or all of the object.
func resultText(response json.RawMessage) string {
	var known struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	if json.Unmarshal(response, &known) == nil {
		if known.Output != nil {
			return *known.Output
		}
		if known.Error != nil {
			return *known.Error
		}
	}
	return string(response)
}

func hasError(response json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(response, &fields) == nil && fields["error"] != nil
}

func (in *geminiInput) addModel(i int, content geminiContent) error {
	if in.last == "model" {
		return errors.New("function call turn must come immediately after a user turn or after a function response turn, and roles must alternate")
	}
	in.last = "model"
	message := Message{Role: "assistant"}
	for j, part := range content.Parts {
		if err := in.addPart(&message, part, fmt.Sprintf("content_%d_call_%d", i, len(message.Calls))); err != nil {
			return fmt.Errorf("parts[%d]: %w", j, err)
		}
	}
	return in.talk.add(message)
}

func (in *geminiInput) addPart(m *Message, part geminiPart, place string) error {
	first := part.FunctionCall != nil && len(m.Calls) == 0
	if err := in.checkSignature(part, first); err != nil {
		return err
	}
	switch {
	case part.Thought && (part.Text == nil || part.ThoughtSignature == ""):
		return errors.New("a thought that is no text or has no signature")
	case part.Thought:
		m.Reasoning = append(m.Reasoning, Reasoning{Text: *part.Text, Private: part.ThoughtSignature})
		return nil
	case part.Text != nil:
		m.addText(*part.Text)
	case part.FunctionCall != nil:
		call := Call{ID: part.FunctionCall.ID, Name: part.FunctionCall.Name, Arguments: string(part.FunctionCall.Args)}
		if call.ID == "" {
			call.ID = place
		}
		if part.FunctionCall.Args == nil {
			call.Arguments = "{}"
		}
		if err := checkStruct([]byte(call.Arguments)); err != nil {
			return fmt.Errorf("function call %q: args: %w", call.Name, err)
		}
		m.Calls = append(m.Calls, call)
	default:
		return errors.New("a model's part that is neither text nor a function call")
	}
	if part.ThoughtSignature != "" {
		m.Reasoning = append(m.Reasoning, Reasoning{Private: part.ThoughtSignature})
	}
	return nil
}

// checkSignature checks a part's signature, which signing models want on the first call of each step of the turn
// that is under way.
func (in *geminiInput) checkSignature(part geminiPart, firstCall bool) error {
	signature := part.ThoughtSignature
	if signature == "" {
		if firstCall && in.current && signingModel.MatchString(in.model) {
			return fmt.Errorf("function call %q is missing a thought_signature", part.FunctionCall.Name)
		}
		return nil
	}
	decoded, err := decodeBytes(signature)
	if err != nil {
		return fmt.Errorf("invalid value at 'thought_signature': base64 decoding failed: %w", err)
	}
	if part.FunctionCall != nil && (signature == skipSignature || string(decoded) == skipSignature) {
		return nil
	}
	if _, err := unseal(Gemini, in.model, signature); err != nil {
		return fmt.Errorf("corrupted thought signature: %w", err)
	}
	return nil
}

// decodeBytes takes both alphabets, as the API does.
func decodeBytes(s string) ([]byte, error) {
	if strings.ContainsAny(s, "-_") {
		return base64.URLEncoding.DecodeString(s)
	}
	return base64.StdEncoding.DecodeString(s)
}
