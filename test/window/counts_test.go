package window

import (
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// tokenizer tells the tokens of a request.
type tokenizer func(modeltestserver.Request) int

// every counts a token for so many bytes, whatever they are.
func every(bytes int) tokenizer {
	return func(r modeltestserver.Request) int { return (r.TextBytes() + bytes - 1) / bytes }
}

// modern counts about as the tokenizers of today do: a short word with its space is a token, as is a run of punctuation, and what
// no dictionary has is two bytes a token.
func modern(r modeltestserver.Request) int {
	tokens := 0
	for _, m := range r.Messages {
		tokens += 4 + tokensOf(m.Content)
		for _, part := range m.Reasoning {
			tokens += tokensOf(part.Text) + len(part.Private)/4
		}
		for _, call := range m.Calls {
			tokens += 4 + tokensOf(call.Name) + tokensOf(call.Arguments)
		}
	}
	return tokens
}

func tokensOf(text string) (tokens int) {
	letters, mixed, marks := 0, false, 0
	end := func() {
		switch {
		case mixed || letters > 10:
			tokens += (letters + 1) / 2
		case letters > 0:
			tokens++
		}
		tokens += (marks + 2) / 3
		letters, mixed, marks = 0, false, 0
	}
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+':
			if marks > 0 {
				end()
			}
			mixed = mixed || c < 'a' && letters > 0
			letters++
		case c == ' ':
			end()
		case c >= 0x80:
			end()
			tokens++
		default:
			if letters > 0 {
				end()
			}
			marks++
		}
	}
	end()
	return tokens
}
