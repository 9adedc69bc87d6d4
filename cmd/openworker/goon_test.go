package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// models are those of a session's turns, in their order.
func (p *place) models(session string) (models []string) {
	p.t.Helper()
	for line := range strings.Lines(p.ok("", "events", session, "--json").out) {
		var e openworker.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatal(err)
		}
		if d, ok := decode[api.TurnAccepted](e); ok && e.Type == api.EventTurnAccepted {
			models = append(models, d.Model.String())
		}
	}
	return models
}

func TestAChatGoesOnWithTheModelOfTheLastTurn(t *testing.T) {
	t.Parallel()
	const own, other = "Scripted/demo", "Scripted/other"
	tests := []struct {
		name  string
		args  []string // with a session that began with its own model and whose last turn had the other
		env   string
		says  string
		model string
	}{
		{"a chat", []string{"chat"}, "", other + " answers, as in the last turn; --model changes it", other},
		{"a chat that asks for another", []string{"chat", "--model", own}, "", "--model names it", own},
		{"a chat for which the environment asks", []string{"chat"}, "Scripted/third", "OPENWORKER_MODEL names it", "Scripted/third"},
		{"a run is for itself", []string{"run", "-"}, "", own + " answers, as in this session before", own},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			session := p.ok("", "run", "hello").session(t)
			p.ok("", "run", "--session", session, "--model", other, "hello")
			p.env["OPENWORKER_MODEL"] = tt.env
			got := p.ok("go on", append(tt.args, "--session", session)...)
			if !strings.Contains(got.err, tt.says) {
				t.Errorf("it says %q, want %q", got.err, tt.says)
			}
			if diff := cmp.Diff([]string{own, other, tt.model}, p.models(session)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALastModelWhoseProviderIsGoneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "hello").session(t)
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"m"}]}`, func(w http.ResponseWriter, _ *http.Request) { answer(w, "yes") })
	p.ok("", "run", "--session", session, "--model", "OpenAI/m", "hello")
	delete(p.env, "OPENAI_BASE_URL")
	p.ok("go on", "chat", "--session", session)
	if diff := cmp.Diff([]string{"Scripted/demo", "OpenAI/m", "Scripted/demo"}, p.models(session)); diff != "" {
		t.Error(diff)
	}
}

func TestContinueTakesTheSessionOfTheLastActivity(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if got := p.run("", "chat", "--continue"); got.code != exitUsage || !strings.Contains(got.err, "there is no state directory") {
		t.Errorf("without a store: %+v", got)
	}
	first := p.ok("", "run", "one").session(t)
	second := p.ok("", "run", "two").session(t)
	if got := p.ok("", "chat", "-c"); !strings.Contains(got.err, "session "+second) {
		t.Errorf("it goes on with %q, want %s", got.err, second)
	}
	p.ok("", "run", "--session", first, "three")
	if got := p.ok("four", "chat", "--continue"); !strings.Contains(got.out, "message 3 of this conversation: “four”") || !strings.Contains(got.err, "session "+first) {
		t.Errorf("it goes on with %+v, want %s", got, first)
	}
	for _, other := range []string{"--session=" + first, "--agent=a", "--system=x", "--approve=never", "--no-tools"} {
		name, _, _ := strings.Cut(other, "=")
		if got := p.run("", "chat", "-c", other); got.code != exitUsage || !strings.Contains(got.err, name+" and --continue exclude each other") {
			t.Errorf("with %s: %+v", other, got)
		}
	}
	p.ok("", "sessions", "delete", first, second)
	if got := p.run("", "chat", "-c"); got.code != exitUsage || !strings.Contains(got.err, "there is no session with a message in") {
		t.Errorf("without a session: %+v", got)
	}
}

func TestTheProgramIsCalledAsItCanBe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path  string
		found bool
		want  string
	}{
		{"bin/openworker", true, "openworker"},
		{"bin/openworker", false, "bin/openworker"},
		{"./open worker", false, "'./open worker'"},
		{"/opt/it's/openworker", false, `'/opt/it'\''s/openworker'`},
		{"", false, "openworker"},
	}
	for _, tt := range tests {
		got := calledAs(tt.path, func(string) (string, error) {
			if tt.found {
				return "/usr/bin/openworker", nil
			}
			return "", errors.New("not found")
		})
		if got != tt.want {
			t.Errorf("%q, found %v: %q, want %q", tt.path, tt.found, got, tt.want)
		}
	}
}

// A chat has commands and no flags, and stays where it is.
func TestAdviceInAChatSpeaksItsLanguage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"] = "k"
	m := p.main(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	if _, err := m.choose(context.Background(), "OpenAI/gpt-5-mini"); err != nil {
		t.Fatal(err)
	}
	missing := api.WaitReason{Code: api.CodeCredentialsMissing, Name: "Anthropic"}
	tests := []struct{ name, got, want string }{
		{"a model that is not there", m.nextInChat(api.Errorf(api.CodeModelNotFound, "no such model")), "/model lists the models"},
		{"with others that are like it", m.nextInChat(advised{api.Errorf(api.CodeModelNotFound, "no such model"), "name another with --model or OPENWORKER_MODEL: a, b"}), "name another with /model: a, b"},
		{"a key that is missing", m.waitsInChat("s1", missing), "set ANTHROPIC_API_KEY and start again, or openworker config set-key Anthropic in another terminal: the turn goes on by itself"},
		{"a model whose provider has no key", m.nextInChat(advised{api.Errorf(api.CodeCredentialsMissing, "no key"), "set KEY"}), "set KEY, and start again"},
		{"a provider that is not here", m.waitsInChat("s1", api.WaitReason{Code: api.CodeRegistrationMissing, Name: "tool pay"}), "only a program that has the tool pay goes on with it: start yours again, unless it runs"},
		{"what is no error of a model's", m.nextInChat(api.Errorf(api.CodeStoreBusy, "busy")), "another process holds the store; try again"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestTheModelsOfAChat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"m"},{"id":"nomic-embed-text"},{"id":"Text-Embedding-3"},{"id":"z"}]}`, http.NotFound)
	m := p.main(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	c, err := m.choose(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	chat := &talk{m: m, choice: c}
	names, err := chat.models(context.Background())
	if diff := cmp.Diff([]string{"OpenAI/m", "OpenAI/z", "Scripted/demo"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestTheWindowOfAModelIsThatOfItsFacts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"] = "k"
	m := p.main(strings.NewReader(""), &strings.Builder{}, &strings.Builder{})
	c, err := m.choose(context.Background(), "OpenAI/gpt-5-mini")
	if err != nil {
		t.Fatal(err)
	}
	chat := &talk{m: m, choice: c}
	for name, want := range map[string]bool{"OpenAI/gpt-5-mini": true, "OpenAI/nobody-knows": false, "Nobody/gpt-5-mini": false} {
		provider, model, _ := strings.Cut(name, "/")
		if window := chat.window(api.ModelRef{Provider: provider, Name: model}); (window > 0) != want {
			t.Errorf("the window of %s is %d", name, window)
		}
	}
}
