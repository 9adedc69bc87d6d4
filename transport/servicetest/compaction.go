package servicetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

// summarises reports whether a request is for a summary, which has its sections (CO1).
func summarises(p Prompt) bool { return strings.Contains(p.Instructions, "# Pending actions") }

// summary is what the summarising model of these tests says.
const summary = "# Goal\nto count\n# Pending actions\nnone"

// counting answers messages with "ok", and requests for a summary with one.
func counting(p Prompt) Answer {
	if summarises(p) {
		return used(11, Answer{Text: summary})
	}
	return used(2, Answer{Text: "ok " + p.User})
}

// talk has a number of turns.
func (s *stage) talk(session string, turns int) {
	s.Helper()
	for i := range turns {
		s.say(session, fmt.Sprintf("message %d", i))
	}
}

func (s *stage) compact(session string, opts ...api.TurnOptions) api.RunReference {
	s.Helper()
	o := api.TurnOptions{}
	if len(opts) > 0 {
		o = opts[0]
	}
	run, err := s.Compact(s.Context(), session, o)
	s.no(err)
	return run
}

// size is about what a request has, in bytes.
func size(p Prompt) int {
	n := len(p.Instructions)
	for _, it := range p.Items {
		n += len(it.Text) + len(it.Arguments) + len(it.Output) + 50
	}
	return n
}

var compactionTests = []test{
	{"CO1 CO2 LI6 a compaction is a run without a message: older history is summarised, the newest stays, and history stays complete", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(counting)})
		id := s.session()
		s.talk(id, 8)
		before := s.history(id)
		run := s.compact(id)
		r := s.ends(run, api.StatusCompleted)
		if r.ModelCalls != 0 || r.Text != "" || r.AuxiliaryUsage.OutputTokens != 11 || r.Usage != r.AuxiliaryUsage {
			s.Errorf("the result is %+v", r)
		}
		var types []api.EventType
		for _, e := range s.drain(api.FollowQuery{Session: id, Run: run.Run}) {
			types = append(types, e.Type)
		}
		if got := fmt.Sprint(types); got != "[turn_accepted compaction_started compaction_finished turn_ended]" {
			s.Errorf("the run's events are %s", got)
		}
		accepted := decode[api.TurnAccepted](s, s.until(id, api.EventTurnAccepted, func(e api.Event) bool { return e.Run == run.Run }))
		started := decode[api.CompactionStarted](s, s.until(id, api.EventCompactionStarted))
		finished := decode[api.CompactionFinished](s, s.until(id, api.EventCompactionFinished))
		if accepted.Kind != "compaction" || accepted.Text != "" || started.Items == 0 || started.Items != finished.Items || finished.Summary != summary || finished.Tokens >= started.Tokens {
			s.Errorf("the events read %+v, %+v, %+v", accepted, started, finished)
		}
		if after := s.history(id); fmt.Sprint(after) != fmt.Sprint(before) {
			s.Errorf("history was %+v and is %+v", before, after)
		}
		s.say(id, "what now")
		p := prompts.all()[9]
		if first := p.Items[0]; first.Kind != "user" || !strings.Contains(first.Text, summary) {
			s.Errorf("the next request begins with %+v", first)
		}
		if text := fmt.Sprint(p.Items); strings.Contains(text, "message 0") || !strings.Contains(text, "ok message 7") || p.User != "what now" || len(p.Items) != 1+len(before)-started.Items+1 {
			s.Errorf("behind a summary of %d items the next request holds %+v", started.Items, p.Items)
		}
		if doc := prompts.all()[8].User; !strings.Contains(doc, "message 0") || strings.Contains(doc, "message 7") || len(prompts.all()[8].Tools) > 0 {
			s.Errorf("the summary was made of %s", doc)
		}
	}},
	{"CO1 CO2 a second compaction carries the first one's summary over", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(counting)})
		id := s.session()
		s.talk(id, 8)
		s.ends(s.compact(id), api.StatusCompleted)
		s.talk(id, 8)
		s.ends(s.compact(id), api.StatusCompleted)
		last := prompts.all()[len(prompts.all())-1]
		if !strings.Contains(last.User, `"previous_summary":"# Goal`) {
			s.Errorf("the second summary was made of %s", last.User)
		}
		s.say(id, "what now")
		last = prompts.all()[len(prompts.all())-1]
		if n := strings.Count(fmt.Sprint(last.Items), "to count"); n != 1 {
			s.Errorf("the next request has %d summaries", n)
		}
		if n := len(s.history(id)); n != 2*17 {
			s.Errorf("history has %d items", n)
		}
	}},
	{"CO1 a compaction of what has nothing older ends at once and asks no model", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(counting)})
		for _, turns := range []int{0, 1} {
			id := s.session()
			s.talk(id, turns)
			r := s.ends(s.compact(id), api.StatusCompleted)
			if n := count(s.events(id), api.EventCompactionStarted); n > 0 || r.Usage != (api.Usage{}) {
				s.Errorf("behind %d turns: %+v", turns, r)
			}
			s.talk(id, 1)
		}
		for _, p := range prompts.all() {
			if summarises(p) {
				s.Error("a summary was asked for")
			}
		}
	}},
	{"CO1 SE4 a compaction of a busy session is refused, queued, or in the turn's place", func(s *stage) {
		g := newGate()
		s.open(World{Model: func(p Prompt) Answer {
			a := counting(p)
			if p.User == "hold" {
				a.Wait = func(ctx context.Context) { g.pass(ctx, "model") }
			}
			return a
		}})
		id := s.session()
		s.talk(id, 8)
		run := s.send(id, "hold")
		g.await(s)
		_, err := s.Compact(s.Context(), id, api.TurnOptions{})
		s.code(err, api.CodeSessionBusy)
		queued := s.compact(id, queueUp)
		behind := s.send(id, "behind", queueUp)
		if q := s.state(id).Queue; len(q) != 2 || q[0] != queued.Run {
			s.Errorf("queued are %v", q)
		}
		g.open <- struct{}{}
		s.ends(run, api.StatusCompleted)
		s.ends(queued, api.StatusCompleted)
		s.ends(behind, api.StatusCompleted)
		if n := count(s.events(id), api.EventCompactionFinished); n != 1 {
			s.Errorf("%d compactions", n)
		}
		s.talk(id, 8)
		run = s.send(id, "hold")
		g.await(s)
		now := s.compact(id, interrupt)
		s.ends(run, api.StatusCancelled)
		s.ends(now, api.StatusCompleted)
		if n := count(s.events(id), api.EventCompactionFinished); n != 2 {
			s.Errorf("%d compactions", n)
		}
	}},
	{"CO1 a compaction takes no option that is for messages, and a session that is not there has none", func(s *stage) {
		s.open(World{})
		id := s.session()
		for _, o := range []api.TurnOptions{{InstructionAddendum: "x"}, {Limits: api.Limits{MaxModelCalls: api.Set(1)}}, {AutoApproverContext: api.Set("")}} {
			_, err := s.Compact(s.Context(), id, o)
			s.code(err, api.CodeInvalidRequest)
		}
		_, err := s.Compact(s.Context(), "nobody", api.TurnOptions{})
		s.code(err, api.CodeSessionNotFound)
		_, err = s.Compact(s.Context(), id, api.TurnOptions{Guardrails: []string{"g"}})
		s.code(err, api.CodeGuardrailMissing)
		if st := s.state(id); st.LastEvent != 1 {
			s.Fatalf("the session is %+v", st)
		}
	}},
	{"CO1 RE7 a summary that a crash cut off is made again, and one that was stored is not", func(s *stage) {
		var prompts asked
		var dead atomic.Bool
		g := newGate()
		w := World{Model: prompts.by(func(p Prompt) Answer {
			a := counting(p)
			if summarises(p) && !dead.Load() {
				a.Wait = func(ctx context.Context) { g.pass(ctx, "summary") }
			}
			return a
		})}
		s.open(w)
		id := s.session()
		s.talk(id, 8)
		run := s.compact(id)
		g.await(s)
		s.until(id, api.EventCompactionStarted)
		s.process.Crash()
		dead.Store(true)
		s.open(w)
		s.ends(run, api.StatusCompleted)
		s.process.Crash()
		s.open(w)
		s.say(id, "what now")
		n := 0
		for _, p := range prompts.all() {
			if summarises(p) {
				n++
			}
		}
		lost := decode[api.CompactionFailed](s, s.until(id, api.EventCompactionFailed))
		if e := s.events(id); n != 2 || count(e, api.EventCompactionFinished) != 1 || lost.Code != api.CodeCallLost || !s.result(run).Usage.Estimated {
			s.Fatalf("%d summaries were asked for; the lost one reads %+v", n, lost)
		}
	}},
	{"CO1 RU5 a cancel in the middle of a summary ends the run and leaves the conversation as it was", func(s *stage) {
		var prompts asked
		g := newGate()
		s.open(World{Model: prompts.by(func(p Prompt) Answer {
			a := counting(p)
			if summarises(p) {
				a.Wait = func(ctx context.Context) { g.pass(ctx, "summary") }
			}
			return a
		})})
		id := s.session()
		s.talk(id, 8)
		run := s.compact(id)
		g.await(s)
		s.no(s.Cancel(s.Context(), id, run.Run))
		s.ends(run, api.StatusCancelled)
		s.say(id, "what now")
		if p := prompts.all()[9]; len(p.Items) != 17 {
			s.Fatalf("the next request has %d items", len(p.Items))
		}
	}},
	{"CO1 LI5 a summary that fails is tried again where that may help, and its failure ends the run and nothing else", func(s *stage) {
		for _, tt := range []struct {
			fails int
			code  api.Code
			want  api.RunStatus
		}{{2, api.CodeProviderOverloaded, api.StatusCompleted}, {1, api.CodeQuotaExhausted, api.StatusFailed}} {
			var tries ledger
			s.open(World{Model: func(p Prompt) Answer {
				if summarises(p) && tries.add("") <= tt.fails {
					return Answer{Fail: tt.code}
				}
				return counting(p)
			}}, func(d *api.AgentDefinition) { d.Name = string(tt.code) })
			id := s.session()
			s.talk(id, 8)
			r := s.ends(s.compact(id), tt.want)
			if tt.want == api.StatusFailed && (r.Error.Code != tt.code || !strings.Contains(r.Error.Message, "had to be summarised") || !strings.Contains(r.Error.Message, "the provider's own words")) {
				s.Errorf("%s: the run failed as %+v", tt.code, r.Error)
			}
			if n := count(s.events(id), api.EventCompactionFailed); n != tt.fails {
				s.Errorf("%s: %d failures are told", tt.code, n)
			}
			s.say(id, "what now")
			s.process.Stop()
		}
		s.look()
	}},
	{"CO1 LI5 C45 where the provider says that it is too much, history is summarised once and the call is made again", func(s *stage) {
		for _, forever := range []bool{false, true} {
			var prompts asked
			var tries ledger
			s.open(World{Model: prompts.by(func(p Prompt) Answer {
				if p.User == "too much" && (tries.add("") == 1 || forever) {
					return Answer{Fail: api.CodeContextExhausted}
				}
				return counting(p)
			})}, func(d *api.AgentDefinition) { d.Name = fmt.Sprint("forever-", forever) })
			id := s.session()
			for range 8 {
				s.say(id, "message 0 "+strings.Repeat("word ", 500))
			}
			run := s.send(id, "too much", limited(api.Limits{MaxModelCalls: api.Set(4)}))
			if forever {
				if r := s.ends(run, api.StatusFailed); r.Error.Code != api.CodeContextExhausted || len(tries.all()) != 2 {
					s.Errorf("behind %d tries the run failed as %+v", len(tries.all()), r.Error)
				}
			} else {
				r := s.ends(run, api.StatusCompleted)
				sent := prompts.all()
				over, last := sent[8], sent[len(sent)-1]
				if r.ModelCalls != 1 || r.Text != "ok too much" || len(tries.all()) != 2 || !strings.Contains(last.Items[0].Text, "to count") || size(last) > size(over)*4/5 {
					s.Errorf("of %d bytes the second try has %d: %+v, %+v", size(over), size(last), last.Items, r)
				}
			}
			// What is too much for one summary takes a few, each of what is older; then the call is made.
			if n := count(s.events(id), api.EventCompactionFinished); n < 1 || n > 4 {
				s.Errorf("forever %t: %d summaries", forever, n)
			}
			s.say(id, "what now")
			s.process.Stop()
		}
		s.look()
	}},
	{"CO1 CO2 with a small window every request fits, nothing fails, and history is complete", func(s *stage) {
		const window, perToken = 4000, 3
		var most, summaries atomic.Int32
		s.open(World{Window: window, Model: func(p Prompt) Answer {
			n := size(p) / perToken
			most.Store(max(most.Load(), int32(n)))
			if n > window {
				return Answer{Fail: api.CodeContextExhausted}
			}
			a := counting(p)
			switch {
			case summarises(p):
				summaries.Add(1)
			case p.Round == 0:
				a = calls("act", "act")
			}
			a.Usage = api.Usage{InputTokens: int64(n), OutputTokens: 5}
			return a
		}, Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) { return strings.Repeat(c.ID+" ", 40), nil })}})
		id := s.session()
		const turns = 25
		for i := range turns {
			s.say(id, fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 100)))
		}
		if most.Load() > window || summaries.Load() == 0 || count(s.events(id), api.EventModelCallFailed) > 0 {
			s.Errorf("of a window of %d up to %d were sent, %d summaries were made", window, most.Load(), summaries.Load())
		}
		if n := len(s.history(id)); n != turns*6 {
			s.Errorf("history has %d items, want %d", n, turns*6)
		}
	}},
}
