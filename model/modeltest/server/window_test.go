package modeltestserver_test

import (
	"strings"
	"testing"

	"github.com/openworkerai/openworker/model/modeltest/server"
)

func TestARequestThatIsTooMuchIsAnsweredInTheProtocolsOwnWay(t *testing.T) {
	t.Parallel()
	want := map[modeltestserver.Protocol]string{
		modeltestserver.Chat:      "This model's maximum context length is 100 tokens. However, you requested 101 tokens",
		modeltestserver.Responses: "context_length_exceeded",
		modeltestserver.Messages:  "prompt is too long: 101 tokens",
		modeltestserver.Gemini:    "The input token count (101) exceeds the maximum number of tokens allowed (100).",
	}
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		tokens, room := 101, 0
		s := start(t, modeltestserver.Config{Window: func(r modeltestserver.Request) modeltestserver.Window {
			return modeltestserver.Window{Tokens: tokens, Limit: 100 + room*r.MaxTokens}
		}})
		if status, _, got, err := send(t, s, protocol, ask[protocol], ""); status != 400 || err != nil || !strings.Contains(got, want[protocol]) {
			t.Errorf("got %d %s (%v)", status, got, err)
		}
		tokens, room = 100, 1
		if status, _, got, err := send(t, s, protocol, ask[protocol], ""); status != 200 || err != nil || !strings.Contains(got, "100") {
			t.Errorf("one that fits: %d %s (%v)", status, got, err)
		}
		over, requests := s.Overflows(), s.Requests()
		if len(over) != 1 || over[0].Tokens != 101 || len(requests) != 1 || requests[0].Tokens != 100 || len(s.Refusals()) != 0 {
			t.Errorf("overflows %+v, requests %+v, refusals %q", over, requests, s.Refusals())
		}
	})
}

func TestWhatTheAnswerMayHaveCountsToo(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","max_tokens":30,"stream":true,"messages":[` + hi + `]}`
	s := start(t, modeltestserver.Config{Window: func(modeltestserver.Request) modeltestserver.Window {
		return modeltestserver.Window{Tokens: 71, Limit: 100}
	}})
	if status, got, _ := post(t, s, body, ""); status != 400 || !strings.Contains(got, "101 tokens (71 in the messages, 30 in the completion)") {
		t.Errorf("got %d %s", status, got)
	}
}

func TestTheTextsOfARequestAreCountedWhateverItsProtocol(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{})
		for _, body := range []string{ask[protocol], told[protocol]} {
			if status, _, got, err := send(t, s, protocol, body, ""); status != 200 || err != nil {
				t.Fatalf("got %d %s (%v)", status, got, err)
			}
		}
		requests := s.Requests()
		first, second := requests[0].TextBytes(), requests[1].TextBytes()
		if first < len("hi") || first > 99 || second <= first {
			t.Errorf("%d and %d bytes", first, second)
		}
	})
}
