package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
)

func TestASessionsOlderHistoryIsSummarised(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "hello").session(t)
	if got := p.ok("", "sessions", "compact", session).out; got != "there was nothing to summarise\n" {
		t.Errorf("of one message: %q", got)
	}
	p.ok("one\ncount to 400\ncount to 300\n", "chat", "--session", session)
	got := p.ok("", "sessions", "compact", session).out
	if !strings.HasPrefix(got, "older history is summarised: ") || !strings.HasSuffix(got, " tokens now; the history stays whole\n") {
		t.Errorf("%q", got)
	}
	events := p.ok("", "events", session).out
	if !strings.Contains(events, "compaction_finished") || strings.Count(events, "turn_accepted          compaction\n") != 2 {
		t.Errorf("%s", events)
	}
	if export := p.ok("", "export", session).out; !strings.Contains(export, "1, 2, 3, 4, 5") {
		t.Error("the history is not whole")
	}
	var result openworker.Result
	if err := json.Unmarshal([]byte(p.ok("", "sessions", "compact", session, "--json").out), &result); err != nil || result.Status != openworker.StatusCompleted {
		t.Errorf("%v, %+v", err, result)
	}
	if got := p.run("", "sessions", "compact", "s404"); got.code != exitFailure || !strings.Contains(got.err, "session_not_found") {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "run", "--session", session, "what now"); !strings.Contains(got.out, "“what now”") {
		t.Errorf("behind it: %+v", got)
	}
}
