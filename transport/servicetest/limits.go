package servicetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/openworkerai/openworker/api"
)

// asked remembers the prompts of a world's model.
type asked struct {
	mu   sync.Mutex
	list []Prompt
}

func (a *asked) by(f func(Prompt) Answer) func(Prompt) Answer {
	return func(p Prompt) Answer {
		a.mu.Lock()
		a.list = append(a.list, p)
		a.mu.Unlock()
		return f(p)
	}
}

func (a *asked) all() []Prompt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

func (a *asked) bounds() (out []int) {
	for _, p := range a.all() {
		out = append(out, p.Max)
	}
	return out
}

func limited(l api.Limits) api.TurnOptions { return api.TurnOptions{Limits: l} }

func used(output int64, a Answer) Answer {
	a.Usage = api.Usage{InputTokens: 1, OutputTokens: output}
	return a
}

var limitTests = []test{
	{"LI1 LI3 C43 when the calls run out one closing call without tools gives the result, and the next turn works", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(func(p Prompt) Answer {
			if p.NoTools {
				return Answer{Text: "so far"}
			}
			return calls("act")
		}), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		for range 2 {
			r := s.ends(s.send(id, "go", limited(api.Limits{MaxModelCalls: api.Set(3)})), api.StatusLimitReached)
			if r.Text != "so far" || r.ModelCalls != 3 || r.Usage.OutputTokens == 0 {
				s.Fatalf("the result is %+v", r)
			}
		}
		if got := prompts.bounds(); !slices.Equal(got, []int{8192, 8192, 512, 8192, 8192, 512}) {
			s.Fatalf("the calls were bounded by %v", got)
		}
		if len(prompts.all()[2].Tools) == 0 {
			s.Error("the closing call declares no tools")
		}
	}},
	{"LI3 a closing call that asks for tools gets none and ends the turn", func(s *stage) {
		var l ledger
		s.open(World{Model: rounds(calls("act")), Tools: []Tool{action("act", "", count1(&l))}})
		id := s.session()
		r := s.ends(s.send(id, "go", limited(api.Limits{MaxModelCalls: api.Set(2)})), api.StatusLimitReached)
		if r.ModelCalls != 2 || len(l.all()) != 1 {
			s.Fatalf("the result is %+v, ran %v", r, l.all())
		}
		if got := s.results(id); got[1].Code != api.CodeToolDisabled {
			s.Fatalf("results are %+v", got)
		}
	}},
	{"LI3 a closing call that is the turn's first has the bound of a call and completes", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Tools: []Tool{action("act", "", nothing)}})
		r := s.ends(s.send(s.session(), "go", limited(api.Limits{MaxModelCalls: api.Set(1)})), api.StatusCompleted)
		if p := prompts.all()[0]; r.ModelCalls != 1 || p.Max != 8192 || !p.NoTools {
			s.Fatalf("the result is %+v of a call bounded by %d", r, p.Max)
		}
	}},
	{"LI2 a working call may ask for what is left without the reserve, and raising its bound raises no total", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(func(p Prompt) Answer {
			if p.NoTools {
				return used(40, Answer{Text: "so far"})
			}
			return used(300, calls("act"))
		}), Tools: []Tool{action("act", "", nothing)}})
		limits := api.Limits{MaxOutputTokens: api.Set(1000), SummaryTokens: api.Set(100), MaxOutputTokensPerCall: api.Set(100_000)}
		r := s.ends(s.send(s.session(), "go", limited(limits)), api.StatusLimitReached)
		if got := prompts.bounds(); !slices.Equal(got, []int{900, 600, 300, 100}) || r.Usage.OutputTokens != 940 {
			s.Fatalf("the calls were bounded by %v, used are %d", got, r.Usage.OutputTokens)
		}
	}},
	{"LI1 a turn's limits go before the agent's field by field, and the model's own maximum lowers the default", func(s *stage) {
		var prompts asked
		s.open(World{ModelMax: 5000, Model: prompts.by(rounds(calls("act"))), Tools: []Tool{action("act", "", nothing)}}, func(d *api.AgentDefinition) {
			d.Limits = api.Limits{MaxModelCalls: api.Set(2), SummaryTokens: api.Set(50)}
		})
		id := s.session()
		s.ends(s.send(id, "go"), api.StatusLimitReached)
		s.ends(s.send(id, "go", limited(api.Limits{MaxModelCalls: api.Set(3), MaxOutputTokensPerCall: api.Set(4000)})), api.StatusLimitReached)
		if got := prompts.bounds(); !slices.Equal(got, []int{5000, 50, 4000, 4000, 50}) {
			s.Fatalf("the calls were bounded by %v", got)
		}
	}},
	{"LI2 an answer that is cut off at its bound is told as such", func(s *stage) {
		s.open(World{Model: rounds(Answer{Text: "and then", Stop: "output_limit"})})
		if r := s.ends(s.send(s.session(), "go"), api.StatusLimitReached); r.Text != "and then" {
			s.Fatalf("the result is %+v", r)
		}
	}},
}

// failing answers with the failures first, then with text.
func failing(failures ...Answer) func(Prompt) Answer {
	var l ledger
	return func(Prompt) Answer {
		if n := l.add(""); n <= len(failures) {
			return failures[n-1]
		}
		return Answer{Text: "ok"}
	}
}

var providerTests = []test{
	{"LI5 C48 C41 what may pass is tried again, each try an event; what cannot fails at once with the provider's words", func(s *stage) {
		for _, tt := range []struct {
			code  api.Code
			again bool
		}{
			{api.CodeRateLimited, true}, {api.CodeProviderOverloaded, true}, {api.CodeProviderUnreachable, true}, {api.CodeStreamCut, true},
			{api.CodeQuotaExhausted, false}, {api.CodeAuthenticationFailed, false}, {api.CodeModelNotFound, false},
			{api.CodeRequestTooLarge, false}, {api.CodeProviderError, false},
		} {
			s.open(World{Model: failing(Answer{Text: "some", Fail: tt.code})})
			id := s.session()
			run := s.send(id, "go")
			r := s.result(run)
			e := s.until(id, api.EventModelCallFailed)
			d := decode[api.ModelCallFailed](s, e)
			if d.Code != tt.code || d.Message != "the provider's own words" || d.Attempt != 1 || d.Call != 1 || d.RetryAt.IsZero() == tt.again {
				s.Errorf("%s: the failed try reads %+v", tt.code, d)
			}
			if tt.again {
				if r.Status != api.StatusCompleted || r.Text != "ok" || r.ModelCalls != 1 {
					s.Errorf("%s: %+v", tt.code, r)
				}
			} else if r.Status != api.StatusFailed || r.Error == nil || r.Error.Code != tt.code || r.Error.Retryable || r.Error.Message != "the provider's own words" {
				s.Errorf("%s: %+v %+v", tt.code, r, r.Error)
			}
			if text := s.say(id, "again"); text != "ok" {
				s.Errorf("%s: the next turn says %q", tt.code, text)
			}
			s.process.Stop()
		}
		s.open(World{})
	}},
	{"LI5 Retry-After is obeyed and told", func(s *stage) {
		after := Lease / 2
		s.open(World{Model: failing(Answer{Fail: api.CodeRateLimited, RetryAfter: after})})
		id := s.session()
		run := s.send(id, "go")
		e := s.until(id, api.EventModelCallFailed)
		d := decode[api.ModelCallFailed](s, e)
		if wait := d.RetryAt.Sub(e.Time); wait < after || wait > after+Lease {
			s.Fatalf("the next try comes after %v", wait)
		}
		st := s.state(id)
		if st.Activity != api.Waiting || len(st.WaitingFor) != 1 || !st.WaitingFor[0].Until.Equal(d.RetryAt) || len(st.Timers) != 1 || !st.Timers[0].At.Equal(d.RetryAt) {
			s.Errorf("until then the session is %+v", st)
		}
		s.ends(run, api.StatusCompleted)
		again := s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Attempt == 2 })
		if again.Time.Before(d.RetryAt) {
			s.Fatalf("the next try came at %v, before %v", again.Time, d.RetryAt)
		}
	}},
	{"RU10 a provider that panics fails the call and not the process", func(s *stage) {
		s.open(World{Model: failing(Answer{Text: "a", Panic: "boom"})})
		id := s.session()
		r := s.ends(s.send(id, "go"), api.StatusFailed)
		if r.Error.Code != api.CodeProviderError {
			s.Fatalf("the run failed as %+v", r.Error)
		}
		s.say(id, "again")
	}},
	{"C41 an answer that a filter stopped fails the run and runs no call of it", func(s *stage) {
		var l ledger
		a := calls("act")
		a.Stop = "filtered"
		s.open(World{Model: then(a), Tools: []Tool{action("act", "", count1(&l))}})
		id := s.session()
		if r := s.ends(s.send(id, "go"), api.StatusFailed); r.Error.Code != api.CodeContentFiltered || len(l.all()) > 0 {
			s.Fatalf("the run failed as %+v, ran %v", r.Error, l.all())
		}
		s.say(id, "next")
	}},
	{"LI5 C45 C43 a first message that is too much is tried once more at most and fails its run with context_exhausted, and a later turn is tried anew", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(func(p Prompt) Answer {
			if p.User == "go" {
				return Answer{Fail: api.CodeContextExhausted}
			}
			return Answer{Text: "ok"}
		})})
		id := s.session()
		r := s.ends(s.send(id, "go"), api.StatusFailed)
		if n := len(prompts.all()); r.Error.Code != api.CodeContextExhausted || r.Error.Retryable || n > 2 {
			s.Fatalf("after %d calls: %+v", n, r.Error)
		}
		d := decode[api.ModelCallFailed](s, s.until(id, api.EventModelCallFailed))
		if d.Code != api.CodeContextExhausted || d.Message != "the provider's own words" || !d.RetryAt.IsZero() {
			s.Errorf("the failed try reads %+v", d)
		}
		if text := s.say(id, "a longer message than the one that was too much"); text != "ok" {
			s.Fatalf("the next turn says %q", text)
		}
	}},
	{"C50 the bytes of a turn's events do not grow with the session", func(s *stage) {
		if testing.Short() {
			s.Log("short: fewer turns")
		}
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		size := func(run api.RunReference) (n int) {
			for _, e := range journalled(s.drain(api.FollowQuery{Session: id, Run: run.Run})) {
				n += len(e.Data)
			}
			return n
		}
		var first, last int
		for i := range 40 {
			run := s.send(id, fmt.Sprintf("turn %3d", i))
			s.ends(run, api.StatusCompleted)
			if last = size(run); i == 0 {
				first = last
			}
		}
		if last > first+200 {
			s.Fatalf("the first turn has %d bytes of events, the last %d", first, last)
		}
	}},
}
