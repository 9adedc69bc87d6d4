//go:build linux

package chaos_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// script is the model: what it answers follows from the conversation alone. A message "VERB NAME" asks for:
//
//	say       a text
//	slow      a text, after a while
//	work      two rounds of parallel calls to tools of every effect class, then a text
//	pay       two parallel side effects, then a text
//	mail      one call to the tool that nobody can inspect, then a text
//	pump      one call to the tool that runs until it is stopped, then a text
type script struct {
	server *modeltestserver.Server

	mu   sync.Mutex
	seen []request
	// gate, unless nil, is waited for before each answer.
	gate chan struct{}
}

// request is what a test needs to know of a request.
type request struct {
	question question
	at       time.Time
}

// question identifies a model call by what it asks: the user's last text and how many answers followed it.
// Users' texts differ within a test.
type question struct {
	Text  string
	Round int
}

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
	q := question{Text: r.LastUser()}
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
	s.mu.Lock()
	s.seen = append(s.seen, request{q, at})
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
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
