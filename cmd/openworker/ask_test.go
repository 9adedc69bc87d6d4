package main

import (
	"strings"
	"testing"
)

func TestInteractionsAreAnsweredInLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		shows      []string   // the options
		lines      [][]string // each a line, and what comes of it
		answers    string
		code       int
	}{
		{"a call, once", asksToCalculate, []string{`may it call calculate {"expression": "6*7"}?`, "[y] yes, this once", "[e] yes, with other arguments", "[l] leave it open"},
			[][]string{{"what", "answer with one of the letters y, a, e, n, l"}, {"YES", "· allow by "}}, "calculate returned “42”", exitOK},
		{"a call, with other arguments", asksToCalculate, nil,
			[][]string{{"e", "Its arguments, as JSON:\n{\"expression\":\"6*7\"}\n"}, {"{", "that is no JSON object: unexpected end of JSON input\n"},
				{"e", "Its arguments, as JSON:"}, {`{"expression": 3}`, "arguments_invalid: "}, {"e", "Its arguments, as JSON:"}, {`{"expression": "3*7"}`, `· allow with {"expression":"3*7"} by `}}, "21”", exitOK},
		{"a call, not", asksToCalculate, nil, [][]string{{"n", "Why not? (for the model; may be empty)"}, {"it is late", ": it is late"}}, "calculate did not succeed", exitOK},
		{"a question, by a number", asksForColour, []string{"Which colour?", "[1] red — as in the logo", "[2] blue", "[s] skip the question", "[l] leave it open", "Or an answer of your own:"},
			[][]string{{"7", "there are 2 choices, and 7 is the number of none; put it in quotes"}, {"1 2", "give one answer"}, {"", "an answer has text"}, {"2", "· answered “blue” by "}}, `{"answers":["blue"]}`, exitOK},
		{"a question, in words", asksForColour, nil, [][]string{{"3 shades of green", "· answered “3 shades of green” by "}}, `{"answers":["3 shades of green"]}`, exitOK},
		{"a question, with a number that is no choice's", asksForColour, nil, [][]string{{`"7"`, "· answered “7” by "}}, `{"answers":["7"]}`, exitOK},
		{"a question, as a choice is written", asksForColour, nil, [][]string{{"RED", "· answered “red” by "}}, `{"answers":["red"]}`, exitOK},
		{"a question, by several numbers", asksForColours, []string{"Numbers, or an answer of your own:"}, [][]string{{"1, 3", "3 is the number of none"}, {"2, 1", "· answered “blue, red” by "}}, `{"answers":["blue","red"]}`, exitOK},
		{"a question, not", asksForColour, nil, [][]string{{"skip", "· skipped by "}}, "skipped", exitOK},
		{"a question, left open", asksForColour, nil, [][]string{{"l", "the turn waits for an answer: Which colour? (red, blue)"}}, "openworker approvals answer ", exitWaiting},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t).sit(nil, "run", "--approve", "always", tt.text)
			before := c.see("? ")
			for _, text := range tt.shows {
				if !strings.Contains(before, text) {
					before += c.see("? ") // a question itself may have the prompt's text
				}
				if !strings.Contains(before, text) {
					t.Errorf("%q is not in\n%s", text, before)
				}
			}
			for _, line := range tt.lines {
				c.enter(line[0])
				c.see(line[1])
			}
			c.see(tt.answers)
			c.leaves(tt.code)
		})
	}
}
