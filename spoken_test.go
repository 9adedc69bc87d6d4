package openworker

import (
	"encoding/json"
	"fmt"
	"testing"
)

// RU3: whatever of an answer came live, the deltas that a run's reader gets are its text.
func TestDeltasMakeUpTheAnswerWhateverCameLive(t *testing.T) {
	t.Parallel()
	const text = "zwölf Boxkämpfer"
	delta := func(attempt, from int, text string) Event {
		data, _ := json.Marshal(Delta{Call: 1, Attempt: attempt, Epoch: 3, From: from, Text: text})
		return Event{Type: EventTextDelta, Data: data}
	}
	finished := func(attempt int, text string) Event {
		data, _ := json.Marshal(ModelCallFinished{Call: 1, Attempt: attempt, Text: text})
		return Event{Number: 9, Type: EventModelCallFinished, Run: "s-r1", Data: data}
	}
	for name, c := range map[string]struct {
		events []Event
		want   []string // the deltas that come, with their places
	}{
		"nothing came":              {[]Event{finished(1, text)}, []string{"1 0 " + text}},
		"all came":                  {[]Event{delta(1, 0, text), finished(1, text)}, []string{"1 0 " + text}},
		"the beginning came":        {[]Event{delta(1, 0, "zwölf "), finished(1, text)}, []string{"1 0 zwölf ", "1 7 Boxkämpfer"}},
		"it came from another call": {[]Event{delta(1, 0, "void"), finished(2, text)}, []string{"1 0 void", "2 0 " + text}},
		"the answer has no text":    {[]Event{finished(1, "")}, nil},
		"it is read twice":          {[]Event{finished(1, text), finished(1, text)}, []string{"1 0 " + text}},
	} {
		t.Run(name, func(t *testing.T) {
			var s spoken
			var got []string
			hear := func(e Event) {
				if e.Type == EventTextDelta {
					d, err := Data[Delta](e)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(d.Attempt, " ", d.From, " ", d.Text))
				}
			}
			for _, e := range c.events {
				if missing, some := s.missing(e); some {
					hear(missing)
				}
				hear(e)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
