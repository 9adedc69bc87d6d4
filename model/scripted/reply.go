package scripted

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// Reply is what one attempt does: reasoning, then text, then calls, then an end. The fields from Wait on
// take the place of the end, in their order; a reply without any of them ends well.
type Reply struct {
	Reasoning string
	Text      string
	Calls     []ToolCall
	// Private is put on the reasoning, or on the text when there is no reasoning.
	Private *model.Private
	// Stop is why the answer ended. "" goes by the content: tool_calls with calls, else end.
	Stop model.StopReason
	// Usage defaults to a count of four bytes a token over the request and the reply; an image and a PDF have 1,600.
	Usage api.Usage

	Delay time.Duration // before the first piece
	Pace  time.Duration // before each piece; 0 means the provider's
	Chunk int           // runes of a piece; 0 means words

	// Wait runs after the pieces. An error ends the attempt with it; nil goes on.
	Wait func(context.Context) error
	// Silent sends nothing more: the attempt is cut after the provider's StreamIdle, or cancelled.
	Silent bool
	// Panic is the value that the provider panics with.
	Panic any
	// Err ends the attempt; one that is no *model.Error becomes kind unclassified.
	Err error
}

// ToolCall is a call as a provider gives it: the ID may be empty or repeated, the arguments any text.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Response is the whole answer of a reply that ends well. It is a function of its arguments.
func (r Reply) Response(req model.Request) model.Response {
	resp := model.Response{Stop: r.Stop, Usage: r.Usage}
	if r.Reasoning != "" {
		resp.Items = append(resp.Items, model.ResponseItem{Kind: model.ReasoningItem, Text: r.Reasoning})
	}
	if r.Text != "" {
		resp.Items = append(resp.Items, model.ResponseItem{Kind: model.AssistantItem, Text: r.Text})
	}
	if len(resp.Items) > 0 {
		resp.Items[0].Private = r.Private
	}
	for _, call := range r.Calls {
		resp.Items = append(resp.Items, model.ResponseItem{
			Kind: model.ToolCallItem, ProviderCallID: call.ID, Name: call.Name, Arguments: call.Arguments,
		})
	}
	if resp.Stop == "" {
		resp.Stop = model.StopEnd
		if len(r.Calls) > 0 {
			resp.Stop = model.StopToolCalls
		}
	}
	if resp.Usage == (api.Usage{}) {
		resp.Usage = r.count(req)
	}
	return resp
}

// fileTokens is what an image or a PDF counts for, whatever its size.
const fileTokens = 1600

// count estimates usage as tokens of four bytes.
func (r Reply) count(req model.Request) api.Usage {
	in := len(req.Instructions)
	for _, item := range req.Items {
		in += len(item.Text) + len(item.Name) + len(item.Arguments) + len(item.Output)
		for _, part := range item.Parts {
			if in += len(part.Text); part.IsImage() || part.IsPDF() {
				in += 4 * fileTokens
			} else {
				in += len(part.Data)
			}
		}
	}
	reasoning, out := len(r.Reasoning), len(r.Reasoning)+len(r.Text)
	for _, call := range r.Calls {
		out += len(call.Name) + len(call.Arguments)
	}
	return api.Usage{InputTokens: tokens(in), OutputTokens: tokens(out), ReasoningTokens: tokens(reasoning)}
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// Text is a reply of text.
func Text(text string) Reply { return Reply{Text: text} }

// Calls is a reply of tool calls.
func Calls(calls ...ToolCall) Reply { return Reply{Calls: calls} }

// Call is a reply of one tool call with an ID that every reply repeats, as some servers do.
func Call(name, arguments string) Reply {
	return Calls(ToolCall{ID: "call_0", Name: name, Arguments: arguments})
}

// Fail is a reply that is an error of the kind.
func Fail(kind model.ErrorKind, message string) Reply {
	return Reply{Err: &model.Error{Kind: kind, Message: message}}
}

// Cut is a reply whose stream ends after text, without its end mark.
func Cut(text string) Reply {
	return Reply{Text: text, Err: &model.Error{Kind: model.KindCut, Message: "the stream ended without its end mark"}}
}

// Sequence is a script that gives the replies in the order in which requests come; after the last it fails
// with kind refused. It suits one session; with several use [ByRound], which looks at the request only.
func Sequence(replies ...Reply) func(model.Request, int) Reply {
	var next atomic.Int64
	return func(model.Request, int) Reply {
		i := int(next.Add(1)) - 1
		if i >= len(replies) {
			return Reply{Err: &model.Error{Kind: model.KindRefused, Message: "the script has no more replies"}}
		}
		return replies[i]
	}
}

// ByRound is a script that gives each turn the same replies: the first to the user's message, the second to
// the results of the first's calls, and so on; the last one repeats. It is a function of the request.
func ByRound(replies ...Reply) func(model.Request, int) Reply {
	return func(req model.Request, _ int) Reply {
		if len(replies) == 0 {
			return Reply{Err: &model.Error{Kind: model.KindRefused, Message: "the script is empty"}}
		}
		return replies[min(Round(req), len(replies)-1)]
	}
}

// Round counts the answers since the last user item: 0 when the user's message is what is to be answered.
func Round(req model.Request) int {
	rounds := 0
	for i := len(req.Items) - 1; i > 0 && req.Items[i].Kind != model.UserItem; i-- {
		if req.Items[i].Kind == model.ToolResultItem && req.Items[i-1].Kind != model.ToolResultItem {
			rounds++
		}
	}
	return rounds
}

// LastUser returns the text of the last user item: of one with files its texts, a line break between two.
func LastUser(req model.Request) string {
	item := lastUser(req)
	if len(item.Parts) == 0 {
		return item.Text
	}
	var texts []string
	for _, part := range item.Parts {
		if part.MediaType == "" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func lastUser(req model.Request) (last model.Item) {
	for _, item := range req.Items {
		if item.Kind == model.UserItem {
			last = item
		}
	}
	return last
}
