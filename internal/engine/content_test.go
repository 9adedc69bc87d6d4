package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// holding checks the files that the state says the context has, and that those that wait are not among them.
func holding(want ...string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		if diff := cmp.Diff(want, held(p.state.Context.Files)); diff != "" {
			t.Errorf("the files in the context (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(shownFiles(transcribe(p).Context(0)), p.state.Context.Files, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the files that the model is shown, and those that the state holds (-shown +held):\n%s", diff)
		}
		needs := slices.Contains(engine.Needs(p.state), engine.NeedContent)
		if needs != (p.state.Turn != nil && len(want) > 0) {
			t.Errorf("the needs are %v", engine.Needs(p.state))
		}
	}
}

// naming checks that a refusal names the file.
func naming(file string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		var e *api.Error
		if !errors.As(p.err, &e) || e.Details["file"] != file || !strings.Contains(e.Message, file) {
			t.Errorf("the refusal %v does not name %s", p.err, file)
		}
	}
}

func TestMessagesWithFiles(t *testing.T) {
	t.Parallel()
	shown := []move{send(words("look"), picture()), begin, says("a cat")}
	tell(t, []story{
		{
			name:     "AT2 a message with files begins a turn, and the context has them",
			when:     send(words("look"), picture(), notes()),
			events:   []string{"turn_accepted r1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    holding("2 image/png photo.png", "2 text/plain notes.txt"),
		},
		{
			name:     "AT2 they stay when the turn has ended, and the next message's come behind them",
			given:    shown,
			when:     send(paper(), attached("second.pdf", "application/pdf", 9)),
			events:   []string{"turn_accepted r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    holding("2 image/png photo.png", "6 application/pdf paper.pdf"),
		},
		{
			name:     "SE4 the files of a queued message come with its turn",
			given:    []move{say("hi"), begin},
			when:     sendWith(blocks(picture()), busy(api.BusyQueue)),
			events:   []string{"turn_accepted r2 queued"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    holding(),
		},
		{
			name:     "SE4 and once it begins they are there",
			given:    []move{say("hi"), sendWith(blocks(picture()), busy(api.BusyQueue)), begin},
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    holding("3 image/png photo.png"),
		},
		{
			name:     "SE4 those of one that is cancelled while it waits never are",
			given:    []move{say("hi"), sendWith(blocks(picture()), busy(api.BusyQueue)), cancelRun(2), begin},
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
			check:    holding(),
		},
		{
			name:     "SE4 an interrupt with files goes ahead of the queue",
			given:    []move{say("hi"), sendWith(blocks(notes()), busy(api.BusyQueue)), begin, sendWith(blocks(picture()), busy(api.BusyInterrupt))},
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 cancelled", "turn_started r3"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    holding("5 image/png photo.png"),
		},
		{
			name:     "LI5 a request that is too large is made again without older files",
			given:    then(shown, send(paper()), begin),
			when:     fails(api.CodeRequestTooLarge, false),
			events:   []string{"model_failed 1/1 request_too_large compact"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
			check:    holding("2 image/png photo.png", "6 application/pdf paper.pdf"),
		},
		{
			name:     "LI5 which needs no summary, and the newest message keeps its files",
			given:    then(shown, send(paper()), begin, fails(api.CodeRequestTooLarge, false)),
			when:     bareFit,
			events:   []string{"compaction_finished 0 bare"},
			pending:  []string{"model 1/2"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				holding("6 application/pdf paper.pdf")(t, p)
				first := transcribe(p).Context(0)[0].Text
				if first != "look\n\n[attached file \"photo.png\": image/png, 50000 bytes; not shown here]" {
					t.Errorf("instead of the older file the model reads %q", first)
				}
				if whole := transcribe(p).Entries()[0]; len(whole.History().Content) != 2 {
					t.Errorf("the history has %+v; want the blocks as they were sent", whole.History())
				}
			},
		},
		{
			name:     "LI5 and that once a call",
			given:    then(shown, send(paper()), begin, fails(api.CodeRequestTooLarge, false), bareFit, begin),
			when:     fails(api.CodeRequestTooLarge, false),
			events:   []string{"model_failed 1/2 request_too_large final", "turn_ended r2 failed request_too_large"},
			activity: "idle",
			check:    holding("6 application/pdf paper.pdf"),
		},
		{
			name:     "LI5 one that is too large by its own files has failed",
			given:    []move{say("hi"), begin, says("hello"), send(paper()), begin},
			when:     fails(api.CodeRequestTooLarge, false),
			events:   []string{"model_failed 1/1 request_too_large final", "turn_ended r2 failed request_too_large"},
			activity: "idle",
			check:    holding("6 application/pdf paper.pdf"),
		},
		{
			name:     "CO1 a run that only summarises leaves the files out although nothing has to be summarised",
			given:    then(shown, say("", compactNow)),
			when:     bareRun,
			events:   []string{"compaction_finished 0 bare"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
			check:    holding(),
		},
		{
			name:     "CO1 and is completed then",
			given:    then(shown, say("", compactNow), bareRun),
			when:     bareRun,
			events:   []string{"turn_ended r2 completed"},
			activity: "idle",
			check:    holding(),
		},
		{
			name:     "CO1 a summary of messages with files leaves them out",
			given:    then(shown, send(paper()), begin, fails(api.CodeContextExhausted, false), fit(engine.Window{Room: 7000, Source: 9000, Summary: 300, Target: 1})),
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"model 1/2"},
			due:      "+0s",
			activity: "active",
			check:    holding("6 application/pdf paper.pdf"),
		},
	})
}

func TestFilesThatATurnMustNotMeet(t *testing.T) {
	t.Parallel()
	idle := func(m move) []move { return []move{m, begin, says("seen")} }
	waiting := []move{say("hi"), sendWith(blocks(words("look"), picture()), busy(api.BusyQueue)), begin}
	begun := func(name string, given []move, when move, pending string) story {
		return story{name: name, given: given, when: when, events: []string{"turn_accepted r2"}, pending: []string{pending}, due: "+0s", activity: "active"}
	}
	queues := func(name string, when move, events ...string) story {
		s := story{name: name, given: waiting, when: when, events: events, pending: []string{"model 1/1 runs"}, due: "+0s", activity: "active"}
		if len(events) > 1 {
			s.pending = nil
		}
		return s
	}
	refused := func(name string, given []move, when move, code api.Code, file string) story {
		return story{name: name, given: given, when: when, code: code, activity: "idle", check: naming(file)}
	}
	refusedBusy := func(name string, when move, code api.Code) story {
		return story{name: name, given: waiting, when: when, code: code, pending: []string{"model 1/1 runs"}, due: "+0s", activity: "active", check: naming("photo.png")}
	}
	compacted := then(idle(send(picture())), say("", compactNow), bareRun, bareRun)
	urgent := func(name string, waits func(*engine.Message), b engine.Block, code api.Code, says string) story {
		s := story{name: name, given: []move{say("hi"), say("waits", waits, busy(api.BusyQueue)), begin}, when: sendWith(blocks(words("look"), b), busy(api.BusyInterrupt)), code: code, activity: "active", due: "+0s"}
		if code == "" {
			s.events = []string{"turn_accepted r3 queued front", "cancel_requested r1 by interrupt"}
			return s
		}
		s.pending = []string{"model 1/1 runs"}
		s.check = func(t *testing.T, p *play) {
			naming(b.File.Name)(t, p)
			if e := api.AsError(p.err); e.Details["run"] != p.runs[1] || !strings.Contains(e.Message, says) || !strings.Contains(e.Message, p.runs[1]) {
				t.Errorf("the refusal %v, %v does not say %s of run %s", e, e.Details, says, p.runs[1])
			}
		}
		return s
	}
	tell(t, []story{
		refused("AT7 a guardrail that comes later refuses a turn in whose context an image is", idle(send(picture())), say("hi", inspecting), api.CodeUninspectableContent, "photo.png"),
		refused("AT7 or a PDF", idle(send(notes(), paper())), say("hi", inspecting), api.CodeUninspectableContent, "paper.pdf"),
		begun("AT7 but not where it is a text, which it looks into", idle(send(notes())), say("hi", inspecting), "model 1/1"),
		refusedBusy("AT7 nor may one wait in the queue before it", say("hi", inspecting, busy(api.BusyQueue)), api.CodeUninspectableContent),
		queues("AT7 unless the message goes ahead of it", say("hi", inspecting, busy(api.BusyInterrupt)), "turn_accepted r3 queued front", "cancel_requested r1 by interrupt"),
		begun("AT7 a run that only summarises is let be: it is the way out", idle(send(picture())), say("", compactNow, inspecting), "compact 1"),
		{name: "AT7 and behind it the turn is accepted", given: compacted, when: say("hi", inspecting), events: []string{"turn_accepted r3"}, pending: []string{"model 1/1"}, due: "+0s", activity: "active"},
		urgent("AT7 no image goes ahead of a queued turn whose guardrail could not look into it", inspecting, picture(), api.CodeUninspectableContent, "secrets"),
		urgent("AT7 nor does a PDF", inspecting, paper(), api.CodeUninspectableContent, "secrets"),
		urgent("AT7 but a text may, which it looks into", inspecting, notes(), "", ""),
		urgent("AT7 and anything ahead of a turn without a guardrail", func(*engine.Message) {}, paper(), "", ""),
		urgent("AT8 no image goes ahead of a queued turn whose model takes none", refusing("application/pdf", "image/png"), picture(), api.CodeUnsupportedMedia, "image/png"),
		urgent("AT8 but what its model takes may", refusing("application/pdf"), picture(), "", ""),
		{name: "AT8 once that turn is cancelled nothing is in the way", given: []move{say("hi"), say("waits", inspecting, refusing("image/png"), busy(api.BusyQueue)), begin, cancelRun(2)},
			when: sendWith(blocks(picture()), busy(api.BusyInterrupt)), events: []string{"turn_accepted r3 queued front", "cancel_requested r1 by interrupt"}, activity: "active", due: "+0s"},
		{name: "AT8 behind it an image may wait", given: []move{say("hi"), say("waits", inspecting, refusing("image/png"), busy(api.BusyQueue)), begin},
			when: sendWith(blocks(picture()), busy(api.BusyQueue)), events: []string{"turn_accepted r3 queued"}, pending: []string{"model 1/1 runs"}, activity: "active", due: "+0s"},
		refused("AT8 a model that takes no image refuses a turn in whose context one is", idle(send(picture())), say("hi", refusing("image/png", "application/pdf")), api.CodeUnsupportedMedia, "photo.png"),
		begun("AT8 one that takes it does not", idle(send(picture())), say("hi", refusing("image/webp", "application/pdf")), "model 1/1"),
		refusedBusy("AT8 nor may one wait in the queue before it", say("hi", refusing("image/png"), busy(api.BusyQueue)), api.CodeUnsupportedMedia),
		queues("AT8 what is queued behind others that it takes is accepted", say("hi", refusing("application/pdf"), busy(api.BusyQueue)), "turn_accepted r3 queued"),
		begun("AT8 a run that only summarises is let be", idle(send(picture())), say("", compactNow, refusing("image/png")), "compact 1"),
		{name: "AT8 and behind it the turn is accepted", given: compacted, when: say("hi", refusing("image/png")), events: []string{"turn_accepted r3"}, pending: []string{"model 1/1"}, due: "+0s", activity: "active"},
	})
}
