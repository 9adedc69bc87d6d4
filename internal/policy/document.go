package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/openworkerai/openworker/model"
)

// What the host says in a conversation, beside the kinds of package model: a notice, such as a result that came late,
// and a summary of older items. To a model of a turn both are the user's; who judges or summarises is told whose
// they are.
const (
	NoticeItem  model.ItemKind = "notice"
	SummaryItem model.ItemKind = "summary_of_older_items"
)

// line is an item of a conversation as a document shows it. Its content is in quoted strings, and what was cut is told
// in a field of its own, so that no content can pass for the document's.
type line struct {
	Role      string `json:"role"`           // user, assistant, tool, or host: the program that runs the agent
	Tool      string `json:"tool,omitempty"` // as the model names it
	Failed    bool   `json:"failed,omitempty"`
	Text      string `json:"text,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"untrusted_result,omitempty"`
	// LeftOut bytes are missing behind the content's beginning; End is what comes after them.
	LeftOut int    `json:"bytes_left_out,omitempty"`
	End     string `json:"end,omitempty"`
	Files   []file `json:"files,omitempty"`
}

// file describes a file without its body (CO3).
type file struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Bytes int64  `json:"bytes"`
}

// lines shows the items at some places, nil for all. A content of more than bound bytes is cut in its middle. Reasoning is
// left out: it was meant for nobody.
func lines(items []model.Item, at []int, bound int) []line {
	shown, tools := make([]line, 0, len(items)), map[string]string{}
	for i := range items {
		item := &items[i]
		if item.Kind == model.ToolCallItem {
			tools[item.CallID] = item.Name
		}
		if at != nil && !slices.Contains(at, i) {
			continue
		}
		var l line
		switch item.Kind {
		case NoticeItem, SummaryItem: // a tool's words may be in it
			l.Role, l.Tool = "host", string(item.Kind)
			l.Result, l.LeftOut, l.End = cut(item.Text, bound)
		case model.UserItem:
			l.Role = "user"
			l.Text, l.LeftOut, l.End = cut(said(item), bound)
			for _, part := range item.Parts {
				if part.MediaType != "" {
					l.Files = append(l.Files, file{Name: part.Name, Type: part.MediaType, Bytes: size(part)})
				}
			}
		case model.AssistantItem:
			l.Role = "assistant"
			l.Text, l.LeftOut, l.End = cut(item.Text, bound)
		case model.ToolCallItem:
			l.Role, l.Tool = "assistant", item.Name
			l.Arguments, l.LeftOut, l.End = cut(string(item.Arguments), bound)
		case model.ToolResultItem:
			l.Role, l.Tool, l.Failed = "tool", tools[item.CallID], item.Failed
			l.Result, l.LeftOut, l.End = cut(item.Output, bound)
		default:
			continue
		}
		shown = append(shown, l)
	}
	return shown
}

// said is what a user's item says, its files apart.
func said(item *model.Item) string {
	if len(item.Parts) == 0 {
		return item.Text
	}
	var texts []string
	for _, part := range item.Parts {
		if part.MediaType == "" {
			texts = append(texts, part.Text)
		}
	}
	return joined(texts)
}

// cut leaves out the middle of a text of more than bound bytes: three quarters of the bound are of its beginning, the
// rest of its end, less what would tear a character apart.
func cut(text string, bound int) (begin string, leftOut int, end string) {
	if len(text) <= bound {
		return text, 0, ""
	}
	a, z := bound*3/4, len(text)-bound/4
	for a > 0 && !utf8.RuneStart(text[a]) {
		a--
	}
	for z < len(text) && !utf8.RuneStart(text[z]) {
		z++
	}
	return text[:a], z - a, text[z:]
}

// document is v in JSON, in which characters that hide or reorder text are spelled out, so that a reader sees what is
// there. With marks, so are < and >, in which the marks of some models' own templates stand.
func document(v any, marks bool) string {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(marks)
	_ = encoder.Encode(v) // strings and numbers always encode
	var b strings.Builder
	for _, r := range strings.TrimSuffix(data.String(), "\n") {
		switch {
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
