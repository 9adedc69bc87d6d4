package main

import (
	"fmt"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

const usualSilence = 15 * time.Second

// progress follows a run's events for whoever waits for its end: retries, and a model that says nothing, are
// told on standard error, and so is what guardrails did to the message. On a terminal the events go on to then, which shows all of them.
type progress struct {
	m     *Main
	then  func(openworker.Event)
	model openworker.ModelRef // that the turn was accepted with
	quiet *time.Timer

	files    []attached.Reference // of the message
	verdicts []api.GuardVerdict   // on it
}

func (p *progress) start() *progress {
	p.quiet = time.AfterFunc(time.Hour, func() { p.m.note("still waiting for the model") })
	p.quiet.Stop()
	return p
}

func (p *progress) stop() { p.quiet.Stop() }

func (p *progress) event(e openworker.Event) {
	switch {
	case e.Type == api.EventModelCallStarted, p.then == nil && (e.Type == api.EventTextDelta || e.Type == api.EventReasoningDelta):
		silence := p.m.Silence
		if silence == 0 {
			silence = usualSilence
		}
		p.quiet.Reset(silence)
	default:
		p.quiet.Stop()
	}
	switch e.Type {
	case api.EventTurnAccepted:
		d, _ := decode[api.TurnAccepted](e)
		p.model, p.files, p.verdicts = d.Model, attached.References(d.Content), d.Guardrails
		p.guarded(d.Guardrails)
	case api.EventModelCallFailed:
		// The last attempt's failure is the turn's, which is told at its end.
		if d, _ := decode[api.ModelCallFailed](e); p.then == nil && !p.m.json && (!d.RetryAt.IsZero() || d.Code == api.CodeCallLost) {
			fmt.Fprintln(p.m.Stderr, describe(e))
		}
	}
	if p.then != nil {
		p.then(e)
	}
}

// guarded tells somebody who sees no events what guardrails did to the message.
func (p *progress) guarded(verdicts []api.GuardVerdict) {
	if p.then != nil {
		return
	}
	for _, v := range verdicts {
		p.m.note("%s", decide.Guard(v))
	}
}
