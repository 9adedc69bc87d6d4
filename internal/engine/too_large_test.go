package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// finally are the words with which a call has failed for good, and its turn with it.
func finally(wants string, but ...string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		failed, ok := p.events[0].(engine.ModelFailed)
		end, over := p.events[len(p.events)-1].(engine.TurnEnded)
		if !ok || !over || failed.Message != end.Message || !strings.HasPrefix(end.Message, "sorry") || !strings.Contains(end.Message, wants) {
			t.Fatalf("the call failed as %+v and the turn as %+v; want %q", failed, end, wants)
		}
		for _, word := range but {
			if strings.Contains(end.Message, word) {
				t.Errorf("%q speaks of %q", end.Message, word)
			}
		}
	}
}

// LI5, CO3: what of a request may be what makes it too large, and who is named where nothing can be left out.
func TestRequestsThatAreTooMuch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some words ", 40_000)
	talked := []move{say(long), begin, says("well")}
	seen := []move{send(words("look"), picture()), begin, says("a cat")}
	again := func(name string, given []move, code api.Code, bare bool) story {
		return story{name: name, given: then(given, begin), when: fails(code, false), events: []string{"model_failed 1/1 " + string(code) + " compact"}, pending: []string{"compact 1"}, due: "+0s", activity: "active",
			check: func(t *testing.T, p *play) {
				if c := p.state.Turn.Compaction; c.Bare != bare || !c.Due {
					t.Errorf("what follows is %+v; want files alone left out: %t", c, bare)
				}
			}}
	}
	over := func(name string, given []move, code api.Code, attempt, run string, check func(*testing.T, *play)) story {
		return story{name: name, given: then(given, begin), when: fails(code, false),
			events: []string{"model_failed " + attempt + " " + string(code) + " final", "turn_ended " + run + " failed " + string(code)}, activity: "idle", check: check}
	}
	tooLarge, tooLong := api.CodeRequestTooLarge, api.CodeContextExhausted
	summarisedOnce := []move{fit(engine.Window{Room: 7000, Source: 9000, Summary: 300, Target: 1}), summarised}
	tell(t, []story{
		again("LI5 a body that is too large for its texts leads to a summary", then(talked, say("and?")), tooLarge, false),
		again("LI5 and so it does where the older texts are more than the message's own files", then(talked, send(paper())), tooLarge, false),
		again("LI5 where older files are there too, they go first", then(talked, send(picture()), begin, says("a cat"), say("and?")), tooLarge, true),
		over("LI5 a message that is too large by itself has failed, without a word of files", then(nil, say(long)), tooLarge, "1/1", "r1", finally("", "file", "shortened")),
		over("LI5 one that is too large by its own file names it", []move{say("hi"), begin, says("hello"), send(picture(), paper())}, tooLarge, "1/1", "r2", finally(`has the file "photo.png", and a current message is never shortened`, "paper.pdf")),
		over("LI5 whose file is heavier than all that is older", []move{say(strings.Repeat("x", 100_000)), begin, says("well"), send(paper())}, tooLarge, "1/1", "r2", finally(`the file "paper.pdf"`)),
		over("LI5 and once the older texts are summarised it is the message that is too large", then(talked, send(paper()), begin, fails(tooLarge, false), summarisedOnce[0], summarisedOnce[1]), tooLarge, "1/2", "r2", finally(`the file "paper.pdf"`)),
		over("CO3 what a provider's window cannot have names the message's file", then(seen, send(words("read"), notes()), begin, fails(tooLong, false), summarisedOnce[0], summarisedOnce[1]), tooLong, "1/2", "r2", finally(`the file "notes.txt"`, "photo.png")),
		over("CO3 and none where the message has none", then(seen, say("and?"), begin, fails(tooLong, false), summarisedOnce[0], summarisedOnce[1]), tooLong, "1/2", "r2", finally("", "photo.png", "shortened")),
		over("CO3 another failure names no file", then(nil, send(paper())), api.CodeContentFiltered, "1/1", "r1", finally("", "paper.pdf")),
	})
}

// GR2, AP3, CO1: what the host says of a late outcome and of changed arguments is within what a guardrail looks at, tells
// what is left out, and is counted as it is shown.
func TestWhatTheHostSaysIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		letter := rapid.SampledFrom([]string{"a", "é", "漢", "🙂"}).Draw(draw, "letter")
		some := func(label string, most int) string {
			return strings.Repeat(letter, rapid.IntRange(1, most/len(letter)).Draw(draw, label))
		}
		late, arguments, output := some("late output", api.MaxGuardedBytes), `{"a":"`+some("arguments", 200_000)+`"}`, some("output", api.MaxGuardedBytes-8_500)
		p := newPlay(t, worker(always)).play(say("hi"), begin, asksFor("write"), change(1, arguments), checkedAtStart(1, ""), begin)
		p.play(returns(1, output), begin, says("done"), say("go"), begin, asksFor("write"), decide(2, api.AllowOnce, ""), begin,
			cancelCurrent, overdue(2), returnsOf(2, 1, 1, late), say("next"))
		size, noticeWords := 0, 0
		var notice, result string
		for _, e := range transcribe(p).Context(0) {
			size += engine.EntryBytes(e)
			switch {
			case e.Kind == engine.EntryNotice:
				notice, noticeWords = e.Text, strings.Index(e.Text, "Its output: ")+len("Its output: ")
			case e.Kind == engine.EntryResult && result == "":
				result = e.Text
			}
		}
		if p.state.Context.Bytes != size {
			t.Fatalf("the context is of %d bytes, and counted as %d", size, p.state.Context.Bytes)
		}
		for what, text := range map[string]struct {
			said, whole string
			most        int
		}{"the late outcome": {notice, late, api.MaxGuardedBytes - 8_000 - noticeWords}, "the changed arguments": {strings.TrimSuffix(result, output), arguments, 8_000}} {
			if len(text.said) > api.MaxGuardedBytes || len(result) > api.MaxGuardedBytes {
				t.Fatalf("%s: %d bytes are said, in a result of %d", what, len(text.said), len(result))
			}
			if cut := len(text.whole) > text.most; cut == strings.Contains(text.said, text.whole) || cut != strings.Contains(text.said, "bytes are left out here") {
				t.Fatalf("%s of %d bytes is said as %.300q", what, len(text.whole), text.said)
			}
		}
		history := transcribe(p).Entries()
		at := slices.IndexFunc(history, func(e engine.Entry) bool { return e.Kind == engine.EntryNotice })
		if at < 0 || !strings.HasSuffix(history[at].Text, " Its output: "+late) || history[at].Missing != 0 {
			t.Fatalf("the history has not the whole of the late outcome: it has %d entries, the notice at %d", len(history), at)
		}
		if !strings.HasSuffix(result, output) {
			t.Fatalf("the result ends with %.100q", result)
		}
		reader, err := engine.Fold(&engine.State{Session: "s"}, p.facts...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mustSnapshot(t, p.state), mustSnapshot(t, reader)); diff != "" {
			t.Fatalf("the journal folds into another state:\n%s", diff)
		}
	})
}
