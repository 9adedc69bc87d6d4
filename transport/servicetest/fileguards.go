package servicetest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
)

// minding is a guardrail that does one thing wherever a text holds a word, and lets all else pass.
func minding(name, word string, at []string, check func(context.Context, Unit) (Verdict, error)) Guardrail {
	return Guardrail{Name: name, Points: at, Timeout: 50 * time.Millisecond, Check: func(ctx context.Context, u Unit) (Verdict, error) {
		if !strings.Contains(u.Text, word) {
			return allowed, nil
		}
		return check(ctx, u)
	}}
}

// watching lets all pass and remembers what it was shown.
func watching(name string, units *seen[Unit], at ...string) Guardrail {
	return Guardrail{Name: name, Points: at, Check: func(_ context.Context, u Unit) (Verdict, error) {
		units.add(u)
		return allowed, nil
	}}
}

// gone waits until nothing that is stored holds a text.
func (s *stage) gone(what string) {
	s.Helper()
	s.settle(fmt.Sprintf("nothing holds %q", what), func() bool { return len(s.stores(what)) == 0 })
}

var fileGuardTests = []test{
	{"GR2 AT7 a guardrail of the user's input sees each text and each decoded text file of a message once, in their order", func(s *stage) {
		var units seen[Unit]
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}, Guardrails: []Guardrail{watching("g", &units, "user_input")}}, guarded("g"))
		id := s.session()
		stored, inline := textFile("a.json", `{"a":1}`), textFile("b.txt", "é\n")
		stored.mediaType = "application/json"
		up := s.upload(id, stored)
		if n := len(units.all()); n != 0 {
			s.Errorf("an upload was looked at %d times", n)
		}
		blocks := []api.ContentBlock{text("one"), stored.stored(up.ID), text("two"), inline.inline(), api.TextDocument("c.txt", "three")}
		s.refused(id, api.CodeUnsupportedMedia, "block 6", one, append(slices.Clone(blocks), file{"a.zip", "", []byte("PK\x03\x04")}.inline())...)
		run := s.deliverWith(id, one, blocks...)
		s.ends(run, api.StatusCompleted)
		s.process.Crash()
		s.open(World{Guardrails: []Guardrail{watching("g", &units, "user_input")}, Tools: []Tool{action("act", "", nothing)}}, guarded("g"))
		if again := s.deliverWith(id, one, blocks...); again.Run != run.Run {
			s.Errorf("the same again gave %+v", again)
		}
		var got []string
		for _, u := range units.all() {
			if got = append(got, u.Text); u.Point != "user_input" || u.Session.Session != id {
				s.Errorf("a unit is %+v", u)
			}
		}
		if want := []string{"one", `{"a":1}`, "two", "é\n", "three"}; !slices.Equal(got, want) {
			s.Errorf("the guardrail saw %q, want %q", got, want)
		}
		if a := s.accepted(run); len(a.Guardrails) != 0 {
			s.Errorf("recorded are %+v", a.Guardrails)
		}
	}},
	{"AT7 GR4 a guardrail of the model's input sees each decoded text file, and what it redacts the model alone does not see", func(s *stage) {
		var prompts asked
		var units seen[Unit]
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Guardrails: []Guardrail{redacting("r", secret, "model_input"), watching("w", &units, "model_input")}}, guarded("r", "w"))
		id := s.session()
		f := textFile("a.txt", secret+" and "+plain)
		run := s.deliver(id, text("look"), f.inline())
		s.ends(run, api.StatusCompleted)
		if got, want := shown(prompts.all()[0].parts()), shows("look", textFile("a.txt", "[x] and "+plain)); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
		if !slices.ContainsFunc(units.all(), func(u Unit) bool { return u.Text == "[x] and "+plain && u.Run == run.Run }) {
			s.Errorf("the second guardrail saw %+v", units.all())
		}
		if b := s.accepted(run).Content[1]; b != f.accepted(b.ID) {
			s.Errorf("what only the model is not to see is stored as %+v", b)
		}
	}},
	{"GR3 AT7 of a text file that was redacted no byte of the original is stored: the message has another file", func(s *stage) {
		for _, form := range []string{"in the message", "as its text", "uploaded", "uploaded in chunks"} {
			var prompts asked
			s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Guardrails: []Guardrail{redacting("g", secret, "user_input")}}, guarded("g"), func(d *api.AgentDefinition) { d.Name = strings.ReplaceAll(form, " ", "-") })
			id := s.session()
			f, left := textFile("a.txt", secret+" and "+plain), textFile("a.txt", "[x] and "+plain)
			block, original := f.inline(), ""
			switch form {
			case "as its text":
				block = api.TextDocument(f.name, string(f.data))
			case "uploaded", "uploaded in chunks":
				original = s.upload(id, f).ID
				block = f.stored(original)
				if s.store.Files() != "" && len(s.stores(secret)) == 0 {
					s.Errorf("%s: the search does not find what was uploaded", form)
				}
			}
			head := s.state(id).LastEvent
			run := s.deliverWith(id, one, text("look"), block)
			s.ends(run, api.StatusCompleted)
			s.gone(secret)
			s.gone(base64.StdEncoding.EncodeToString(f.data)[:20])
			if s.store.Files() != "" && len(s.stores(plain)) == 0 {
				s.Errorf("%s: the search does not find what is left", form)
			}
			a, h := s.accepted(run), s.history(id)[0].Content[1]
			b := a.Content[1]
			if run.Accepted != head+1 || b != left.accepted(b.ID) || b.ID == original || h.Source.ID != b.ID || h.Source.SHA256 != left.sum() || h.Source.Size != left.size() {
				s.Errorf("%s: the event has %+v, history %+v", form, b, h)
			}
			if want := (api.GuardVerdict{Name: "g", Point: "user_input", Action: "redact", Reason: "private", File: f.name}); !slices.Equal(a.Guardrails, []api.GuardVerdict{want}) {
				s.Errorf("%s: recorded are %+v", form, a.Guardrails)
			}
			if got, want := shown(prompts.all()[0].parts()), shows("look", left); !slices.Equal(got, want) {
				s.Errorf("%s: the model was shown %q, want %q", form, got, want)
			}
			repeats := map[string]func() api.ContentBlock{
				"in it":         f.inline,
				"uploaded anew": func() api.ContentBlock { return f.stored(s.upload(id, f).ID) },
			}
			if original != "" {
				repeats["by the ID that is gone"] = func() api.ContentBlock { return f.stored(original) }
				s.refused(id, api.CodeAttachmentNotFound, "no file", api.TurnOptions{}, f.stored(original))
			}
			for name, again := range repeats {
				if r := s.deliverWith(id, one, text("look"), again()); r.Run != run.Run || !r.Repeated {
					s.Errorf("%s: repeated with the file %s it gave %+v", form, name, r)
				}
			}
			s.gone(secret)
			s.room(id, api.MaxSessionFileBytes-left.size())
			if up := s.begin(s.session(), f); up.State != api.UploadOpen {
				s.Errorf("%s: announced in another session it is %+v", form, up)
			}
			s.process.Stop()
		}
		s.look()
		if where := s.stores(secret); len(where) > 0 {
			s.Errorf("at rest the secret stands in %v", where)
		}
	}},
	{"GR3 AT7 an original that was uploaded goes with the redaction of the same bytes within a message, and with its repeat", func(s *stage) {
		s.open(World{Guardrails: []Guardrail{redacting("g", secret, "user_input")}}, guarded("g"))
		id := s.session()
		small, large := textFile("a.txt", secret+" and "+plain), longText("b.txt", secret, api.MaxGuardedBytes)
		message := []api.ContentBlock{small.inline(), large.inline()}
		staged := func(when string) {
			for _, f := range []file{small, large} {
				if up := s.upload(id, f); up.State != api.UploadCommitted {
					s.Errorf("%s an upload is %+v", when, up)
				}
			}
			if s.store.Files() != "" && len(s.stores(secret)) == 0 {
				s.Errorf("%s the search does not find what was uploaded", when)
			}
		}
		staged("before the message")
		run := s.deliverWith(id, one, message...)
		s.ends(run, api.StatusCompleted)
		s.gone(secret)
		for _, again := range []string{"repeated", "repeated once more"} {
			staged("before it is " + again)
			if r := s.deliverWith(id, one, message...); r.Run != run.Run || !r.Repeated {
				s.Errorf("%s it gave %+v", again, r)
			}
			s.gone(secret)
		}
		for _, f := range []file{small, large} {
			if up := s.begin(id, f); up.State != api.UploadOpen || len(up.Missing) != 1 {
				s.Errorf("what is left of %s is %+v", f.name, up)
			}
		}
	}},
	{"AT7 AT4 a redacted file is any other: its ID serves in a later message, and files without a secret stay as they are", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Guardrails: []Guardrail{redacting("g", secret, "user_input")}}, guarded("g"))
		id := s.session()
		f, left, other := textFile("a.txt", secret), textFile("a.txt", "[x]"), textFile("b.txt", plain)
		kept := s.upload(id, other)
		run := s.deliver(id, f.inline(), text("say "+secret), other.stored(kept.ID), f.named("again.txt").inline())
		s.ends(run, api.StatusCompleted)
		content := s.accepted(run).Content
		if content[2].ID != kept.ID || content[0].ID != content[3].ID || content[1].Text != "say [x]" {
			s.Errorf("the message became %+v", content)
		}
		s.ends(s.deliver(id, left.stored(content[0].ID)), api.StatusCompleted)
		if got, want := shown(prompts.all()[1].parts()), shows(left); !slices.Equal(got, want) {
			s.Errorf("the model was shown %q, want %q", got, want)
		}
		s.room(id, api.MaxSessionFileBytes-left.size()-other.size())
	}},
	{"GR1 GR2 RU10 a text file that a guardrail blocks, or that it gives no verdict on, is refused by its name and changes nothing", func(s *stage) {
		for i, tt := range []struct {
			name  string
			code  api.Code
			check func(context.Context, Unit) (Verdict, error)
		}{
			{"it blocks", api.CodeGuardrailBlocked, func(context.Context, Unit) (Verdict, error) { return blocked, nil }},
			{"it panics", api.CodeGuardrailFailed, func(context.Context, Unit) (Verdict, error) { panic("broken") }},
			{"it fails", api.CodeGuardrailFailed, func(context.Context, Unit) (Verdict, error) { return allowed, errors.New("down") }},
			{"it is too slow", api.CodeGuardrailFailed, func(ctx context.Context, _ Unit) (Verdict, error) { <-ctx.Done(); return allowed, ctx.Err() }},
			{"it says nothing", api.CodeGuardrailFailed, func(context.Context, Unit) (Verdict, error) { return Verdict{}, nil }},
			{"it redacts to what is no text", api.CodeGuardrailFailed, func(context.Context, Unit) (Verdict, error) { return Verdict{Action: "redact", Text: "\xff"}, nil }},
		} {
			s.open(World{Guardrails: []Guardrail{minding("warden", secret, []string{"user_input"}, tt.check)}}, guarded("warden"), func(d *api.AgentDefinition) { d.Name = fmt.Sprint("agent-", i) })
			id := s.session()
			inline, stored := textFile("inline.txt", secret+" in it"), textFile("stored.txt", secret+" stored")
			up := s.upload(id, stored)
			for _, f := range []struct {
				name  string
				block api.ContentBlock
			}{{inline.name, inline.inline()}, {stored.name, stored.stored(up.ID)}} {
				err := s.refused(id, tt.code, f.name, one, text("look"), f.block)
				if err.Details["guardrail"] != "warden" || strings.Contains(err.Error(), secret) {
					s.Errorf("%s: the error is %v, %v", tt.name, err, err.Details)
				}
			}
			if up := s.begin(id, inline); up.State != api.UploadOpen {
				s.Errorf("%s: the file of a message that was refused is %+v", tt.name, up)
			}
			if r := s.deliverWith(id, one, textFile("c.txt", plain).inline()); r.Repeated {
				s.Errorf("%s: the refusal left a receipt", tt.name)
			} else {
				s.ends(r, api.StatusCompleted)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GR2 a text file of 128,000 bytes is looked at, and one of a byte more is refused, wherever the guardrail stands", func(s *stage) {
		for _, point := range []string{"user_input", "model_input", "tool_result", "model_output", ""} {
			var units seen[Unit]
			s.open(World{Guardrails: []Guardrail{watching("warden", &units, cmp.Or(point, "tool_result"))}}, func(d *api.AgentDefinition) {
				if d.Name = "agent-" + strings.ReplaceAll(point, "_", "-"); point != "" {
					d.Guardrails = []string{"warden"}
				}
			})
			looks := point == "user_input" || point == "model_input"
			id := s.session()
			for _, n := range []int{api.MaxGuardedBytes - 1, api.MaxGuardedBytes, api.MaxGuardedBytes + 1} {
				inline, stored := longText("a.txt", "inline", n), longText("b.txt", "stored", n)
				up := s.upload(id, stored)
				for _, b := range []api.ContentBlock{inline.inline(), stored.stored(up.ID)} {
					if !looks || n <= api.MaxGuardedBytes {
						s.ends(s.deliver(id, b), api.StatusCompleted)
						continue
					}
					err := s.refused(id, api.CodeGuardrailFailed, b.Name, api.TurnOptions{}, b)
					if err.Details["bytes"] != fmt.Sprint(n) || err.Details["guardrail"] != "warden" || !strings.Contains(err.Message, fmt.Sprint(n)) {
						s.Errorf("%s: the error is %v, %v", point, err, err.Details)
					}
				}
			}
			for _, u := range units.all() {
				if len(u.Text) > api.MaxGuardedBytes {
					s.Errorf("at %s the guardrail saw %d bytes", u.Point, len(u.Text))
				}
			}
			s.process.Stop()
		}
		s.look()
	}},
}
