package modeltest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// Case is a recorded answer and what must come of it.
type Case struct {
	// Name reads as a sentence and begins with the number of the fault that it covers, if any.
	Name string
	Want Want
	// Idle is the silence that the provider bears, for recordings that fall silent. Defaults to a minute.
	Idle time.Duration
}

// Want is an answer, or where Kind is set a failure.
type Want struct {
	Reasoning string
	Text      string
	Calls     []Call
	Stop      model.StopReason
	Usage     api.Usage // not compared where zero

	Kind       model.ErrorKind
	Status     int
	RetryAfter time.Duration
	Message    string // a part of the message
	Partial    string // what was emitted before the failure
	Retryable  bool
}

// Call is a call of an answer as the provider gave it.
type Call struct{ ID, Name, Arguments string }

// Request is what the suite asks: a first message, two tools.
func Request() model.Request {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	return model.Request{
		Model:        "test-model",
		Instructions: "Be brief.",
		Items:        []model.Item{{Kind: model.UserItem, Text: "What is the weather in Brno?"}},
		Tools: []model.Tool{
			{Name: "get_weather", Description: "Tells the weather of a city.", InputSchema: schema},
			{Name: "get_time", Description: "Tells the time of a city.", InputSchema: schema},
		},
		MaxOutputTokens: 1000,
		Credential:      Credential,
	}
}

func (c Case) run(t *testing.T, subject Subject) {
	idle := c.Idle
	if idle == 0 {
		idle = time.Minute
	}
	s := play(t, load(t, subject.Recordings, c.File()))
	provider := subject.New(t, Options{URL: s.url, StreamIdle: idle})
	var text, reasoning strings.Builder
	resp, err := provider.Stream(t.Context(), Request(), func(d model.Delta) {
		if d.Text == "" {
			t.Error("an empty delta was emitted")
		}
		if d.Reasoning {
			reasoning.WriteString(d.Text)
		} else {
			text.WriteString(d.Text)
		}
	})
	if requests, _, _ := s.counts(); requests != 1 {
		t.Errorf("the provider made %d requests, want one an attempt", requests)
	}
	if c.Want.Kind != "" {
		c.checkFailure(t, err, text.String()+reasoning.String())
		return
	}
	if err != nil {
		t.Fatalf("got %v, want an answer", err)
	}
	c.checkAnswer(t, provider, resp, text.String(), reasoning.String())
}

func (c Case) checkFailure(t *testing.T, err error, emitted string) {
	t.Helper()
	var failure *model.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *model.Error of kind %s", err, c.Want.Kind)
	}
	got := Want{
		Kind: failure.Kind, Status: failure.Status, RetryAfter: failure.RetryAfter, Message: c.Want.Message, Partial: emitted,
		Usage: failure.Usage, Retryable: failure.Retryable(),
	}
	if c.Want.Usage == (api.Usage{}) {
		got.Usage = api.Usage{}
	}
	if diff := cmp.Diff(c.Want, got); diff != "" {
		t.Errorf("%v (-want +got):\n%s", failure, diff)
	}
	if !strings.Contains(failure.Message, c.Want.Message) || failure.Message == "" {
		t.Errorf("got message %q, want one with %q", failure.Message, c.Want.Message)
	}
	if len(failure.Message) > 1000 || strings.ContainsAny(failure.Message, "\n\r\x00\x1b") {
		t.Errorf("the message is long or has control characters: %q", failure.Message)
	}
	if strings.Contains(err.Error(), Credential) {
		t.Errorf("the credential is in the error: %v", err)
	}
	if failure.Received < len(emitted) {
		t.Errorf("got %d bytes received, but %d were emitted", failure.Received, len(emitted))
	}
}

func (c Case) checkAnswer(t *testing.T, provider model.Provider, resp model.Response, text, reasoning string) {
	t.Helper()
	got := Want{Stop: resp.Stop, Usage: resp.Usage}
	if c.Want.Usage == (api.Usage{}) {
		got.Usage = api.Usage{}
	}
	for _, item := range resp.Items {
		switch item.Kind {
		case model.AssistantItem:
			got.Text += item.Text
		case model.ReasoningItem:
			got.Reasoning += item.Text
		case model.ToolCallItem:
			got.Calls = append(got.Calls, Call{item.ProviderCallID, item.Name, item.Arguments})
		}
		if p := item.Private; p != nil && (p.Provider != provider.Name() || p.Model != Request().Model || !json.Valid(p.Data)) {
			t.Errorf("C08: private data names %s %s, want %s %s", p.Provider, p.Model, provider.Name(), Request().Model)
		}
	}
	if diff := cmp.Diff(c.Want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if text != got.Text || reasoning != got.Reasoning {
		t.Errorf("emitted %q and %q, answered %q and %q", text, reasoning, got.Text, got.Reasoning)
	}
}
