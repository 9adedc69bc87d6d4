package servicetest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// full is a submission that sets everything that a repeat is compared by.
func full(session string) api.Submission {
	return api.Submission{Session: session, Text: "hello", Options: api.TurnOptions{
		SubmissionID: "id", InstructionAddendum: "short", Model: &api.ModelRef{Provider: Provider, Name: "m2"}, Limits: api.Limits{MaxModelCalls: api.Set(3)},
		AutoApproverContext: api.Set("careful"), Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("keep")},
	}}
}

var submitTests = []test{
	{"RU4 C60 one submission from 32 callers of two processes is one run", func(s *stage) {
		w := World{}
		s.open(w)
		other := s.store.Open(s.t, w)
		s.register(other, w)
		id := s.session()
		var wg sync.WaitGroup
		runs := make([]api.RunReference, 32)
		for i := range runs {
			wg.Go(func() {
				run, err := []api.Service{s, other}[i%2].Submit(s.Context(), full(id))
				if err != nil {
					s.Error(err)
				}
				runs[i] = run
			})
		}
		wg.Wait()
		first := 0
		for _, r := range runs {
			if !r.Repeated {
				first++
			}
			if r.Run != runs[0].Run || r.Accepted != runs[0].Accepted {
				s.Errorf("one caller has %+v, another %+v", runs[0], r)
			}
		}
		if first != 1 {
			s.Errorf("%d callers are told that theirs was the first", first)
		}
		s.ends(runs[0], api.StatusCompleted)
		if n := count(s.events(id), api.EventTurnAccepted); n != 1 {
			s.Fatalf("%d turns were accepted", n)
		}
	}},
	{"RU4 C60 of many submissions at once, each sent by several callers, each is one run", func(s *stage) {
		s.open(World{})
		other := s.store.Open(s.t, World{})
		id := s.session()
		var wg sync.WaitGroup
		const keys, callers = 12, 4
		runs := make([]api.RunReference, keys*callers)
		for i := range runs {
			wg.Go(func() {
				key := fmt.Sprint("key ", i%keys)
				run, err := []api.Service{s, other}[(i/keys)%2].Submit(s.Context(), api.Submission{Session: id, Text: key, Options: api.TurnOptions{SubmissionID: key, WhenBusy: api.BusyQueue}})
				if err != nil {
					s.Error(err)
				}
				runs[i] = run
			})
		}
		wg.Wait()
		for i, r := range runs {
			if r.Run != runs[i%keys].Run {
				s.Errorf("key %d is run %s to one caller and %s to another", i%keys, runs[i%keys].Run, r.Run)
			}
		}
		s.settle("the turns ended", func() bool { return s.state(id).Activity == api.Idle })
		if n := len(s.turns(id)); n != keys {
			s.Fatalf("%d turns ran", n)
		}
	}},
	{"RU4 of two messages that race under one key one wins and the other is a conflict", func(s *stage) {
		s.open(World{})
		other := s.store.Open(s.t, World{})
		id := s.session()
		var wg sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = []api.Service{s, other}[i%2].Submit(s.Context(), api.Submission{Session: id, Text: fmt.Sprint(i / 8), Options: api.TurnOptions{SubmissionID: "id", WhenBusy: api.BusyQueue}})
			})
		}
		wg.Wait()
		s.settle("the turn ended", func() bool { return s.state(id).Activity == api.Idle })
		turns := s.turns(id)
		if len(turns) != 1 {
			s.Fatalf("the turns are %q", turns)
		}
		for i, err := range errs {
			if won := fmt.Sprint(i/8) == turns[0]; won {
				s.no(err)
			} else {
				s.code(err, api.CodeSubmissionConflict)
			}
		}
	}},
	{"RU4 C60 the same submission is found again after its end, after a stop and after a crash", func(s *stage) {
		s.open(World{})
		id := s.session()
		run, err := s.Submit(s.Context(), full(id))
		s.no(err)
		s.ends(run, api.StatusCompleted)
		head := s.state(id).LastEvent
		for _, end := range []func(){func() {}, s.process.Stop, s.process.Crash} {
			end()
			s.open(World{})
			again, err := s.Submit(s.Context(), full(id))
			s.no(err)
			if !again.Repeated || again.Run != run.Run || s.ends(again, api.StatusCompleted).Text != "ok" {
				s.Fatalf("the repeat gave %+v, the first %+v", again, run)
			}
		}
		if now := s.state(id).LastEvent; now != head {
			s.Fatalf("repeats have added events %d to %d", head+1, now)
		}
	}},
	{"RU4 a repeat with anything changed is refused and names what; whenBusy is no part of it", func(s *stage) {
		s.open(World{})
		id := s.session()
		run, err := s.Submit(s.Context(), full(id))
		s.no(err)
		s.ends(run, api.StatusCompleted)
		for field, change := range map[string]func(*api.Submission){
			"message":                       func(v *api.Submission) { v.Text += "." },
			"instructionAddendum":           func(v *api.Submission) { v.Options.InstructionAddendum = "" },
			"model":                         func(v *api.Submission) { v.Options.Model = nil },
			"limits.maxModelCalls":          func(v *api.Submission) { v.Options.Limits.MaxModelCalls = api.Set(4) },
			"limits.maxOutputTokens":        func(v *api.Submission) { v.Options.Limits.MaxOutputTokens = api.Set(4000) },
			"limits.maxOutputTokensPerCall": func(v *api.Submission) { v.Options.Limits.MaxOutputTokensPerCall = api.Set(8192) },
			"limits.summaryTokens":          func(v *api.Submission) { v.Options.Limits.SummaryTokens = api.Set(512) },
			"autoApproverContext":           func(v *api.Submission) { v.Options.AutoApproverContext = api.Set("") },
			"compaction":                    func(v *api.Submission) { v.Options.Compaction = nil },
			"guardrails":                    func(v *api.Submission) { v.Options.Guardrails = []string{"g"} },
		} {
			sub := full(id)
			change(&sub)
			_, err := s.Submit(s.Context(), sub)
			if e := api.AsError(err); err == nil || e.Code != api.CodeSubmissionConflict || e.Details["fields"] != field || e.Details["run"] != run.Run {
				s.Errorf("with another %s: %v", field, err)
			}
		}
		sub := full(id)
		sub.Options.WhenBusy, sub.Options.SubmissionID, sub.Options.IdempotencyKey = api.BusyQueue, "", "id"
		sub.Options.Model.Provider = strings.ToLower(Provider)
		if again, err := s.Submit(s.Context(), sub); err != nil || again.Run != run.Run {
			s.Fatalf("the same under the other name of the key gave %+v, %v", again, err)
		}
	}},
	{"RU4 C60 a receipt is found before every other check", func(s *stage) {
		g := newGate()
		busy := World{Model: func(p Prompt) Answer {
			if p.User == "busy" {
				return Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
			}
			return Answer{Text: "ok"}
		}}
		s.open(busy)
		id := s.session()
		first, err := s.Submit(s.Context(), full(id))
		s.no(err)
		s.ends(first, api.StatusCompleted)
		run := s.send(id, "busy")
		g.await(s)
		for i := range api.MaxQueuedTurns {
			s.send(id, fmt.Sprint("queued ", i), api.TurnOptions{WhenBusy: api.BusyQueue})
		}
		for _, when := range []api.WhenBusy{"", api.BusyQueue, api.BusyInterrupt, "nonsense"} {
			sub := full(id)
			sub.Options.WhenBusy = when
			again, err := s.Submit(s.Context(), sub)
			if err != nil || again.Run != first.Run || !again.Repeated {
				s.Errorf("with whenBusy %q: %+v, %v", when, again, err)
			}
		}
		if st := s.state(id); st.Run != run.Run {
			s.Errorf("the current run is %s", st.Run)
		}
		close(g.open)
	}},
	{"RU4 RU6 a refused submission leaves no event and no receipt", func(s *stage) {
		g := newGate()
		s.open(World{ModelMax: 1000, Model: func(p Prompt) Answer {
			return Answer{Text: "ok", Wait: func(ctx context.Context) {
				if p.User == "busy" {
					g.pass(ctx, "model")
				}
			}}
		}})
		id := s.session()
		run := s.send(id, "busy")
		g.await(s)
		s.until(id, api.EventModelCallStarted)
		head := s.state(id).LastEvent
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			sub  api.Submission
			want api.Code
		}{
			{"busy", s.Context(), api.Submission{Text: "a"}, api.CodeSessionBusy},
			{"empty", s.Context(), api.Submission{Text: " \n"}, api.CodeInvalidRequest},
			{"limits", s.Context(), api.Submission{Text: "a", Options: api.TurnOptions{Limits: api.Limits{MaxOutputTokensPerCall: api.Set(1001)}}}, api.CodeInvalidLimits},
			{"guardrail", s.Context(), api.Submission{Text: "a", Options: api.TurnOptions{Guardrails: []string{"g"}, WhenBusy: api.BusyQueue}}, api.CodeGuardrailMissing},
			{"cancelled", ended, api.Submission{Text: "a", Options: api.TurnOptions{WhenBusy: api.BusyQueue}}, api.CodeCancelled},
		} {
			tt.sub.Session, tt.sub.Options.SubmissionID = id, tt.name
			_, err := s.Submit(tt.ctx, tt.sub)
			s.code(err, tt.want)
			if now := s.state(id).LastEvent; now != head {
				s.Fatalf("%s: the refusal left events %d to %d", tt.name, head+1, now)
			}
		}
		close(g.open)
		s.ends(run, api.StatusCompleted)
		for _, name := range []string{"busy", "empty", "limits", "guardrail", "cancelled"} {
			if r := s.send(id, "another message", api.TurnOptions{SubmissionID: name}); r.Repeated {
				s.Errorf("%s left a receipt", name)
			} else {
				s.ends(r, api.StatusCompleted)
			}
		}
	}},
	{"RU1 a run is found by its id, and only its own session's", func(s *stage) {
		s.open(World{})
		id, other := s.session(), s.session()
		run := s.send(id, "hi")
		found, err := s.Run(s.Context(), id, run.Run)
		s.no(err)
		if found.Run != run.Run || found.Accepted != run.Accepted {
			s.Fatalf("found %+v, sent %+v", found, run)
		}
		s.ends(run, api.StatusCompleted)
		for _, unknown := range []string{"", "x", id, id + "-r1", id + "-r3", id + "-r999", id + "-r-1", id + "-r02", other + "-r2", run.Run + "\x00", strings.Repeat("9", 5000)} {
			_, err := s.Run(s.Context(), id, unknown)
			s.code(err, api.CodeRunNotFound)
			_, err = s.Result(s.Context(), id, unknown)
			s.code(err, api.CodeRunNotFound)
			if unknown != "" {
				s.code(s.Cancel(s.Context(), id, unknown), api.CodeRunNotFound)
				_, err = s.Follow(s.Context(), api.FollowQuery{Session: id, Run: unknown})
				s.code(err, api.CodeRunNotFound)
			}
		}
		_, err = s.Run(s.Context(), other, run.Run)
		s.code(err, api.CodeRunNotFound)
	}},
}

var inputTests = []test{
	{"AT3 GU3 LI4 what a turn carries is taken at its bound and refused beyond it", func(s *stage) {
		s.open(World{ModelMax: 1000})
		id := s.session()
		text := func(n int) string { return strings.Repeat("x", n) }
		limit := func(set func(*api.Limits, *int)) func(int) api.Submission {
			return func(n int) api.Submission {
				var l api.Limits
				set(&l, &n)
				return api.Submission{Text: "hi", Options: api.TurnOptions{Limits: l}}
			}
		}
		for _, tt := range []struct {
			name     string
			make     func(n int) api.Submission
			ok       []int
			bad      []int
			badValue api.Code
		}{
			{"message", func(n int) api.Submission { return api.Submission{Text: text(n)} }, []int{1, api.MaxMessageBytes - 1, api.MaxMessageBytes}, []int{0, api.MaxMessageBytes + 1}, api.CodeInvalidRequest},
			{"submissionId", func(n int) api.Submission {
				return api.Submission{Text: "hi", Options: api.TurnOptions{SubmissionID: text(n)}}
			}, []int{0, 1, api.MaxSubmissionIDBytes}, []int{api.MaxSubmissionIDBytes + 1}, api.CodeInvalidRequest},
			{"instructionAddendum", func(n int) api.Submission {
				return api.Submission{Text: "hi", Options: api.TurnOptions{InstructionAddendum: text(n)}}
			}, []int{0, api.MaxGuidanceBytes}, []int{api.MaxGuidanceBytes + 1}, api.CodeInvalidGuidance},
			{"autoApproverContext", func(n int) api.Submission {
				return api.Submission{Text: "hi", Options: api.TurnOptions{AutoApproverContext: api.Set(text(n))}}
			}, []int{0, api.MaxGuidanceBytes}, []int{api.MaxGuidanceBytes + 1}, api.CodeInvalidGuidance},
			{"compaction", func(n int) api.Submission {
				return api.Submission{Text: "hi", Options: api.TurnOptions{Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set(text(n))}}}
			}, []int{0, api.MaxGuidanceBytes}, []int{api.MaxGuidanceBytes + 1}, api.CodeInvalidGuidance},
			{"maxModelCalls", limit(func(l *api.Limits, n *int) { l.MaxModelCalls = n }), []int{1, 2, 1<<31 - 1}, []int{0, -1, -1 << 31, 1 << 31}, api.CodeInvalidLimits},
			{"maxOutputTokens", limit(func(l *api.Limits, n *int) { l.MaxOutputTokens = n }), []int{513, 1<<31 - 1}, []int{0, -1, 512, 1 << 40}, api.CodeInvalidLimits},
			{"maxOutputTokensPerCall", limit(func(l *api.Limits, n *int) { l.MaxOutputTokensPerCall = n }), []int{1, 999, 1000}, []int{0, -5, 1001}, api.CodeInvalidLimits},
			{"summaryTokens", limit(func(l *api.Limits, n *int) { l.SummaryTokens = n }), []int{1, 1 << 20}, []int{0, -1}, api.CodeInvalidLimits},
		} {
			head := s.state(id).LastEvent
			for _, n := range tt.bad {
				sub := tt.make(n)
				sub.Session = id
				if _, err := s.Submit(s.Context(), sub); api.CodeOf(err) != tt.badValue {
					s.Errorf("%s of %d: %v", tt.name, n, err)
				}
			}
			if now := s.state(id).LastEvent; now != head {
				s.Errorf("%s: refusals left events %d to %d", tt.name, head+1, now)
			}
			for _, n := range tt.ok {
				sub := tt.make(n)
				sub.Session = id
				run, err := s.Submit(s.Context(), sub)
				if err != nil {
					s.Errorf("%s of %d: %v", tt.name, n, err)
					continue
				}
				s.ends(run, api.StatusCompleted)
			}
		}
	}},
	{"GU3 a text with a NUL or without UTF-8 is refused wherever it stands and changes nothing", func(s *stage) {
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		head := s.state(id).LastEvent
		for _, bad := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80"} {
			for name, sub := range map[string]api.Submission{
				"message":             {Text: bad},
				"submissionId":        {Text: "a", Options: api.TurnOptions{SubmissionID: bad}},
				"idempotencyKey":      {Text: "a", Options: api.TurnOptions{IdempotencyKey: bad}},
				"instructionAddendum": {Text: "a", Options: api.TurnOptions{InstructionAddendum: bad}},
				"autoApproverContext": {Text: "a", Options: api.TurnOptions{AutoApproverContext: &bad}},
				"compaction":          {Text: "a", Options: api.TurnOptions{Compaction: &api.CompactionOptions{AdditionalInstructions: &bad}}},
				"model":               {Text: "a", Options: api.TurnOptions{Model: &api.ModelRef{Provider: Provider, Name: bad}}},
				"provider":            {Text: "a", Options: api.TurnOptions{Model: &api.ModelRef{Provider: bad, Name: "m"}}},
			} {
				sub.Session, sub.Options.WhenBusy = id, api.BusyQueue
				_, err := s.Submit(s.Context(), sub)
				if c := api.CodeOf(err); c != api.CodeInvalidRequest && c != api.CodeInvalidGuidance && c != api.CodeUnknownProvider {
					s.Errorf("%s %q: %v", name, bad, err)
				}
			}
			for name, a := range map[string]api.Answer{
				"reason": {Decision: api.Deny, Reason: bad}, "output": {Decision: api.AllowOnce, Output: bad}, "by": {Decision: api.AllowOnce, By: bad}, "decision": {Decision: api.Decision(bad)},
			} {
				if err := s.Resolve(s.Context(), id, in.ID, a); api.CodeOf(err) != api.CodeInvalidRequest {
					s.Errorf("%s %q: %v", name, bad, err)
				}
			}
		}
		for name, a := range map[string]api.Answer{
			"reason": {Decision: api.Deny, Reason: strings.Repeat("x", api.MaxGuidanceBytes+1)}, "output": {Decision: api.AllowOnce, Output: strings.Repeat("x", api.MaxToolOutputBytes+1)},
			"by": {Decision: api.AllowOnce, By: strings.Repeat("x", api.MaxSubmissionIDBytes+1)},
		} {
			if err := s.Resolve(s.Context(), id, in.ID, a); api.CodeOf(err) != api.CodeInvalidRequest {
				s.Errorf("%s of one byte too many: %v", name, err)
			}
		}
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "a", Options: api.TurnOptions{SubmissionID: "a", IdempotencyKey: "b"}})
		s.code(err, api.CodeInvalidRequest)
		_, err = s.Submit(s.Context(), api.Submission{Session: id, Text: "a", Options: api.TurnOptions{WhenBusy: "later"}})
		s.code(err, api.CodeInvalidRequest)
		if now := s.state(id).LastEvent; now != head {
			s.Fatalf("refusals left events %d to %d", head+1, now)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny, Reason: strings.Repeat("x", api.MaxGuidanceBytes), By: strings.Repeat("x", api.MaxSubmissionIDBytes)}))
		s.ends(run, api.StatusCompleted)
	}},
}
