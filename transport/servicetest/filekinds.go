package servicetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Files that guardrails cannot look into, and files that a model does not take (AT7, AT8).

var inspecting = api.TurnOptions{Guardrails: []string{"warden"}}

// on is a turn with a model.
func on(name string) api.TurnOptions {
	return api.TurnOptions{Model: &api.ModelRef{Provider: Provider, Name: name}}
}

var fileKindTests = []test{
	{"AT7 an image or a PDF is refused by its name wherever a guardrail would have to look into it, of the agent or of the turn", func(s *stage) {
		for _, point := range points {
			for _, of := range []string{"agent", "turn"} {
				var units seen[Unit]
				s.open(World{Guardrails: []Guardrail{watching("warden", &units, point)}}, func(d *api.AgentDefinition) {
					if d.Name = strings.ReplaceAll(point, "_", "-") + "-" + of; of == "agent" {
						d.Guardrails = []string{"warden"}
					}
				})
				o := api.TurnOptions{}
				if of == "turn" {
					o = inspecting
				}
				id := s.session()
				image, report := pngFile("screen.png", 2, 2, 3), pdfFile("report.pdf", "r", 200)
				up := s.upload(id, report)
				for _, b := range []api.ContentBlock{image.inline(), report.inline(), report.stored(up.ID)} {
					if point == "tool_result" || point == "model_output" {
						s.ends(s.deliverWith(id, o, text("look"), b), api.StatusCompleted)
						continue
					}
					err := s.refused(id, api.CodeUninspectableContent, b.Name, o, text("look"), b)
					if err.Details["guardrail"] != "warden" || err.Details["file"] != b.Name || !strings.Contains(err.Message, "warden") {
						s.Errorf("%s: the error is %v, %v", point, err, err.Details)
					}
					if len(units.all()) > 0 {
						s.Errorf("%s: a guardrail was asked about a message that could not pass", point)
					}
				}
				s.process.Stop()
			}
		}
		s.look()
	}},
	{"AT7 a turn whose guardrail looks at the model's input is refused while an earlier image is in the context, and taken once it is not", func(s *stage) {
		var prompts asked
		var units seen[Unit]
		s.open(World{Model: prompts.by(counting), Guardrails: []Guardrail{watching("warden", &units, "model_input"), watching("input", &units, "user_input")}})
		id := s.session()
		image := pngFile("screen.png", 2, 2, 3)
		s.ends(s.deliver(id, text("look"), image.inline()), api.StatusCompleted)
		for range 2 {
			err := s.refused(id, api.CodeUninspectableContent, image.name, inspecting, text("go on"))
			if err.Details["guardrail"] != "warden" || err.Details["file"] != image.name {
				s.Errorf("the error is %v, %v", err, err.Details)
			}
			s.process.Crash()
			s.open(World{Model: prompts.by(counting), Guardrails: []Guardrail{watching("warden", &units, "model_input"), watching("input", &units, "user_input")}})
		}
		s.say(id, "without it")
		if got, want := shown(prompts.all()[1].Items[0].Parts), shows("look", image); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
		s.say(id, "it does not look at older messages", api.TurnOptions{Guardrails: []string{"input"}})
		for range 5 {
			s.say(id, "more")
		}
		s.ends(s.compact(id), api.StatusCompleted)
		s.say(id, "now", inspecting)
		last := prompts.all()[len(prompts.all())-1]
		if parts := last.parts(); parts != nil || last.User != "now" {
			s.Errorf("behind the summary the model was shown %q", shown(parts))
		}
		if content := s.history(id)[0].Content; len(content) != 2 || content[1].Name != image.name {
			s.Errorf("history has %+v", content)
		}
	}},
	{"AT7 a text file of an earlier message is no hindrance: the turn's guardrail looks into it", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Guardrails: []Guardrail{redacting("warden", secret, "model_input")}})
		id := s.session()
		s.ends(s.deliver(id, textFile("a.txt", secret).inline()), api.StatusCompleted)
		s.say(id, "go on", inspecting)
		s.say(id, "and on")
		for i, want := range []file{textFile("a.txt", secret), textFile("a.txt", "[x]"), textFile("a.txt", secret)} {
			if got, want := shown(prompts.all()[i].Items[0].Parts), shows(want); !slices.Equal(got, want) {
				s.Errorf("request %d shows %q, want %q", i, got, want)
			}
		}
		large := longText("b.txt", "large", api.MaxGuardedBytes+1)
		s.ends(s.deliver(id, large.inline()), api.StatusCompleted)
		r := s.ends(s.send(id, "go on", inspecting), api.StatusFailed)
		if r.Error.Code != api.CodeGuardrailFailed || !strings.Contains(r.Error.Message, large.name) {
			s.Errorf("with a file that is too large to look at the turn ended as %+v", r.Error)
		}
	}},
	{"AT7 SE4 of a queued image and a queued guardrail the order decides, and no image goes ahead of a turn that could not look into it", func(s *stage) {
		var units seen[Unit]
		w, g := busy()
		w.Guardrails = []Guardrail{watching("warden", &units, "model_input")}
		s.open(w)
		image := pngFile("screen.png", 2, 2, 3)
		queued := func(o api.TurnOptions) api.TurnOptions { o.WhenBusy = api.BusyQueue; return o }
		urgent := func(o api.TurnOptions) api.TurnOptions { o.WhenBusy = api.BusyInterrupt; return o }

		id := s.session() // the image is ahead: the guardrail behind it is refused
		hold := s.send(id, "hold")
		g.await(s)
		first := s.deliverWith(id, queued(api.TurnOptions{}), image.inline())
		s.refused(id, api.CodeUninspectableContent, image.name, queued(inspecting), text("behind"))
		g.open <- struct{}{}
		s.ends(hold, api.StatusCompleted)
		s.ends(first, api.StatusCompleted)

		id = s.session() // the guardrail is ahead: the image behind it is nothing to it
		hold = s.send(id, "hold")
		g.await(s)
		first = s.deliverWith(id, queued(inspecting), text("ahead"))
		second := s.deliverWith(id, queued(api.TurnOptions{}), image.inline())
		g.open <- struct{}{}
		for _, run := range []api.RunReference{hold, first, second} {
			s.ends(run, api.StatusCompleted)
		}

		id = s.session() // the guardrail goes ahead of the queue
		hold = s.send(id, "hold")
		g.await(s)
		first = s.deliverWith(id, queued(api.TurnOptions{}), image.inline())
		second = s.deliverWith(id, urgent(inspecting), text("urgent"))
		s.ends(hold, api.StatusCancelled)
		s.ends(second, api.StatusCompleted)
		s.ends(first, api.StatusCompleted)

		id = s.session() // the image would go ahead of the guardrail, which was taken before
		hold = s.send(id, "hold")
		g.await(s)
		first = s.deliverWith(id, queued(inspecting), text("waits"))
		if err := s.refused(id, api.CodeUninspectableContent, image.name, urgent(api.TurnOptions{}), image.inline()); err.Details["run"] != first.Run || err.Details["guardrail"] != "warden" {
			s.Errorf("the error is %v, %v", err, err.Details)
		}
		second = s.deliverWith(id, urgent(api.TurnOptions{}), text("a text may"))
		s.ends(hold, api.StatusCancelled)
		s.ends(second, api.StatusCompleted)
		s.ends(first, api.StatusCompleted)
	}},
	{"AT8 SE4 no file goes ahead of a queued turn whose model is known not to take it", func(s *stage) {
		w, g := busy()
		w.Facts = map[string]Facts{"m2": {Refused: []string{"application/pdf"}}}
		s.open(w)
		report, image := pdfFile("report.pdf", "r", 200), pngFile("screen.png", 2, 2, 3)
		urgent := api.TurnOptions{WhenBusy: api.BusyInterrupt}
		id := s.session()
		hold := s.send(id, "hold")
		g.await(s)
		o := on("m2")
		o.WhenBusy = api.BusyQueue
		waits := s.deliverWith(id, o, text("waits"))
		up := s.upload(id, report)
		for _, b := range []api.ContentBlock{report.inline(), report.stored(up.ID)} {
			if err := s.refused(id, api.CodeUnsupportedMedia, report.name, urgent, text("look"), b); err.Details["run"] != waits.Run || err.Details["file"] != report.name {
				s.Errorf("the error is %v, %v", err, err.Details)
			}
		}
		first := s.deliverWith(id, urgent, image.inline()) // which the model takes
		s.ends(hold, api.StatusCancelled)
		for _, run := range []api.RunReference{first, waits} {
			s.ends(run, api.StatusCompleted)
		}
		s.ends(s.deliver(id, report.inline()), api.StatusCompleted)
	}},
	{"AT8 a file that the chosen model is known not to take is refused by its name, in the message and in the context, and others take it", func(s *stage) {
		s.open(World{Facts: map[string]Facts{"m2": {Refused: []string{"application/pdf", "image/gif"}}}})
		report, moving, image, notes := pdfFile("report.pdf", "r", 200), gifFile("a.gif", 3), pngFile("a.png", 2, 2, 3), textFile("a.txt", "a")
		id := s.session()
		up := s.upload(id, report)
		for _, b := range []api.ContentBlock{report.inline(), report.stored(up.ID), moving.inline()} {
			err := s.refused(id, api.CodeUnsupportedMedia, b.Name, on("m2"), notes.inline(), b)
			if !strings.Contains(err.Message, "m2") || !strings.Contains(err.Message, Provider) || err.Details["file"] != b.Name || err.Details["block"] != "2" {
				s.Errorf("the error is %v, %v", err, err.Details)
			}
		}
		s.ends(s.deliverWith(id, on("m2"), image.inline(), notes.inline()), api.StatusCompleted)
		s.ends(s.deliver(id, report.stored(up.ID)), api.StatusCompleted)
		err := s.refused(id, api.CodeUnsupportedMedia, report.name, on("m2"), text("switch"))
		s.detail(err, "file", report.name)
		s.ends(s.deliverWith(id, on("m3"), text("switch")), api.StatusCompleted) // nothing is known of it
		for range 6 {
			s.say(id, "more")
		}
		s.ends(s.compact(id), api.StatusCompleted)
		s.ends(s.deliverWith(id, on("m2"), text("switch")), api.StatusCompleted)

		own, err2 := s.CreateSession(s.Context(), s.agent, api.SessionOptions{Model: &api.ModelRef{Provider: Provider, Name: "m2"}})
		s.no(err2)
		s.refused(own.Session, api.CodeUnsupportedMedia, report.name, api.TurnOptions{}, report.inline())
		s.ends(s.deliverWith(own.Session, on("m"), report.inline()), api.StatusCompleted)
	}},
	{"AT4 a model's own smaller bounds are checked before a message is taken, and the file is named", func(s *stage) {
		const most = 5000
		s.open(World{Facts: map[string]Facts{"m": {MaxImageSide: 100}, "m2": {MaxImageBytes: most, MaxPDFBytes: 2 * most}, "m3": {MaxFilesBytes: 3 * most}}})
		id := s.session()
		image := func(n int) file { return pngFile("a.png", 3, 3, 8).padded(n) }
		pdf := func(n int) file { return pdfFile("a.pdf", "bounded", n) }
		for _, tt := range []struct {
			model, name string
			fits        []file
			over        []file
			value       int
			limit       int
		}{
			{"m2", "a.png", []file{image(most)}, []file{image(most + 1)}, most + 1, most},
			{"m2", "a.png", []file{image(most - 1)}, []file{textFile("b.txt", "b"), image(most + 2)}, most + 2, most},
			{"m2", "a.pdf", []file{pdf(2 * most)}, []file{pdf(2*most + 1)}, 2*most + 1, 2 * most},
			{"m3", "", []file{pdf(2 * most), image(most)}, []file{pdf(2 * most), image(most), textFile("b.txt", "b")}, 3*most + 1, 3 * most},
			{"m", "wide.png", []file{pngFile("wide.png", 100, 1, 1)}, []file{pngFile("wide.png", 101, 1, 1)}, 101, 100},
			{"m", "high.png", []file{pngFile("high.png", 1, 100, 1)}, []file{pngFile("high.png", 1, 101, 1)}, 101, 100},
		} {
			for _, uploaded := range []bool{false, true} {
				form := func(files []file) (blocks []api.ContentBlock) {
					for _, f := range files {
						if b := f.inline(); uploaded {
							blocks = append(blocks, f.stored(s.upload(id, f).ID))
						} else {
							blocks = append(blocks, b)
						}
					}
					return blocks
				}
				s.ends(s.deliverWith(id, on(tt.model), form(tt.fits)...), api.StatusCompleted)
				err := s.refused(id, api.CodeAttachmentTooLarge, tt.name, on(tt.model), form(tt.over)...)
				if err.Details["value"] != fmt.Sprint(tt.value) || err.Details["limit"] != fmt.Sprint(tt.limit) || err.Details["file"] != tt.name || !strings.Contains(err.Message, Provider) {
					s.Errorf("%s %s: the error is %v, %v", tt.model, tt.name, err, err.Details)
				}
				s.ends(s.deliverWith(id, on("other"), form(tt.over)...), api.StatusCompleted) // nothing is known of it
			}
		}
	}},
	{"AT4 each of many images in a message has a smaller bound, stored ones among them", func(s *stage) {
		s.open(World{Facts: map[string]Facts{"m": {MaxImageSide: 100, ManyImages: 3, MaxImageSideMany: 50}}})
		id := s.session()
		small := func(n int) (blocks []api.ContentBlock) {
			for i := range n {
				blocks = append(blocks, pngFile(fmt.Sprint(i, ".png"), 50, 1, 1).inline())
			}
			return blocks
		}
		large := pngFile("large.png", 1, 51, 1)
		for _, last := range []api.ContentBlock{large.inline(), large.stored(s.upload(id, large).ID)} {
			s.ends(s.deliverWith(id, api.TurnOptions{}, append(small(2), last, textFile("a.txt", "no image").inline())...), api.StatusCompleted)
			s.ends(s.deliverWith(id, api.TurnOptions{}, small(4)...), api.StatusCompleted)
			err := s.refused(id, api.CodeAttachmentTooLarge, "large.png", api.TurnOptions{}, append(small(3), last)...)
			if err.Details["value"] != "51" || err.Details["limit"] != "50" || err.Details["file"] != "large.png" || !strings.Contains(err.Message, "more than 3 images") {
				s.Errorf("the error is %v, %v", err, err.Details)
			}
		}
	}},
}
