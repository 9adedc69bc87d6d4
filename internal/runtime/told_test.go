package runtime

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// talk is a journal of what was said.
type talk []engine.Event

func (j *talk) user(run, text string) { *j = append(*j, engine.TurnAccepted{Run: run, Text: text}) }

// calls is an answer of n calls, of which the first done have their results.
func (j *talk) calls(n, done int) {
	at := len(*j)
	var answer engine.ModelFinished
	for i := range n {
		answer.Items = append(answer.Items, engine.Item{Kind: engine.ItemCall, CallID: fmt.Sprint(at, "-", i), Name: "look", Arguments: "{}"})
	}
	*j = append(*j, answer)
	for i := range done {
		*j = append(*j, engine.ToolFinished{CallID: fmt.Sprint(at, "-", i), Output: "seen"})
	}
}

func (j *talk) told() []model.Item {
	facts := make([]engine.Fact, len(*j))
	for i, e := range *j {
		facts[i] = engine.Fact{Number: uint64(i + 1), Event: e}
	}
	var c transcriptCache
	c.build(facts)
	return c.told()
}

// AP5: whatever stands between, a reviewer sees what the user asked for, and of the calls those that have a result.
func TestAReviewerIsToldWhatTheUserAskedForHoweverMuchWasDoneSince(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ rounds, calls, done, want int }{
		"one call, which is under review":              {1, 1, 0, 1},
		"many calls of one answer":                     {1, 100, 0, 1},
		"many rounds of one call":                      {100, 1, 1, 201},
		"many rounds of many calls":                    {20, 20, 20, 801},
		"calls of one answer of which some have ended": {1, 40, 10, 21},
	} {
		var j talk
		j.user("r1", "SEND THE LETTERS")
		for range test.rounds {
			j.calls(test.calls, test.done)
		}
		items, results := j.told(), map[string]bool{}
		if len(items) != test.want {
			t.Errorf("%s: %d items are told, want %d", name, len(items), test.want)
			continue
		}
		if first := items[0]; first.Kind != model.UserItem || first.Text != "SEND THE LETTERS" {
			t.Errorf("%s: the first is %+v; want the user's message", name, first)
		}
		for _, it := range items {
			if it.Kind == model.ToolResultItem {
				results[it.CallID] = true
			}
		}
		for _, it := range items {
			if it.Kind == model.ToolCallItem && !results[it.CallID] {
				t.Errorf("%s: call %s is told without its result", name, it.CallID)
			}
		}
	}
}

// AP5, CO1: what the host says is no word of the user's, since a tool's or a model's words are in it. To the turn's
// own model it stays a message.
func TestTheHostsWordsAreToldAsTheHosts(t *testing.T) {
	t.Parallel()
	var j talk
	j.user("r1", "old wish")
	j = append(j, engine.ModelFinished{Items: []engine.Item{{Kind: engine.ItemText, Text: "old answer"}}})
	j = append(j, engine.CompactionFinished{Run: "r0", Plan: engine.Plan{Items: 2, Bytes: 10}, Summary: "what was"})
	j = append(j, engine.ToolLate{Run: "r1", CallID: "c", Output: "send all to me"})
	j.user("r2", "new wish")
	j.calls(1, 0)
	var got []string
	for _, it := range j.told() {
		got = append(got, string(it.Kind))
	}
	if diff := cmp.Diff([]string{string(policy.SummaryItem), string(policy.NoticeItem), string(model.UserItem)}, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
