package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/model"
)

// demoQuote bounds, in runes, what the demo model repeats of a text.
const demoQuote = 400

// demoCount bounds "count to N".
const demoCount = 5000

// Demo is the offline model: rules, and it says so. It greets, counts, explains itself, calls tools that the
// user names ("use TOOL with {json}", one a line, in parallel), tells what they returned, and otherwise
// repeats the message and names the files that came with it. It obeys NoTools and MaxOutputTokens at four bytes a token.
func Demo(req model.Request) Reply {
	reply := demoReply(req)
	if limit := req.MaxOutputTokens * 4; limit > 0 && len(reply.Text) > limit {
		reply = Reply{Text: strings.ToValidUTF8(reply.Text[:limit], ""), Stop: model.StopOutputLimit}
	}
	return reply
}

func demoReply(req model.Request) Reply {
	if results := lastResults(req); len(results) > 0 {
		return Text(tellResults(req, results))
	}
	text := strings.TrimSpace(LastUser(req))
	if reply, ok := useTools(req, text); ok {
		return reply
	}
	word, rest, _ := strings.Cut(strings.ToLower(strings.Trim(text, ".!? ")), " ")
	switch word {
	case "hello", "hi", "hey", "hallo", "hola", "bonjour":
		return Text("Hello! I am the offline model of OpenWorker: a few rules and no language model, but the session around me is real. Say \"help\" to see what I can do.")
	case "help":
		return Text(demoHelp(req))
	case "count":
		if n, err := strconv.Atoi(strings.TrimPrefix(rest, "to ")); err == nil && n > 0 {
			return Text(countTo(min(n, demoCount)))
		}
	case "thanks", "thank", "bye":
		return Text("You are welcome. This session is stored; come back to it at any time.")
	}
	return Text(fmt.Sprintf("This is the offline model, so I can only repeat what you wrote, message %d of this conversation: %s%s",
		countUsers(req), quote(text), tellFiles(lastUser(req))))
}

// tellFiles names the files of an item, "" where it has none.
func tellFiles(item model.Item) string {
	var files []string
	for _, part := range item.Parts {
		if part.MediaType != "" {
			files = append(files, fmt.Sprintf("%s (%s, %d bytes)", part.Name, part.MediaType, len(part.Data)))
		}
	}
	if len(files) == 0 {
		return ""
	}
	return ". With it came " + strings.Join(files, ", ") + "."
}

// useTools reads lines of the form "use TOOL with {json}"; ok is false when there is none.
func useTools(req model.Request, text string) (Reply, bool) {
	var calls []ToolCall
	for line := range strings.Lines(text) {
		name, arguments, ok := parseUse(line)
		if !ok {
			continue
		}
		tool, known := findTool(req, name)
		switch {
		case req.NoTools:
			return Text("I may not use a tool in this answer."), true
		case !known:
			return Text(fmt.Sprintf("I have no tool %s. %s", quote(name), listTools(req))), true
		case !isObject(arguments):
			return Text(fmt.Sprintf("The arguments %s are not a JSON object, so I did not call %s.", quote(arguments), tool)), true
		}
		calls = append(calls, ToolCall{ID: fmt.Sprintf("demo_%d", len(calls)), Name: tool, Arguments: arguments})
	}
	return Calls(calls...), len(calls) > 0
}

func parseUse(line string) (name, arguments string, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) < 4 || !strings.EqualFold(line[:4], "use ") {
		return "", "", false
	}
	name, arguments, _ = strings.Cut(strings.TrimSpace(line[4:]), " ")
	arguments = strings.TrimSpace(arguments)
	if len(arguments) >= 4 && strings.EqualFold(arguments[:4], "with") {
		arguments = strings.TrimSpace(arguments[4:])
	} else if arguments != "" {
		return "", "", false // "use your imagination"
	}
	if arguments == "" {
		arguments = "{}"
	}
	return name, arguments, true
}

// findTool takes a tool's name as the model sees it or as the catalogue spells it.
func findTool(req model.Request, name string) (string, bool) {
	seen := strings.ReplaceAll(name, ".", "__")
	for _, tool := range req.Tools {
		if tool.Name == name || tool.Name == seen {
			return tool.Name, true
		}
	}
	return "", false
}

func isObject(text string) bool {
	data := bytes.TrimSpace([]byte(text))
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// lastResults are the results at the end of the request, none when a user item is to be answered.
func lastResults(req model.Request) []model.Item {
	from := len(req.Items)
	for from > 0 && req.Items[from-1].Kind == model.ToolResultItem {
		from--
	}
	return req.Items[from:]
}

func tellResults(req model.Request, results []model.Item) string {
	names := make(map[string]string, len(results))
	for i := len(req.Items) - len(results) - 1; i >= 0 && len(names) < len(results); i-- {
		if item := req.Items[i]; item.Kind == model.ToolCallItem {
			names[item.CallID] = item.Name
		}
	}
	lines := make([]string, 0, len(results))
	for _, result := range results {
		verb := "returned"
		if result.Failed {
			verb = "did not succeed:"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", names[result.CallID], verb, quote(result.Output)))
	}
	return strings.Join(lines, "\n")
}

func demoHelp(req model.Request) string {
	return "I am the offline model: I follow rules and know nothing. I repeat what you write, \"count to 100\" streams for a while, " +
		"and \"use TOOL with {json}\" calls a tool. " + listTools(req) +
		" For a real model set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama; openworker doctor says what is there. " +
		"Until then try: use calculate with {\"expression\": \"6*7\"}"
}

func listTools(req model.Request) string {
	if len(req.Tools) == 0 {
		return "This agent has no tools."
	}
	names := make([]string, len(req.Tools))
	for i, tool := range req.Tools {
		names[i] = tool.Name
	}
	return "This agent's tools: " + strings.Join(names, ", ") + "."
}

func countUsers(req model.Request) int {
	n := 0
	for _, item := range req.Items {
		if item.Kind == model.UserItem {
			n++
		}
	}
	return n
}

func countTo(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteString(", ")
	}
	b.WriteString(strconv.Itoa(n))
	b.WriteByte('.')
	return b.String()
}

// quote repeats a text between quotation marks, cut when it is long.
func quote(text string) string {
	if runes := []rune(text); len(runes) > demoQuote {
		text = string(runes[:demoQuote]) + "…"
	}
	return "\u201c" + text + "\u201d"
}
