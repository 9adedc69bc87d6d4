package runtime

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/strictjson"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// BuildRequest makes a model's request of a conversation. The conversation is whole by construction: a
// model call is due only when every call before it has its result.
func BuildRequest(agent *Agent, s Start) model.Request {
	turn := s.State.Turn
	req := model.Request{
		Model: turn.Model.Name, Instructions: agent.Definition.Instructions, Tools: agent.Declarations,
		Items: s.Items, Encoded: s.Encoded, NoTools: turn.Call.Closing && len(agent.Declarations) > 0, MaxOutputTokens: turn.Call.Max, Session: s.State.Session,
	}
	if s.Guidance.Addendum != "" {
		req.Instructions = strings.TrimPrefix(req.Instructions+"\n\n"+s.Guidance.Addendum, "\n\n")
	}
	return req
}

// requestInput is a turn's request with the texts that its instructions are made of, for guardrails.
func requestInput(agent *Agent, s Start, req model.Request) policy.Input {
	in := policy.Input{Request: req, Instructions: []string{}, Tools: agent.catalogue}
	for _, text := range []string{agent.Definition.Instructions, s.Guidance.Addendum} {
		if text != "" {
			in.Instructions = append(in.Instructions, text)
		}
	}
	return in
}

// toldItems are entries for whoever judges or summarises a conversation: the host's own words are the host's.
func toldItems(entries []engine.Entry) []model.Item {
	items := requestItems(nil, entries)
	for i := range entries {
		switch entries[i].Kind {
		case engine.EntryNotice:
			items[i].Kind = policy.NoticeItem
		case engine.EntrySummary:
			items[i].Kind = policy.SummaryItem
		}
	}
	return items
}

// requestItems appends the items of entries, all of which are whole, to those of a conversation.
func requestItems(items []model.Item, entries []engine.Entry) []model.Item {
	if len(items) == 0 {
		items = slices.Grow(items, len(entries)+len(entries)/8)
	}
	for i := range entries {
		e := &entries[i]
		item := model.Item{Text: e.Text, Parts: parts(e.Content)}
		switch e.Kind {
		case engine.EntryUser, engine.EntryNotice, engine.EntrySummary:
			item.Kind = model.UserItem
		case engine.EntryText:
			item.Kind = model.AssistantItem
		case engine.EntryReasoning:
			item.Kind = model.ReasoningItem
		case engine.EntryCall:
			item = model.Item{Kind: model.ToolCallItem, CallID: e.CallID, Name: e.Name, Arguments: json.RawMessage(e.Arguments)}
		case engine.EntryResult:
			item = model.Item{Kind: model.ToolResultItem, CallID: e.CallID, Output: e.Text, Failed: e.Code != ""}
		}
		if len(e.Private) > 0 {
			var p model.Private
			if json.Unmarshal(e.Private, &p) == nil {
				item.Private = &p
			}
		}
		items = append(items, item)
	}
	return items
}

// parts are the blocks of a message, its files without their bytes.
func parts(blocks []engine.Block) []model.Part {
	if blocks == nil {
		return nil
	}
	out := make([]model.Part, len(blocks))
	for i, b := range blocks {
		out[i].Text = b.Text
		if f := b.File; f != nil {
			out[i] = model.Part{ID: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size}
		}
	}
	return out
}

// answerItems puts a model's answer into stored form, with what is wrong with each call. Nothing invalid
// is stored, since each later request says it again: arguments that do not parse, or that some provider cannot read, are
// replaced, and their start is quoted in the verdict (RU5, RU8, C40).
func answerItems(agent *Agent, resp model.Response) []engine.Item {
	items := make([]engine.Item, 0, len(resp.Items))
	for _, it := range resp.Items {
		out := engine.Item{Text: strings.ToValidUTF8(it.Text, "\uFFFD")}
		if it.Private != nil {
			out.Private, _ = json.Marshal(it.Private)
		}
		switch it.Kind {
		case model.AssistantItem:
			if out.Text == "" {
				continue
			}
			out.Kind = engine.ItemText
		case model.ReasoningItem:
			out.Kind = engine.ItemReasoning
		case model.ToolCallItem:
			out = callItem(agent, it, out.Private, resp.Stop)
		default:
			continue
		}
		items = append(items, out)
	}
	return items
}

func callItem(agent *Agent, it model.ResponseItem, private []byte, stop model.StopReason) engine.Item {
	out := engine.Item{Kind: engine.ItemCall, Name: it.Name, Arguments: strings.TrimSpace(string(model.MendJSON([]byte(it.Arguments)))), Private: private}
	if out.Arguments == "" {
		out.Arguments = "{}" // a tool without parameters: some servers send nothing
	}
	if mapped, err := tool.ModelName(out.Name); err != nil || mapped != out.Name {
		out.Name = "invalid_tool_name"
	}
	if schema := agent.schemas[out.Name]; schema != nil && stop != model.StopOutputLimit {
		if err := schema.Validate([]byte(out.Arguments)); err != nil {
			e := api.AsError(err)
			out.Code, out.Message = e.Code, "Not run: "+e.Message
		}
	}
	if _, err := strictjson.Object([]byte(out.Arguments), tool.MaxArgumentsDepth); err != nil {
		if out.Code == "" {
			out.Code, out.Message = api.CodeArgumentsInvalid, fmt.Sprintf("Not run: the arguments are not acceptable: %v.", err)
		}
		out.Message += fmt.Sprintf(" The arguments began: %q", firstBytes(out.Arguments, 200))
		out.Arguments = "{}"
	}
	return out
}

func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
