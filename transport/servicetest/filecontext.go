package servicetest

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// carries reports whether anything of a request holds a file's bytes, as they are or in base64.
func carries(p Prompt, f file) bool {
	all := fmt.Sprintf("%+v", p)
	return slices.ContainsFunc(p.Items, func(it Item) bool {
		return slices.ContainsFunc(it.Parts, func(part Part) bool { return string(part.Data) == string(f.data) })
	}) || strings.Contains(all, string(f.data)) || strings.Contains(all, base64.StdEncoding.EncodeToString(f.data))
}

var fileContextTests = []test{
	{"GR4 a hook before a model sees the whole files that the model is sent, and can keep them from it", func(s *stage) {
		var calls seen[ModelCall]
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Hooks: []Hook{{Name: "h", BeforeModel: func(_ context.Context, c ModelCall) (string, error) {
			calls.add(c)
			for _, part := range c.Prompt.parts() {
				if strings.Contains(string(part.Data), "forbidden") {
					return "not this file", nil
				}
			}
			return "", nil
		}}}}, hooked("h"))
		id := s.session()
		blocks, _, want := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		if got := calls.all(); len(got) != 1 || got[0].Purpose != "turn" || !slices.Equal(shown(got[0].Prompt.parts()), want) {
			s.Errorf("the hook saw %+v", got)
		}
		r := s.ends(s.deliver(id, pdfFile("b.pdf", "forbidden", 200).inline()), api.StatusFailed)
		if r.Error.Code != api.CodeHookVetoed || len(prompts.all()) != 1 {
			s.Errorf("the turn ended as %+v, the model was asked %d times", r.Error, len(prompts.all()))
		}
	}},
	{"AT6 AP5 CO3 a reviewer and whoever summarises are told of files and get none", func(s *stage) {
		var reviews, summaries asked
		s.open(World{Model: judges(reviews.by(says("allow", "fine")), func(p Prompt) Answer {
			switch {
			case summarises(p):
				return summaries.by(counting)(p)
			case strings.HasPrefix(p.User, "before"):
				return rounds(calls("act"), Answer{Text: "ok"})(p)
			}
			return Answer{Text: "ok"}
		}), Tools: []Tool{action("act", "", nothing)}}, auto)
		id := s.session()
		blocks, files, _ := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		s.talk(id, 6)
		s.ends(s.compact(id), api.StatusCompleted)
		for who, told := range map[string][]Prompt{"the reviewer": reviews.all(), "the summary's model": summaries.all()} {
			if len(told) != 1 {
				s.Fatalf("%s was asked %d times", who, len(told))
			}
			for _, f := range files {
				if carries(told[0], f) {
					s.Errorf("%s was sent the bytes of %s", who, f.name)
				}
				if !strings.Contains(told[0].User, f.name) || !strings.Contains(told[0].User, f.mediaType) || !strings.Contains(told[0].User, fmt.Sprint(f.size())) {
					s.Errorf("%s was not told of %s: %s", who, f.name, told[0].User)
				}
			}
		}
	}},
	{"CO3 behind a summary older files are with the model no more, history has them, and a message can bring them back", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(counting)})
		id := s.session()
		report, notes := pdfFile("report.pdf", "r", 300), textFile("notes.txt", "the notes")
		s.ends(s.deliver(id, report.inline(), notes.inline()), api.StatusCompleted)
		s.talk(id, 2)
		recent := pngFile("recent.png", 2, 2, 9)
		s.ends(s.deliver(id, text("look"), recent.inline()), api.StatusCompleted)
		s.ends(s.compact(id), api.StatusCompleted)
		s.say(id, "what now")
		last := prompts.all()[len(prompts.all())-1]
		if last.parts() != nil || carries(last, report) || carries(last, notes) {
			s.Errorf("the model was shown %q", shown(last.parts()))
		}
		if told := fmt.Sprint(last.Items); !strings.Contains(told, recent.name) || !strings.Contains(told, "look") {
			s.Errorf("the model was not told of the recent file: %s", told)
		}
		content := s.history(id)[0].Content
		if len(content) != 2 || content[0].Name != report.name || content[1].Name != notes.name {
			s.Fatalf("history has %+v", content)
		}
		s.ends(s.deliver(id, content...), api.StatusCompleted)
		last = prompts.all()[len(prompts.all())-1]
		if got, want := shown(last.parts()), shows(report, notes); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
	}},
	{"CO1 CO3 where older files and messages fill the window the files go, and the current message's stay whole", func(s *stage) {
		var prompts asked
		s.open(World{Window: 6000, ModelMax: 500, Model: prompts.by(counting)})
		id := s.session()
		var last file
		for i := range 8 {
			last = longText(fmt.Sprintf("file-%d.txt", i), fmt.Sprint("number ", i), 6_000)
			run := s.deliver(id, text(fmt.Sprint("turn ", i)), last.inline())
			s.ends(run, api.StatusCompleted)
			sent := prompts.all()
			p := sent[len(sent)-1]
			if got, want := shown(p.parts()), shows(fmt.Sprint("turn ", i), last); !slices.Equal(got, want) {
				s.Errorf("turn %d shows %q, want %q", i, got, want)
			}
			bytes := size(p)
			for _, it := range p.Items {
				for _, part := range it.Parts {
					bytes += len(part.Text) + len(part.Data)
				}
			}
			if bytes > 6000*5 { // of 48,000
				s.Errorf("turn %d was sent %d bytes to a window of 6,000 tokens", i, bytes)
			}
		}
		if n := count(s.events(id), api.EventCompactionFinished); n == 0 {
			s.Error("nothing was summarised")
		}
		for i, h := range slices.DeleteFunc(s.history(id), func(h api.HistoryItem) bool { return h.Type != "user" }) {
			if len(h.Content) != 2 || h.Content[1].Name != fmt.Sprintf("file-%d.txt", i) || h.Content[1].Source.Size != 6_000 {
				s.Errorf("message %d in history is %+v", i, h.Content)
			}
		}
	}},
	{"CO3 a file of the current message that does not fit is never shortened: the turn fails and names it", func(s *stage) {
		var prompts asked
		s.open(World{Window: 6000, ModelMax: 500, Model: prompts.by(counting)})
		id := s.session()
		s.talk(id, 3)
		small, large := textFile("small.txt", "small"), longText("large.txt", "large", 60_000)
		r := s.ends(s.deliver(id, text("read"), small.inline(), large.inline()), api.StatusFailed)
		if r.Error.Code != api.CodeContextExhausted || !strings.Contains(r.Error.Message, large.name) || strings.Contains(r.Error.Message, small.name) {
			s.Errorf("the turn ended as %+v", r.Error)
		}
		for _, p := range prompts.all() {
			if p.parts() != nil {
				s.Errorf("a model was shown %q", shown(p.parts()))
			}
		}
		if s.say(id, "next") != "ok next" {
			s.Error("the next turn says something else")
		}
		if h := slices.DeleteFunc(s.history(id), func(h api.HistoryItem) bool { return len(h.Content) == 0 }); len(h) != 1 || h[0].Content[2].Source.Size != large.size() {
			s.Errorf("history has %+v", h)
		}
	}},
	{"CO1 LI5 where a provider says that files are too much, older ones go and the current message's are sent again", func(s *stage) {
		var prompts asked
		image, report := pngFile("old.png", 2, 2, 5), pdfFile("new.pdf", "new", 300)
		s.open(World{Model: prompts.by(func(p Prompt) Answer {
			for _, it := range p.Items {
				if len(it.Parts) > 0 && it.Parts[0].Name == image.name && p.User == "read" {
					return Answer{Fail: api.CodeContextExhausted}
				}
			}
			return counting(p)
		})})
		id := s.session()
		s.ends(s.deliver(id, image.inline(), text("look")), api.StatusCompleted)
		s.talk(id, 3)
		s.ends(s.deliver(id, text("read"), report.inline()), api.StatusCompleted)
		last := prompts.all()[len(prompts.all())-1]
		if got, want := shown(last.parts()), shows("read", report); !slices.Equal(got, want) || carries(last, image) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
	}},
	{"BT1 AT6 the tool that reads history tells of each file in a line, finds it by its name, and shows none of its bytes", func(s *stage) {
		s.open(World{Model: func(p Prompt) Answer {
			if p.Round == 0 && strings.HasPrefix(p.User, "{") {
				return Answer{Calls: []Call{{ID: "c", Name: "read_history", Arguments: p.User}}}
			}
			return Answer{Text: "ok"}
		}}, func(d *api.AgentDefinition) { d.BuiltinTools.ReadHistory = api.Set(true) })
		id := s.session()
		blocks, files, _ := s.mixed(id)
		s.ends(s.deliver(id, blocks...), api.StatusCompleted)
		s.say(id, `{"limit":1}`)
		s.say(id, `{"query":"REPORT.pdf"}`)
		for i, r := range s.results(id) {
			for _, f := range files {
				if !strings.Contains(r.Output, f.name) || !strings.Contains(r.Output, f.mediaType) || !strings.Contains(r.Output, fmt.Sprint(f.size())) {
					s.Errorf("page %d does not tell of %s: %s", i, f.name, r.Output)
				}
				if f.mediaType == "text/plain" && strings.Contains(r.Output, strings.Split(string(f.data), "\n")[0]) {
					s.Errorf("page %d has the text of %s: %s", i, f.name, r.Output)
				}
			}
			if !strings.Contains(r.Output, "before") || r.Code != "" {
				s.Errorf("page %d is %+v", i, r)
			}
		}
	}},
	{"SE6 C53 of a deleted session's files nothing is left, also where a turn, an upload or another process was at them", func(s *stage) {
		for _, how := range []string{"idle", "running", "running elsewhere", "uploading"} {
			w, g := busy()
			s.open(w, func(d *api.AgentDefinition) { d.Name = strings.ReplaceAll(how, " ", "-") })
			id := s.session()
			inline, staged, half := longText("a.txt", secret+" in it", 1000), longText("b.txt", secret+" staged", 600_000), longText("c.txt", secret+" on its way", 600_000)
			s.ends(s.deliver(id, inline.inline()), api.StatusCompleted)
			s.upload(id, staged)
			up := s.begin(id, half)
			s.no(s.UploadChunk(s.Context(), id, up.ID, half.chunk(0)))
			deleter := api.Service(s.process)
			if strings.HasPrefix(how, "running") {
				s.deliver(id, text("hold"), staged.stored(s.begin(id, staged).ID))
				s.sessions = slices.DeleteFunc(s.sessions, func(other string) bool { return other == id })
			}
			if how == "running elsewhere" {
				deleter = s.store.Open(s.t, World{})
			}
			if s.store.Files() != "" && len(s.stores(secret)) == 0 {
				s.Errorf("%s: the search does not find what is stored", how)
			}
			done := make(chan error, 1)
			if how == "uploading" {
				go func() {
					var err error
					for i := 0; err == nil; i++ {
						err = s.process.UploadChunk(s.Context(), id, up.ID, half.chunk(i%3))
					}
					done <- err
				}()
			}
			s.no(deleter.DeleteSession(s.Context(), id, api.DeleteOptions{}))
			if how == "uploading" {
				s.code(<-done, api.CodeSessionDeleted)
			}
			s.sessions = slices.DeleteFunc(s.sessions, func(other string) bool { return other == id })
			_, err := s.BeginUpload(s.Context(), id, inline.request())
			s.code(err, api.CodeSessionDeleted)
			_, err = s.Submit(s.Context(), api.Submission{Session: id, Content: []api.ContentBlock{staged.inline()}})
			s.code(err, api.CodeSessionDeleted)
			close(g.open)
			s.gone(secret)
			s.gone(strings.Repeat("x", 500))
			s.process.Stop()
		}
		s.look()
		if where := s.stores(secret); len(where) > 0 {
			s.Errorf("at rest the secret stands in %v", where)
		}
	}},
}
