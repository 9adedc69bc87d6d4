package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// The item types that an answer has. Others are of tools that run at the provider.
const (
	typeMessage   = "message"
	typeReasoning = "reasoning"
	typeCall      = "function_call"
)

// event is what is read of an event of the stream.
type event struct {
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	OutputIndex  int             `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Arguments    string          `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     *response       `json:"response"`
}

// response is what is read of the response in an event that ends the stream.
type response struct {
	Status            string            `json:"status"`
	Output            []json.RawMessage `json:"output"`
	Usage             *usage            `json:"usage"`
	Error             wire.ErrorObject  `json:"error"`
	IncompleteDetails struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

type usage struct {
	InputTokens        wire.Number `json:"input_tokens"`
	OutputTokens       wire.Number `json:"output_tokens"`
	InputTokensDetails struct {
		CachedTokens wire.Number `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		ReasoningTokens wire.Number `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) usage() api.Usage {
	return api.Usage{
		InputTokens: u.InputTokens.Value, CachedInputTokens: u.InputTokensDetails.CachedTokens.Value,
		OutputTokens: u.OutputTokens.Value, ReasoningTokens: u.OutputTokensDetails.ReasoningTokens.Value,
	}
}

// fault says in the words that all protocols share what a failed response tells: some of its codes are the
// request's fault, and another attempt would not help.
func (r *response) fault() *wire.Fault {
	out := r.Error.Fault
	for _, of := range []string{"invalid_", "image", "policy", "data_residency"} {
		if strings.Contains(out.Code, of) {
			out.Type = "invalid_request_error"
		}
	}
	return &out
}

// outputItem is what is read of an item.
type outputItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	Phase     string `json:"phase"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []part `json:"content"`
	Summary   []part `json:"summary"`
}

type part struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// kind is "" for an item of a type that we do not have.
func (i *outputItem) kind() model.ItemKind {
	switch i.Type {
	case typeMessage:
		return model.AssistantItem
	case typeReasoning:
		return model.ReasoningItem
	case typeCall:
		return model.ToolCallItem
	}
	return ""
}

// text is the item's whole text, as its pieces give it: the parts of reasoning are paragraphs.
func (i *outputItem) text() string {
	var b strings.Builder
	for _, part := range slices.Concat(i.Summary, i.Content) {
		said := part.Text + part.Refusal
		if said != "" && b.Len() > 0 && i.Type == typeReasoning {
			b.WriteString(paragraph)
		}
		b.WriteString(said)
	}
	return b.String()
}

// paragraph stands between the parts of reasoning.
const paragraph = "\n\n"

// decodeEvent decodes an event. One of a type that is not read may be of any form.
func decodeEvent(data []byte) (event, *model.Error) {
	var e event
	if err := tolerate(json.Unmarshal(data, &e), !eventTypes[e.Type]); err != nil {
		return e, wire.Malformed("an event of the answer is not what the protocol has: " + err.Error())
	}
	return e, nil
}

// tolerate drops an error that says that a field has another type than ours, where that field may not be ours.
func tolerate(err error, foreign bool) error {
	var other *json.UnmarshalTypeError
	if foreign && errors.As(err, &other) {
		return nil
	}
	return err
}

// The events that are read. Others repeat what these say, or are of tools that run at the provider.
const (
	eventItemAdded      = "response.output_item.added"
	eventItemDone       = "response.output_item.done"
	eventText           = "response.output_text.delta"
	eventRefusal        = "response.refusal.delta"
	eventSummary        = "response.reasoning_summary_text.delta"
	eventReasoning      = "response.reasoning_text.delta"
	eventArguments      = "response.function_call_arguments.delta"
	eventArgumentsWhole = "response.function_call_arguments.done"
	eventCompleted      = "response.completed"
	eventIncomplete     = "response.incomplete"
	eventFailed         = "response.failed"
	eventError          = "error"
)

var eventTypes = map[string]bool{
	eventItemAdded: true, eventItemDone: true, eventText: true, eventRefusal: true, eventSummary: true, eventReasoning: true,
	eventArguments: true, eventArgumentsWhole: true, eventCompleted: true, eventIncomplete: true, eventFailed: true,
}
