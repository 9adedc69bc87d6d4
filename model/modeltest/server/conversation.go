package modeltestserver

import (
	"errors"
	"fmt"
	"regexp"
)

// conversation collects the messages of a request and checks what holds in every protocol: the user speaks first
// and last or results do, an answer's calls are followed at once by their results in the order of the calls, no ID
// recurs, arguments are objects, nothing is empty.
type conversation struct {
	names    *regexp.Regexp // what a tool may be called
	messages []Message
	due      []Call // calls whose results must come next
	seen     map[string]bool
	begun    bool // a user's message has come
}

func newConversation(names *regexp.Regexp) *conversation {
	return &conversation{names: names, seen: map[string]bool{}}
}

func (c *conversation) add(m Message) error {
	if m.Role != "tool" && len(c.due) > 0 {
		return fmt.Errorf("role %q where the result of call %s must stand", m.Role, c.due[0].ID)
	}
	switch m.Role {
	case "system":
		if len(c.messages) > 0 {
			return errors.New("the system's message is not at the start")
		}
	case "user":
		if m.Content == "" && len(m.Parts) == 0 {
			return errors.New("the user's content is empty")
		}
		c.begun = true
	case "assistant":
		if err := c.addAnswer(m); err != nil {
			return err
		}
	case "tool":
		if len(c.due) == 0 || c.due[0].ID != m.ToolCallID {
			return fmt.Errorf("no tool call found for the result of call %q, due are %q", m.ToolCallID, ids(c.due))
		}
		c.due = c.due[1:]
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	c.messages = append(c.messages, m)
	return nil
}

func (c *conversation) addAnswer(m Message) error {
	if !c.begun {
		return errors.New("the assistant speaks first")
	}
	if len(m.Calls) == 0 && m.Content == "" {
		return errors.New("an answer with neither content nor calls")
	}
	for _, call := range m.Calls {
		switch {
		case !c.names.MatchString(call.Name):
			return fmt.Errorf("call %q has a bad name", call.ID)
		case call.ID == "" || c.seen[call.ID]:
			return fmt.Errorf("call ID %q is empty or was there before", call.ID)
		case !isObject([]byte(call.Arguments)):
			return fmt.Errorf("the arguments of call %q are not a JSON object", call.ID)
		}
		c.seen[call.ID] = true
		c.due = append(c.due, call)
	}
	return nil
}

// end checks the end, and gives the conversation to the request.
func (c *conversation) end(r *Request) error {
	r.Messages = c.messages
	if len(c.messages) > 0 {
		r.LastRole = c.messages[len(c.messages)-1].Role
	}
	switch {
	case !c.begun:
		return errors.New("no messages of a user")
	case len(c.due) > 0:
		return fmt.Errorf("no tool output: the messages end before call %s has its result", c.due[0].ID)
	case r.LastRole != "user" && r.LastRole != "tool":
		return fmt.Errorf("the last message has role %q: nothing is left to answer", r.LastRole)
	}
	return nil
}

func ids(calls []Call) []string {
	var out []string
	for _, call := range calls {
		out = append(out, call.ID)
	}
	return out
}

// addText adds a text to those that the message has.
func (m *Message) addText(text string) {
	if m.Content != "" && text != "" {
		m.Content += "\n"
	}
	m.Content += text
}
