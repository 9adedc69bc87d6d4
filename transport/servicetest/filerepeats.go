package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// letter is a message of two texts and two files, each of which may be told in several forms.
type letter struct {
	before, between string
	first, second   file
}

func letters() letter {
	return letter{"before", "between", pdfFile("first.pdf", "first", 400), textFile("second.txt", "second")}
}

// blocks are the letter's; by says in which form a file is given.
func (l letter) blocks(by func(file) api.ContentBlock) []api.ContentBlock {
	return []api.ContentBlock{text(l.before), by(l.first), text(l.between), by(l.second)}
}

var one = api.TurnOptions{SubmissionID: "one"}

var repeatTests = []test{
	{"RU4 C60 files in the message and the same files uploaded are one submission, from eight callers, after an end, a stop and a crash", func(s *stage) {
		w := World{}
		s.open(w)
		other := s.store.Open(s.t, w)
		s.register(other, w)
		id := s.session()
		l := letters()
		forms := []func(file) api.ContentBlock{
			file.inline,
			func(f file) api.ContentBlock { return f.stored(s.begin(id, f).ID) },
			func(f file) api.ContentBlock {
				b := f.stored(s.begin(id, f).ID)
				b.Source.MediaType, b.Source.Size, b.Source.SHA256 = f.mediaType, f.size(), strings.ToUpper(f.sum())
				return b
			},
			func(f file) api.ContentBlock {
				if f.mediaType == "text/plain" {
					return api.TextDocument(f.name, string(f.data))
				}
				b := f.inline()
				b.Source.MediaType = ""
				return b
			},
		}
		s.upload(id, l.first)
		s.upload(id, l.second)
		var wg sync.WaitGroup
		runs, errs := make([]api.RunReference, 8), make([]error, 8)
		for i := range runs {
			p, blocks := []api.Service{s, other}[i/4], l.blocks(forms[i%4])
			wg.Go(func() {
				runs[i], errs[i] = p.Submit(s.Context(), api.Submission{Session: id, Content: blocks, Options: one})
			})
		}
		wg.Wait()
		first := 0
		for i, run := range runs {
			s.no(errs[i])
			if run.Run != runs[0].Run || run.Accepted != runs[0].Accepted {
				s.Errorf("one caller has %+v, another %+v", runs[0], run)
			}
			if !run.Repeated {
				first++
			}
		}
		s.ends(runs[0], api.StatusCompleted)
		if n := count(s.events(id), api.EventTurnAccepted); n != 1 || first != 1 {
			s.Errorf("%d turns were accepted, %d callers are told that theirs was the first", n, first)
		}
		head := s.state(id).LastEvent
		for _, end := range []func(){func() {}, s.process.Stop, func() { s.process.Crash() }} {
			end()
			s.open(w)
			for i, form := range forms {
				if again := s.deliverWith(id, one, l.blocks(form)...); again.Run != runs[0].Run || !again.Repeated {
					s.Errorf("form %d again gave %+v", i, again)
				}
			}
		}
		if now := s.state(id).LastEvent; now != head {
			s.Errorf("repeats have added events %d to %d", head+1, now)
		}
		s.room(id, api.MaxSessionFileBytes-l.first.size()-l.second.size())
	}},
	{"RU4 other bytes, labels, orders or texts under a used submission ID are a conflict that names them and touches no upload", func(s *stage) {
		s.open(World{})
		id := s.session()
		l := letters()
		run := s.deliverWith(id, one, l.blocks(file.inline)...)
		s.ends(run, api.StatusCompleted)
		other := textFile("second.txt", "other")
		swapped := l
		swapped.first, swapped.second = l.second, l.first
		for _, tt := range []struct {
			name, fields string
			blocks       []api.ContentBlock
		}{
			{"other bytes", "files", letter{l.before, l.between, l.first, other}.blocks(file.inline)},
			{"another label", "files", letter{l.before, l.between, l.first.named("renamed.pdf"), l.second}.blocks(file.inline)},
			{"another order of files", "files", swapped.blocks(file.inline)},
			{"a text", "message", letter{l.before, "elsewhere", l.first, l.second}.blocks(file.inline)},
			{"another order of texts", "message", letter{l.between, l.before, l.first, l.second}.blocks(file.inline)},
			{"another order of texts and files", "order", []api.ContentBlock{text(l.before), text(l.between), l.first.inline(), l.second.inline()}},
			{"a file less", "files, order", l.blocks(file.inline)[:3]},
			{"a text less", "message, order", append([]api.ContentBlock{text(l.before)}, l.first.inline(), l.second.inline())},
			{"a text more", "message, order", append(l.blocks(file.inline), text("more"))},
			{"the texts joined to one", "message, order", []api.ContentBlock{text(l.before + l.between), l.first.inline(), l.second.inline()}},
		} {
			err := s.refused(id, api.CodeSubmissionConflict, run.Run, one, tt.blocks...)
			if err.Details["fields"] != tt.fields || err.Details["run"] != run.Run {
				s.Errorf("with %s: %v", tt.name, err.Details)
			}
		}
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: l.before, Options: one})
		s.code(err, api.CodeSubmissionConflict)
		s.detail(err, "fields", "files, message, order")
		// What was uploaded for the message that is refused can go with the next one.
		up := s.upload(id, other)
		s.refused(id, api.CodeSubmissionConflict, run.Run, one, letter{l.before, l.between, l.first, other}.blocks(func(f file) api.ContentBlock { return f.stored(s.begin(id, f).ID) })...)
		s.ends(s.deliverWith(id, api.TurnOptions{SubmissionID: "two"}, other.stored(up.ID)), api.StatusCompleted)
	}},
	{"RU4 the same texts as one message and as blocks are two messages", func(s *stage) {
		s.open(World{})
		id := s.session()
		s.ends(s.send(id, "a", one), api.StatusCompleted)
		s.detail(s.refused(id, api.CodeSubmissionConflict, "", one, text("a")), "fields", "files, message, order")
	}},
	{"RU4 RU6 a message that is refused or withdrawn leaves no receipt and no file", func(s *stage) {
		w, g := busy()
		s.open(w)
		id := s.session()
		hold := s.send(id, "hold")
		g.await(s)
		large, small := longText("large.txt", "large", api.UploadChunkBytes+1), textFile("small.txt", "small")
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		for _, tt := range []struct {
			name string
			ctx  context.Context
			o    api.TurnOptions
			code api.Code
		}{
			{"the session is busy", s.Context(), api.TurnOptions{}, api.CodeSessionBusy},
			{"its guardrail is not there", s.Context(), api.TurnOptions{Guardrails: []string{"g"}, WhenBusy: api.BusyQueue}, api.CodeGuardrailMissing},
			{"its limits cannot be", s.Context(), api.TurnOptions{Limits: api.Limits{MaxModelCalls: api.Set(0)}, WhenBusy: api.BusyQueue}, api.CodeInvalidLimits},
			{"nobody waits for it any more", ended, api.TurnOptions{WhenBusy: api.BusyQueue}, api.CodeCancelled},
		} {
			head := s.state(id).LastEvent
			tt.o.SubmissionID = "one"
			_, err := s.Submit(tt.ctx, api.Submission{Session: id, Content: []api.ContentBlock{text(tt.name), large.inline(), small.inline()}, Options: tt.o})
			s.code(err, tt.code)
			if now := s.state(id).LastEvent; now != head {
				s.Errorf("%s: the refusal left events %d to %d", tt.name, head+1, now)
			}
			for _, f := range []file{large, small} {
				if up := s.begin(id, f); up.State != api.UploadOpen || len(up.Missing) != (len(f.data)-1)/api.UploadChunkBytes+1 {
					s.Errorf("%s: %s is there as %+v", tt.name, f.name, up)
				}
			}
		}
		close(g.open)
		s.ends(hold, api.StatusCompleted)
		again := s.deliverWith(id, one, text("now"), large.inline(), small.inline())
		s.ends(again, api.StatusCompleted)
		if again.Repeated {
			s.Error("a refusal left a receipt")
		}
		s.room(id, api.MaxSessionFileBytes-large.size()-small.size())
	}},
	{"RU6 AT5 an upload whose caller gave up goes on where it was", func(s *stage) {
		s.open(World{})
		id := s.session()
		f := longText("a.txt", "given up", 2*api.UploadChunkBytes)
		up := s.begin(id, f)
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		s.code(s.UploadChunk(ended, id, up.ID, f.chunk(0)), api.CodeCancelled)
		_, err := s.CommitUpload(ended, id, up.ID)
		s.code(err, api.CodeCancelled)
		_, err = s.BeginUpload(ended, id, f.request())
		s.code(err, api.CodeCancelled)
		if up := s.upload(id, f); up.State != api.UploadCommitted {
			s.Errorf("it is %+v", up)
		}
	}},
	{"RU4 AT4 many messages with files at once are each taken once, and one file that all share is stored once", func(s *stage) {
		s.open(World{})
		other := s.store.Open(s.t, World{})
		id := s.session()
		shared := longText("shared.txt", "shared", 2*api.UploadChunkBytes)
		const n = 12
		var wg sync.WaitGroup
		runs, errs := make([]api.RunReference, 2*n), make([]error, 2*n)
		for i := range runs {
			wg.Go(func() {
				runs[i], errs[i] = []api.Service{s, other}[i/n].Submit(s.Context(), api.Submission{Session: id,
					Content: []api.ContentBlock{shared.inline(), textFile("own.txt", fmt.Sprint("own ", i%n)).inline()},
					Options: api.TurnOptions{SubmissionID: fmt.Sprint("key ", i%n), WhenBusy: api.BusyQueue}})
			})
		}
		wg.Wait()
		for i, run := range runs {
			s.no(errs[i])
			if run.Run != runs[i%n].Run {
				s.Errorf("message %d is run %s to one caller and %s to another", i%n, runs[i%n].Run, run.Run)
			}
			s.ends(run, api.StatusCompleted)
		}
		var ids []string
		for _, h := range s.history(id) {
			if h.Type == "user" {
				ids = append(ids, h.Content[0].Source.ID)
			}
		}
		if len(ids) != n || len(slices.Compact(ids)) != 1 {
			s.Errorf("the shared file has the IDs %v", ids)
		}
		own := int64(0)
		for i := range n {
			own += int64(len(fmt.Sprint("own ", i)))
		}
		s.room(id, api.MaxSessionFileBytes-shared.size()-own)
	}},
}
