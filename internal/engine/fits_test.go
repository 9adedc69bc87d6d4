package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// RE8: what a process must have to go on.
func TestASessionNeedsWhatItsAgentAndItsTurnName(t *testing.T) {
	t.Parallel()
	agent := worker(func(a *engine.Agent) {
		a.Guardrails, a.Hooks = []string{"secrets", "billing"}, []string{"trace", "audit"}
	})
	p := newPlay(t, agent)
	if got := engine.Needs(p.state); got != nil {
		t.Errorf("an idle session needs %v", got)
	}
	p.play(say("hi", func(m *engine.Message) { m.Guardrails = []string{"legal", "secrets"} }), queued("next"))
	want := []string{"agent:d1", "guardrail:billing", "guardrail:legal", "guardrail:secrets", "hook:audit", "hook:trace", "provider:P", "rules:2"}
	if diff := cmp.Diff(want, engine.Needs(p.state)); diff != "" {
		t.Errorf("with a turn's own guardrail (-want +got):\n%s", diff)
	}
	p.play(begin, says("hello"))
	want = []string{"agent:d1", "guardrail:billing", "guardrail:secrets", "hook:audit", "hook:trace", "provider:P", "rules:2"}
	if diff := cmp.Diff(want, engine.Needs(p.state)); diff != "" {
		t.Errorf("the next turn has none of its own (-want +got):\n%s", diff)
	}
}

// measured is a session with a request behind it whose size and tokens are known, and with limits of its own.
func measured(t *rapid.T) *engine.State {
	l := limits(0, 0, rapid.IntRange(1, 40_000).Draw(t, "per call"), 0)
	if rapid.Bool().Draw(t, "a budget") {
		l.MaxOutputTokens = api.Set(rapid.IntRange(600, 100_000).Draw(t, "output"))
	}
	s := &engine.State{Session: "s"}
	do := func(c engine.Command) {
		_, after, err := engine.Decide(s, c, engine.Env{Now: start})
		if err != nil {
			t.Fatal(err)
		}
		s = after
	}
	do(engine.Create{Event: engine.SessionCreated{Agent: worker(limited(l))}})
	do(engine.Message{Text: "hi", Addendum: "be brief"})
	if rapid.Bool().Draw(t, "a first call") {
		fixed := rapid.IntRange(0, 200_000).Draw(t, "fixed before")
		do(engine.Begin{Effect: engine.Pending(s)[0], Epoch: 1, Fixed: fixed})
		do(engine.ModelDone{Run: s.Turn.Run, Call: 1, Attempt: 1, Epoch: 1, Items: []engine.Item{call("read")}, Stop: engine.StopToolCalls,
			Usage: api.Usage{InputTokens: int64(rapid.IntRange(0, 100_000).Draw(t, "tokens"))}})
		do(engine.Begin{Effect: engine.Pending(s)[0], Epoch: 1})
		do(engine.ToolOutcome{CallID: s.Turn.Tools[0].ID, Attempt: 1, Epoch: 1, Output: string(make([]byte, rapid.IntRange(0, 100_000).Draw(t, "result")))})
	}
	return s
}

// LI2, CO1: an answer asks for no more than its limit, and for no more than the window has left behind the request.
func TestAnAnswerAsksForNoMoreThanItsLimitOrItsWindowAllow(t *testing.T) {
	t.Parallel()
	least := 16 // what is asked for where the estimate says that nothing is left: the provider has the last word
	rapid.Check(t, func(t *rapid.T) {
		s := measured(t)
		fixed, window := rapid.IntRange(0, 100_000).Draw(t, "fixed"), rapid.IntRange(0, 200_000).Draw(t, "window")
		effects := engine.Pending(s)
		if len(effects) != 1 || effects[0].Kind != engine.ModelEffect {
			t.Fatalf("pending %+v", effects)
		}
		started := func(window int) engine.ModelStarted {
			events, _, err := engine.Decide(s, engine.Begin{Effect: effects[0], Epoch: 1, Fixed: fixed, Window: window}, engine.Env{Now: start})
			if err != nil || len(events) != 1 {
				t.Fatalf("%v, %v", events, err)
			}
			return events[0].(engine.ModelStarted)
		}
		free, got := started(0), started(window)
		size := fixed + len("be brief") + s.Context.Bytes
		if got.Size != size {
			t.Errorf("the size is %d, not %d", got.Size, size)
		}
		if got.Max < 1 || got.Max > free.Max {
			t.Fatalf("it asks for %d where %d is the limit", got.Max, free.Max)
		}
		if window == 0 {
			return
		}
		left := window - s.Context.Tokens(size)
		if got.Max > max(left, least) {
			t.Errorf("it asks for %d where %d are left", got.Max, left)
		}
		part := 4
		if s.Context.Tokens(fixed+len("be brief")) > window/3 { // long instructions leave half of the rest to the conversation
			part = 16
		}
		if engine.Fits(s, fixed, window) && got.Max < min(free.Max, window/part) {
			t.Errorf("it fits, but asks for %d of %d in a window of %d", got.Max, free.Max, window)
		}
	})
}

func TestWhatFitsALargerWindowOrAShorterConversationFitsToo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := measured(t)
		fixed, window := rapid.IntRange(0, 100_000).Draw(t, "fixed"), rapid.IntRange(1, 200_000).Draw(t, "window")
		if !engine.Fits(s, fixed, 0) {
			t.Error("it does not fit a window that nobody knows")
		}
		if !engine.Fits(s, fixed, window) {
			return
		}
		shorter := s.Clone()
		if shorter.Context.Bytes = rapid.IntRange(0, s.Context.Bytes).Draw(t, "less"); !engine.Fits(shorter, fixed, window) {
			t.Errorf("%d bytes fit %d, but %d do not", s.Context.Bytes, window, shorter.Context.Bytes)
		}
		// The reserve for the answer grows with the window, by less than the window does.
		if more := window + rapid.IntRange(0, 100_000).Draw(t, "more"); !engine.Fits(s, fixed, more) {
			t.Errorf("%d bytes fit %d, but not %d", fixed, window, more)
		}
	})
}

// A plan that keeps to its room leads to a call that fits.
func TestAConversationOfTheRoomsSizeFits(t *testing.T) {
	t.Parallel()
	fitted := 0
	rapid.Check(t, func(t *rapid.T) {
		s := measured(t)
		fixed, window := rapid.IntRange(0, 50_000).Draw(t, "fixed"), rapid.IntRange(64, 200_000).Draw(t, "window")
		r := engine.Room(s, fixed, 900, window)
		if r.Run != s.Turn.Run || r.All || r.Target != 0 {
			t.Errorf("room %+v", r)
		}
		if r.Summary < 0 || s.Context.Tokens(r.Summary) > min(api.MaxCompactionTokens, window/4) {
			t.Errorf("a summary of %d bytes is of %d tokens in a window of %d", r.Summary, s.Context.Tokens(r.Summary), window)
		}
		if r.Source > 0 && s.Context.Tokens(r.Source+900) > window {
			t.Errorf("a source of %d bytes does not fit a window of %d", r.Source, window)
		}
		if r.Room < 0 {
			return // what is fixed alone does not fit
		}
		if r.Last < r.Room {
			t.Errorf("%d bytes are the last that is tried, though there is room for %d", r.Last, r.Room)
		}
		fitted++
		in := s.Clone()
		in.Context.Bytes = r.Room
		if !engine.Fits(in, fixed, window) {
			t.Errorf("a conversation of %d bytes keeps to its room and does not fit %d", r.Room, window)
		}
		in.Context.Bytes = r.Room + 200
		if engine.Fits(in, fixed, window) {
			t.Errorf("there is room for more than %d bytes in %d", r.Room, window)
		}
	})
	if fitted == 0 {
		t.Error("there was never any room")
	}
}

func TestAfterAnOverflowThereIsLessRoomThanBefore(t *testing.T) {
	t.Parallel()
	for _, window := range []int{0, 200_000} {
		p := newPlay(t, worker()).play(say("hi"))
		p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1, Fixed: 50_000, Window: window})
		size := 50_000 + p.state.Context.Bytes
		before := engine.Room(p.state, 50_000, 900, window).Room
		p.play(fails(api.CodeContextExhausted, false))
		room := engine.Room(p.state, 1_000, 900, window).Room
		if room+1_000 >= size || window > 0 && room+49_000 >= before {
			t.Errorf("window %d: %d bytes were too much, and there is room for %d", window, size, room)
		}
		if room <= 0 {
			t.Errorf("window %d: no room is left: %d", window, room)
		}
	}
}

// LI5: the second overflow of a call ends its turn, so the second try leaves room for an estimate that is wrong again.
func TestAfterAnOverflowAnAnswerAsksForAPartOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	asked := func(p *play) int {
		p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1, Fixed: 500, Window: 8_000})
		return p.state.Turn.Call.Max
	}
	p := newPlay(t, worker()).play(say("hi"))
	if got := asked(p); got < 7_000 {
		t.Errorf("the first try asks for %d", got)
	}
	p.play(fails(api.CodeContextExhausted, false), summarises, summarised)
	if got := asked(p); got < 1_000 || got > 2_001 {
		t.Errorf("the second asks for %d", got)
	}
}

// A smaller part is summarised each time that what was to be summarised did not fit either.
func TestEachOverflowOfASummaryHalvesWhatItIsShown(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), summarises)
	source := engine.Room(p.state, 0, 0, 100_000).Source
	for n := range 5 {
		p.play(summaryFails(api.CodeContextExhausted, false))
		got := engine.Room(p.state, 0, 0, 100_000).Source
		if got != source/2 {
			t.Errorf("overflow %d: %d bytes follow %d", n+1, got, source)
		}
		source = got
		p.play(summarises)
	}
}

// What did not fit one summary of a turn would not fit the next one either.
func TestASeriesOfSummariesKeepsWhatItLearnt(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), summarises, summaryFails(api.CodeContextExhausted, false))
	source := engine.Room(p.state, 0, 0, 100_000).Source
	p.play(summarises, summarised)
	if got := engine.Room(p.state, 0, 0, 100_000).Source; got > source*11/10 {
		t.Errorf("behind a summary of what fitted %d bytes, the next one is shown %d", source, got)
	}
}

// Guidance takes at most a part of a summary's request, and less of one that did not fit.
func TestGuidanceForASummaryHasItsPartOfTheWindow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), summarises)
	for window, want := range map[int]int{0: api.MaxGuidanceBytes, 8_000: 4_000, 1_000_000: api.MaxGuidanceBytes} {
		if got := engine.GuidanceBytes(p.state, window); got != want {
			t.Errorf("in a window of %d it may have %d bytes, want %d", window, got, want)
		}
	}
	p.play(summaryFails(api.CodeContextExhausted, false))
	if got := engine.GuidanceBytes(p.state, 0); got != api.MaxGuidanceBytes/2 {
		t.Errorf("after an overflow it may have %d bytes", got)
	}
}

// Instructions that take most of a window leave room for a conversation.
func TestLongInstructionsLeaveRoomForAConversation(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"))
	for _, percent := range []int{50, 70, 80} {
		fixed := 100_000 * 2 * percent / 100 // bytes, two of them a token
		room := engine.Room(p.state, fixed, 900, 100_000).Room
		if least := (100_000*2 - fixed) / 4; room < least {
			t.Errorf("instructions of %d%% leave %d bytes, want %d", percent, room, least)
		}
	}
}

// Whether the next call fits is looked at before each: it costs no more in a long conversation than in a short one.
func BenchmarkFits(b *testing.B) {
	p := newPlay(b, worker()).play(say("hi"), begin, asksFor("read"), begin, returns(1, "it"))
	p.state.Context.Bytes = 1 << 20
	for b.Loop() {
		if !engine.Fits(p.state, 50_000, 1_000_000) {
			b.Fatal("it does not fit")
		}
	}
}
