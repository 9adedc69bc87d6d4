package main

import (
	"context"
	"crypto/rand"
	"iter"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/chatui"
)

// chat talks with a person at a terminal.
func (m *Main) chat(ctx context.Context, s settings) (err error) {
	plain := m.Stderr
	notes := chatui.NewNotes(plain) // the log too would be written into the middle of the screen
	m.Stderr = notes
	defer func() { m.Stderr = plain }()
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	if err := t.join(ctx); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	left, err := chatui.Run(ctx, t.chatOptions(), m.Interrupts, notes)
	if code := api.CodeOf(err); left.Session != "" && code != api.CodeSessionDeleted && code != api.CodeSessionNotFound {
		m.note("%s goes on with it", m.again(left.Session))
	}
	if err == nil && left.Busy {
		err = exitStatus(exitInterrupt)
	}
	return err
}

func (t *talk) chatOptions() chatui.Options {
	m := t.m
	model := t.choice.model
	if t.session != nil && t.options.Model == nil {
		model = api.ModelRef{} // the session's own, which its state tells
	}
	return chatui.Options{
		Conversation: newConversation(*t),
		New: func() chatui.Conversation {
			fresh := *t
			fresh.session, fresh.options.Model = nil, nil
			return newConversation(fresh)
		},
		Model:      model,
		Models:     t.models,
		ParseModel: m.parseModel,
		Check:      checkMessage,
		Resume:     m.again,
		Advice:     m.nextStep,
		Waits:      m.waits,
		Person:     person(),
		NewID:      rand.Text,
		Colors:     m.Color && !m.noColor,
		Now:        m.Now,
		Input:      m.Stdin,
		Output:     m.screen,
	}
}

// models lists what /model can choose.
func (t *talk) models(ctx context.Context) ([]string, error) {
	var names []string
	for _, ref := range t.choice.models(ctx) {
		names = append(names, ref.String())
	}
	return names, nil
}

// conversation is the chat's view of a talk.
type conversation struct {
	talk    talk // Send's alone
	session atomic.Pointer[openworker.Session]
}

func newConversation(t talk) *conversation {
	c := &conversation{talk: t}
	c.session.Store(t.session)
	return c
}

func (c *conversation) ID() string {
	if session := c.session.Load(); session != nil {
		return session.ID()
	}
	return ""
}

func (c *conversation) State(ctx context.Context) (api.SessionState, error) {
	return c.session.Load().State(ctx)
}

func (c *conversation) Recent(ctx context.Context, limit int) (events []api.Event, err error) {
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	query := api.EventQuery{Session: c.ID(), Limit: limit}
	if state.LastEvent > uint64(limit) {
		query.After = state.LastEvent - uint64(limit)
	}
	for {
		page, err := c.talk.harness.Service().Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, page.Events...)
		if !page.More || len(page.Events) == 0 {
			return events, nil
		}
		query.After = page.Events[len(page.Events)-1].Number
	}
}

func (c *conversation) Events(ctx context.Context, after uint64) iter.Seq2[api.Event, error] {
	return c.session.Load().Events(ctx, after)
}

// Send sends one message at a time: the first makes the session.
func (c *conversation) Send(ctx context.Context, m chatui.Message) (api.RunReference, error) {
	options := c.talk.options
	options.SubmissionID, options.WhenBusy = m.ID, openworker.BusyQueue
	if m.Model != nil {
		options.Model = m.Model
	}
	run, _, err := c.talk.submit(ctx, m.Text, options)
	c.session.Store(c.talk.session)
	if err != nil {
		return api.RunReference{}, err
	}
	return run.Reference(), nil
}

func (c *conversation) Result(ctx context.Context, id string) (api.Result, error) {
	run, err := c.session.Load().OpenRun(ctx, id)
	if err != nil {
		return api.Result{}, err
	}
	return run.Result(ctx)
}

func (c *conversation) Cancel(ctx context.Context) error { return c.session.Load().Cancel(ctx) }

func (c *conversation) Answer(ctx context.Context, interaction string, answer api.Answer) error {
	return c.session.Load().Resolve(ctx, interaction, answer)
}
