package agentfile

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Write writes a definition as a file that [Parse] reads back as the same agent, where the host has its tools. Text of
// several lines stands as a block, as far as YAML has it without tricks.
func Write(def api.AgentDefinition) []byte {
	w := &writer{}
	w.text("name", def.Name)
	w.text("instructions", def.Instructions)
	var tools []string
	for _, t := range def.Tools {
		tools = append(tools, t.Name)
	}
	w.list("tools", tools)
	if a := def.Approvals; a.Mode != "" {
		w.within("approvals", func(w *writer) {
			w.text("mode", string(a.Mode))
			w.list("tools", a.Tools)
			if a.ReviewerModel != nil {
				w.text("reviewerModel", a.ReviewerModel.String())
			}
		})
	}
	w.text("defaultModel", def.DefaultModel.String())
	w.within("limits", func(w *writer) {
		w.number("maxModelCalls", def.Limits.MaxModelCalls)
		w.number("maxOutputTokens", def.Limits.MaxOutputTokens)
		w.number("maxOutputTokensPerCall", def.Limits.MaxOutputTokensPerCall)
		w.number("summaryTokens", def.Limits.SummaryTokens)
	})
	w.within("builtinTools", func(w *writer) {
		w.flag("askUser", def.BuiltinTools.AskUser)
		w.flag("readHistory", def.BuiltinTools.ReadHistory)
	})
	w.text("unknownOutcome", string(def.UnknownOutcome))
	if def.AutoSkipQuestions {
		w.flag("autoSkipQuestions", &def.AutoSkipQuestions)
	}
	if def.AutoApproverContext != nil {
		w.text("autoApproverContext", *def.AutoApproverContext)
	}
	if def.Compaction != nil && def.Compaction.AdditionalInstructions != nil {
		w.within("compaction", func(w *writer) { w.text("additionalInstructions", *def.Compaction.AdditionalInstructions) })
	}
	w.list("guardrails", def.Guardrails)
	w.list("hooks", def.Hooks)
	return []byte(w.out.String())
}

// writer writes the fields of a map, a line each. What is empty is left out.
type writer struct {
	out    strings.Builder
	indent string
}

func (w *writer) line(name, value string) { w.out.WriteString(w.indent + name + ": " + value + "\n") }

func (w *writer) within(name string, fields func(*writer)) {
	inner := &writer{indent: w.indent + "  "}
	fields(inner)
	if inner.out.Len() > 0 {
		w.out.WriteString(w.indent + name + ":\n" + inner.out.String())
	}
}

func (w *writer) number(name string, n *int) {
	if n != nil {
		w.line(name, strconv.Itoa(*n))
	}
}

func (w *writer) flag(name string, b *bool) {
	if b != nil {
		w.line(name, strconv.FormatBool(*b))
	}
}

func (w *writer) list(name string, items []string) {
	var words []string
	for _, item := range items {
		words = append(words, word(item))
	}
	if len(words) > 0 {
		w.line(name, "["+strings.Join(words, ", ")+"]")
	}
}

var (
	// plain is what YAML takes for text however it stands; the words for other values are quoted all the same.
	plain    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)
	reserved = regexp.MustCompile(`^(?i:true|false|null|yes|no|on|off|y|n)$`)
	// block is text of lines that neither begin nor end with white space and hold no control characters.
	block = regexp.MustCompile(`^[^\s\pC](?:[^\n\pC\pZ]| [^\n\pC\pZ])*(?:\n+[^\s\pC\pZ](?:[^\n\pC\pZ]| [^\n\pC\pZ])*)+\n?$`)
)

func (w *writer) text(name, text string) {
	switch {
	case text == "":
	case block.MatchString(text):
		mark := "|-"
		if strings.HasSuffix(text, "\n") {
			mark = "|"
		}
		w.line(name, mark)
		for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
			if line != "\n" {
				w.out.WriteString(w.indent + "  ")
			}
			w.out.WriteString(line)
		}
	default:
		w.line(name, word(text))
	}
}

// word is text on one line.
func word(text string) string {
	if plain.MatchString(text) && !reserved.MatchString(text) {
		return text
	}
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted) // a string of JSON is one of YAML
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string cannot fail
	return strings.TrimSuffix(quoted.String(), "\n")
}
