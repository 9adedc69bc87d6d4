//go:build linux

package chaos_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/test/chaos"
)

// script is the model: what it answers follows from the conversation alone. A message "VERB NAME" asks for:
//
//	say       a text
//	slow      a text, after a while
//	work      two rounds of parallel calls to tools of every effect class, then a text
//	pay       two parallel side effects, then a text
//	mail      one call to the tool that nobody can inspect, then a text
//	pump      one call to the tool that runs until it is stopped, then a text
//	trio      three parallel calls: two side effects, of which one can be inspected, and an idempotent one, then a text
//	risk      the same, of which the second is forbidden
//	ask       two parallel questions to the user and a price, then a text
//
// As a reviewer it allows a charge, denies a mail and leaves the rest to a person. A summary is made of nothing but
// what is summarised.
type script struct {
	server *modeltestserver.Server
	limit  int           // requests with more bytes are too long for the model; 0 is no limit
	secret string        // what no request may hold; "" for nothing
	sent   *filesMessage // unless nil, each request has all of it or nothing

	mu            sync.Mutex
	seen          []request
	told          int    // requests that held the secret
	whole, broken int    // requests that had all of the message with files, and that had a part of it
	wrong         string // about the first of the broken ones
	// gate, unless nil, is waited for before each answer.
	gate chan struct{}
}

// request is what a test needs to know of a request.
type request struct {
	question question
	at       time.Time
}

// question identifies a model call by what it asks: the first line of the user's last text and how many answers followed it.
// Users' texts differ within a test. A review's is reviewOf with the arguments, a summary's is summaryOf.
type question struct {
	Text  string
	Round int
}

const (
	reviewOf  = "review "
	summaryOf = "summary"
)

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{}
	server, err := modeltestserver.New(modeltestserver.Config{Handler: s.reply})
	if err != nil {
		t.Fatal(err)
	}
	s.server = server
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, refusal := range server.Refusals() {
			t.Errorf("a request breaks the protocol: %s", refusal)
		}
	})
	return s
}

// requests are those that came so far.
func (s *script) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.seen...)
}

// asked is how often a question has come.
func (s *script) asked(q question) int {
	n := 0
	for _, r := range s.requests() {
		if r.question == q {
			n++
		}
	}
	return n
}

func (s *script) reply(r modeltestserver.Request) modeltestserver.Reply {
	at := time.Now()
	var other *modeltestserver.Reply // to what is asked beside the conversation
	q := question{Text: firstLine(r.LastUser())}
	var outputs []string
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			q.Round, outputs = 0, nil
		case "assistant":
			q.Round++
		case "tool":
			outputs = append(outputs, m.Content)
		}
	}
	switch system := r.Messages[0].Content; {
	case strings.HasPrefix(system, "You review one action"):
		var asked struct {
			Action struct{ Tool, Arguments string }
		}
		_ = json.Unmarshal([]byte(r.LastUser()), &asked) // what it cannot read it leaves to a person
		verdict := "unsure"
		switch asked.Action.Tool {
		case "card.charge":
			verdict = "allow"
		case "mail.send":
			verdict = "deny"
		}
		q = question{Text: reviewOf + asked.Action.Arguments}
		other = &modeltestserver.Reply{Text: fmt.Sprintf(`{"verdict":%q,"reason":"because"}`, verdict)}
	case strings.HasPrefix(system, "You summarise"):
		other = &modeltestserver.Reply{Text: fmt.Sprintf("# Goal\n%x", sha256.Sum256([]byte(r.LastUser())))}
		q = question{Text: summaryOf}
	}
	s.mu.Lock()
	s.seen = append(s.seen, request{q, at})
	if s.secret != "" && bytes.Contains(r.Body, []byte(s.secret)) {
		s.told++
	}
	if s.sent != nil {
		switch has, err := s.sent.in(r); {
		case err != nil && s.broken == 0:
			s.wrong = err.Error()
			fallthrough
		case err != nil:
			s.broken++
		case has:
			s.whole++
		}
	}
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if s.limit > 0 && len(r.Body) > s.limit {
		return modeltestserver.Reply{Status: 400, Error: modeltestserver.Error{Code: "context_length_exceeded", Message: "too long"}}
	}
	reply := s.talk(q, outputs)
	if other != nil {
		reply = *other
	}
	reply.InputTokens = len(r.Body) / 4
	return reply
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// talk goes on with a conversation.
func (s *script) talk(q question, outputs []string) modeltestserver.Reply {
	verb, name, _ := strings.Cut(q.Text, " ")
	call := func(n int, tool string) modeltestserver.Call {
		return modeltestserver.Call{ID: fmt.Sprintf("call_%d", n), Name: tool, Arguments: fmt.Sprintf(`{"item":%q}`, fmt.Sprintf("%s/%d/%d", name, q.Round, n))}
	}
	var calls []modeltestserver.Call
	delay := time.Duration(0)
	switch {
	case verb == "slow":
		delay = 150 * time.Millisecond
	case verb == "work" && q.Round == 0:
		calls = append(calls, call(1, "card__charge"), call(2, "mail__send"), call(3, "kv__put"), call(4, "price__get"))
	case verb == "work" && q.Round == 1:
		calls = append(calls, call(1, "price__get"), call(2, "card__charge"))
	case verb == "pay" && q.Round == 0:
		calls = append(calls, call(1, "card__charge"), call(2, "mail__send"))
	case verb == "mail" && q.Round == 0:
		calls = append(calls, call(1, "mail__send"))
	case verb == "pump" && q.Round == 0:
		calls = append(calls, call(1, "pump__run"))
	case verb == "trio" && q.Round == 0:
		calls = append(calls, call(1, "card__charge"), call(2, "mail__send"), call(3, "kv__put"))
	case verb == "risk" && q.Round == 0:
		calls = append(calls, call(1, "card__charge"), call(2, "mail__send"), call(3, "kv__put"))
		calls[1].Arguments = fmt.Sprintf(`{"item":%q}`, name+" is "+chaos.Forbidden)
	case verb == "ask" && q.Round == 0:
		calls = append(calls, call(1, "ask_user"), call(2, "ask_user"), call(3, "price__get"))
		calls[0].Arguments = `{"question":"Which?","multiple":true,"choices":[{"label":"red"},{"label":"green","description":"like grass"}]}`
		calls[1].Arguments = `{"question":"Why?"}`
	}
	if len(calls) > 0 {
		return modeltestserver.Reply{Reasoning: "Hm.", Text: "Wait.", Calls: calls, Delay: delay}
	}
	return modeltestserver.Reply{Reasoning: "Hm.", Text: name + ": " + strings.Join(append(outputs, "done"), ", "), Delay: delay, Chunk: 8}
}

// hold makes each answer wait until the gate is closed.
func (s *script) hold(gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
}
