package google

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/model"
)

// signed is the private data of an item: the signature of a call, or the pieces in which a text came.
type signed struct {
	Signature string  `json:"signature,omitempty"`
	Pieces    []piece `json:"pieces,omitempty"`
}

// piece is a stretch of a text that one part of the answer had, or several without a signature.
type piece struct {
	Length    int    `json:"length"` // in bytes
	Thought   bool   `json:"thought,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// add notes what a part brought.
func (s *signed) add(p piece) {
	if last := len(s.Pieces) - 1; last >= 0 && p.Signature == "" && s.Pieces[last].Signature == "" && s.Pieces[last].Thought == p.Thought {
		s.Pieces[last].Length += p.Length
		return
	}
	s.Pieces = append(s.Pieces, p)
}

// sound reports whether the signatures are some: the API takes bytes in base64, of either alphabet.
func (s *signed) sound() bool {
	bad := func(signature string) bool {
		return strings.Trim(signature, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") != ""
	}
	return !bad(s.Signature) && !slices.ContainsFunc(s.Pieces, func(p piece) bool { return bad(p.Signature) })
}

// private is what is kept with the item, nil where nothing is signed.
func (s *signed) private(provider, name string) *model.Private {
	kept := s.Signature != ""
	for _, p := range s.Pieces {
		kept = kept || p.Signature != ""
	}
	if !kept {
		return nil
	}
	data, _ := json.Marshal(s) // strings and numbers always encode
	return &model.Private{Provider: provider, Model: name, Data: data}
}

// parts are the parts of a text or of thoughts. Thoughts without a signature are left out. A text that the pieces do
// not make up, since it was changed, is one part without a signature.
func (s *signed) parts(item *model.Item) []part {
	texts := split(item.Text, s.Pieces)
	if texts == nil {
		if item.Kind == model.ReasoningItem {
			return nil
		}
		return []part{{Text: &item.Text}}
	}
	var parts []part
	for i, p := range s.Pieces {
		if p.Signature != "" || !p.Thought && p.Length > 0 {
			parts = append(parts, part{Text: &texts[i], Thought: p.Thought, ThoughtSignature: p.Signature})
		}
	}
	return parts
}

// split cuts a text into its pieces, nil where they do not make it up.
func split(text string, pieces []piece) []string {
	var texts []string
	for _, p := range pieces {
		if p.Length < 0 || p.Length > len(text) || p.Length < len(text) && !utf8.RuneStart(text[p.Length]) {
			return nil
		}
		texts = append(texts, text[:p.Length])
		text = text[p.Length:]
	}
	if text != "" {
		return nil
	}
	return texts
}
