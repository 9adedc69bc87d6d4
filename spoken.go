package openworker

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// spoken keeps count of an answer's text that came live. A model may have spoken before anybody listened, or faster than was
// read: what is missing then comes in one piece, in front of the event that has the whole, so that the pieces are always the
// answer.
type spoken struct {
	api.Delta     // the last one
	bytes     int // of the attempt's text, so far
}

// missing is the piece that is missing in front of an event.
func (s *spoken) missing(e Event) (Event, bool) {
	switch e.Type {
	case EventTextDelta:
		if d, err := Data[Delta](e); err == nil {
			s.Delta, s.bytes = d, d.From+len(d.Text)
		}
	case EventModelCallFinished:
		answer, err := Data[ModelCallFinished](e)
		if err != nil {
			return Event{}, false
		}
		if answer.Call != s.Call || answer.Attempt != s.Attempt {
			s.Delta, s.bytes = Delta{Call: answer.Call, Attempt: answer.Attempt}, 0
		}
		if s.bytes >= len(answer.Text) {
			return Event{}, false
		}
		s.From, s.Text = s.bytes, answer.Text[s.bytes:]
		s.bytes = len(answer.Text)
		data, err := json.Marshal(s.Delta)
		return Event{Type: EventTextDelta, Time: e.Time, Run: e.Run, Data: data}, err == nil
	}
	return Event{}, false
}
