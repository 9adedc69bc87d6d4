package e2e_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

func TestOneMessageFromTheCommandLineAndFromAPipe(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	if out := h.run("", "run", "say it again"); !strings.Contains(out, "say it again") {
		t.Errorf("run printed %q", out)
	}
	if out := h.run("piped text", "run", "-"); !strings.Contains(out, "piped text") {
		t.Errorf("run - printed %q", out)
	}
}

func TestAChatFromAPipeAnswersEachLineInOneSession(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	out := h.run("one\ntwo\n\nthree\n", "chat", "--json")
	results := lines[api.Result](t, out)
	if len(results) != 3 {
		t.Fatalf("%d results of 3 messages:\n%s", len(results), out)
	}
	session, _, _ := strings.Cut(results[0].Run, "-r")
	for n, want := range []string{"one", "two", "three"} {
		r := results[n]
		if r.Status != api.StatusCompleted || !strings.Contains(r.Text, want) || !strings.HasPrefix(r.Run, session+"-") {
			t.Errorf("message %q: %+v", want, r)
		}
	}
	if sessions := lines[api.SessionInfo](t, h.run("", "sessions", "--json")); len(sessions) != 1 || sessions[0].Activity != api.Idle {
		t.Errorf("sessions: %+v", sessions)
	}
}

func TestAChatThatIsKilledAtARandomMomentIsReattached(t *testing.T) {
	t.Parallel()
	const seeds = 20
	midTurn := 0
	for seed := range uint64(seeds) {
		h := newHome(t, calculating(2*time.Millisecond))
		id := h.newSession()
		before := h.events(id)
		chat := h.start("chat", "--session", id, "--json")
		chat.say("question")
		chance := rand.New(rand.NewPCG(seed, 3))
		if seed%4 > 0 { // some die while they start, most while the model is asked for the first time or later
			h.untilAsked("question")
		}
		<-time.After(time.Duration(chance.IntN(int(60 * time.Millisecond)))) // the moment of the kill
		chat.kill()
		killed := h.events(id)
		again := lines[api.Result](t, h.run("", "chat", "--session", id, "--json"))
		accepted, ended := 0, 0
		for n, e := range h.events(id) {
			if e.Number != uint64(n+1) {
				t.Errorf("seed %d: event %d stands at place %d", seed, e.Number, n+1)
			}
			switch e.Type {
			case api.EventTurnAccepted:
				accepted++
			case api.EventTurnEnded:
				ended++
			}
		}
		if accepted != ended {
			t.Errorf("seed %d: %d turns were accepted and %d have ended", seed, accepted, ended)
		}
		if last := killed[len(killed)-1]; len(killed) == len(before) || last.Type == api.EventTurnEnded {
			continue // it died before the message was stored, or after the turn
		}
		midTurn++
		if len(again) != 1 || again[0].Status != api.StatusCompleted || again[0].Text != "The answer to question is here." {
			t.Errorf("seed %d: the chat that went on says %+v", seed, again)
		}
	}
	t.Logf("%d of %d kills came within the turn", midTurn, seeds)
	if midTurn < seeds/5 {
		t.Errorf("only %d of %d kills came within the turn", midTurn, seeds)
	}
}

func TestC36OutputOverAPipesBufferIsWholeBeforeTheProgramEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t, func(modeltestserver.Request) modeltestserver.Reply { return modeltestserver.Reply{Text: "read"} })
	message := strings.Repeat("a long line ", 20_000) // 240,000 bytes in one event
	h.run(message, "chat")
	session := lines[struct {
		Reference api.SessionReference `json:"reference"`
	}](t, h.run("", "sessions", "--json"))[0].Reference.Session
	if out := h.run("", "export", session); !strings.Contains(out, strings.TrimSpace(message)) {
		t.Errorf("of a message of %d bytes the export of %d bytes has not all", len(message), len(out))
	}
	if out := h.run("", "events", session, "--json"); !strings.Contains(out, strings.TrimSpace(message)) {
		t.Errorf("the list of events, %d bytes, has not all", len(out))
	}
}
