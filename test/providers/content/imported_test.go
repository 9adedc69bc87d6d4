package content

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

func user(text string) model.Item   { return model.Item{Kind: model.UserItem, Text: text} }
func answer(text string) model.Item { return model.Item{Kind: model.AssistantItem, Text: text} }
func call(id, name string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: name, Arguments: json.RawMessage(`{"q":"x"}`)}
}
func result(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}

// IM1, RU8: a conversation that was written elsewhere may call tools that this agent does not have, and need not
// alternate. Each protocol gets it in a form that its owner takes: the strict server has refused none, and no item is
// lost on the way.
func TestEveryProtocolTakesImportedHistory(t *testing.T) {
	t.Parallel()
	plain := []model.Tool{{Name: "get_weather", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	for name, test := range map[string]struct {
		items []model.Item
		tools []model.Tool
		// standIns are the tools that Anthropic's request must declare for what was called.
		standIns []string
		// want is the conversation as the server understood it, a line a message. Where a protocol makes one message of
		// several of a role the server says so.
		want, merged []string
	}{
		"calls without a tool that is declared": {
			items:    []model.Item{user("Find x"), call("c1", "app__lookup"), result("c1", "found"), answer("It is there."), user("Thanks")},
			standIns: []string{"app__lookup"},
			want:     []string{"user: Find x", "assistant: app__lookup", "tool: found", "assistant: It is there.", "user: Thanks"},
		},
		"calls of several tools, some twice": {
			items: []model.Item{
				user("Find"), answer("First"), call("c1", "app__lookup"), call("c2", "3d"), result("c1", "a"), result("c2", "b"),
				call("c3", "app__lookup"), result("c3", ""), user("And?"),
			},
			standIns: []string{"app__lookup", "3d"},
			want:     []string{"user: Find", "assistant: First app__lookup 3d", "tool: a", "tool: b", "assistant: app__lookup", "tool: ", "user: And?"},
		},
		"calls of tools other than those declared": {
			items: []model.Item{user("Find x"), call("c1", "app__lookup"), result("c1", "found"), user("And the weather?")},
			tools: plain, standIns: []string{"get_weather"},
			want: []string{"user: Find x", "assistant: app__lookup", "tool: found", "user: And the weather?"},
		},
		"results at the end": {
			items: []model.Item{user("Find x"), call("c1", "app__lookup"), result("c1", "found")}, standIns: []string{"app__lookup"},
			want: []string{"user: Find x", "assistant: app__lookup", "tool: found"},
		},
		"the user twice at the beginning": {
			items:  []model.Item{user("Hello"), user("Anyone?"), answer("Yes"), user("Good")},
			want:   []string{"user: Hello", "user: Anyone?", "assistant: Yes", "user: Good"},
			merged: []string{"user: Hello Anyone?", "assistant: Yes", "user: Good"},
		},
		"the assistant twice in a row": {
			items: []model.Item{user("Hello"), answer("Yes?"), answer("I am here."), user("Good")},
			want:  []string{"user: Hello", "assistant: Yes? I am here.", "user: Good"},
		},
		"an answer, and an answer that calls": {
			items:    []model.Item{user("Hello"), answer("Yes?"), answer("I look."), call("c1", "app__lookup"), result("c1", "x"), answer("Found."), answer("Done."), user("Good")},
			standIns: []string{"app__lookup"},
			want:     []string{"user: Hello", "assistant: Yes? I look. app__lookup", "tool: x", "assistant: Found. Done.", "user: Good"},
		},
		"the user many times at the end": {
			items:  []model.Item{user("Hello"), answer("Yes?"), user("a"), user("b"), user("c")},
			want:   []string{"user: Hello", "assistant: Yes?", "user: a", "user: b", "user: c"},
			merged: []string{"user: Hello", "assistant: Yes?", "user: a b c"},
		},
	} {
		for _, s := range subjects() {
			t.Run(name+" "+s.name, func(t *testing.T) {
				t.Parallel()
				got := s.capture(t, model.Request{Instructions: "Be brief.", Items: test.items, Tools: test.tools})
				want := test.want
				if one := s.protocol == modeltestserver.Messages || s.protocol == modeltestserver.Gemini; one && test.merged != nil {
					want = test.merged
				}
				if diff := cmp.Diff(append([]string{"system: Be brief."}, want...), lines(s.protocol, got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				tools, choice := names(test.tools), ""
				if s.protocol == modeltestserver.Messages {
					if tools = test.standIns; test.tools == nil && tools != nil {
						choice = "none"
					}
				}
				if diff := cmp.Diff(tools, got.Tools); diff != "" || got.ToolChoice != choice {
					t.Errorf("tool choice %q, want %q; tools (-want +got):\n%s", got.ToolChoice, choice, diff)
				}
			})
		}
	}
}

func names(tools []model.Tool) (out []string) {
	for _, tool := range tools {
		out = append(out, tool.Name)
	}
	return out
}

// lines are the messages as the server understood them, line breaks as spaces.
func lines(protocol modeltestserver.Protocol, r modeltestserver.Request) (out []string) {
	for _, m := range r.Messages {
		line := m.Role + ": "
		for _, c := range m.Content {
			if c == '\n' {
				c = ' '
			}
			line += string(c)
		}
		for _, c := range m.Calls {
			if line[len(line)-1] != ' ' {
				line += " "
			}
			if name := c.Name; protocol == modeltestserver.Gemini && name == "_3d" { // it takes no digit first
				line += "3d"
			} else {
				line += name
			}
		}
		out = append(out, line)
	}
	return out
}

// Gemini of generation 3 wants a signature on the calls of the turn that it continues, which what came from elsewhere
// cannot have: each step's first call says so.
func TestImportedCallsSayThatTheyHaveNoSignature(t *testing.T) {
	t.Parallel()
	google := subjects()[3]
	got := google.capture(t, model.Request{Items: []model.Item{
		user("Find"), call("c1", "app__lookup"), call("c2", "app__lookup"), result("c1", "a"), result("c2", "b"), call("c3", "app__lookup"), result("c3", "c"),
	}})
	var sent struct {
		Contents []struct {
			Parts []struct {
				FunctionCall     *struct{ ID string }
				ThoughtSignature string
			}
		}
	}
	unmarshal(t, got.Body, &sent)
	signed := map[string]string{}
	for _, content := range sent.Contents {
		for _, part := range content.Parts {
			if part.FunctionCall != nil {
				signed[part.FunctionCall.ID] = part.ThoughtSignature
			}
		}
	}
	const placeholder = "skip_thought_signature_validator"
	if diff := cmp.Diff(map[string]string{"c1": placeholder, "c2": "", "c3": placeholder}, signed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
