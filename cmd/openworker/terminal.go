package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode"

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
	files, err := m.attach(s.attach)
	if err != nil {
		return err
	}
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	t.lasts = true
	var opening []string
	t.opening = func(text, more string) { opening = append(opening, strings.TrimSuffix(text+"\n"+more, "\n")) }
	if err := t.join(ctx); err != nil {
		return err
	}
	options := t.chatOptions()
	options.Opening, options.Files = opening, files
	ctx, stop := untilEnded(ctx)
	left, err := chatui.Run(ctx, options, m.Interrupts, notes)
	end, ended := stop()
	if ended {
		m.note("%v", end)
	}
	if code := api.CodeOf(err); left.Session != "" && code != api.CodeSessionDeleted && code != api.CodeSessionNotFound {
		fmt.Fprintf(m.Stderr, "to go on:\n  %s\n", m.goOn(left.Session))
	}
	switch {
	case ended:
		return end.status()
	case err == nil && left.Busy:
		return exitStatus(exitInterrupt)
	}
	return err
}

// goOn is the command that goes on with a session, as it can be typed here.
func (m *Main) goOn(session string) string {
	return strings.Replace(m.again(session), "openworker", calledAs(os.Args[0], exec.LookPath), 1)
}

// calledAs is how a shell calls this program: by its name where that is found, else by the path that it was called by.
func calledAs(path string, find func(string) (string, error)) string {
	const name = "openworker"
	if _, err := find(name); err == nil || path == "" {
		return name
	}
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%,", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// ending is the signal that ended a chat.
type ending syscall.Signal

func (e ending) Error() string {
	if e == ending(syscall.SIGHUP) {
		return "ended by SIGHUP"
	}
	return "ended by SIGTERM"
}

// status is the exit code of a program that a signal ended, as shells tell it.
func (e ending) status() exitStatus { return exitStatus(128 + int(e)) }

// untilEnded gives a context that ends with SIGTERM or SIGHUP. stop frees it, and says which of them came.
func untilEnded(ctx context.Context) (_ context.Context, stop func() (ending, bool)) {
	ctx, end := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case s := <-signals:
			if s, ok := s.(syscall.Signal); ok {
				end(ending(s))
			}
		case <-ctx.Done():
		}
	})
	return ctx, func() (e ending, ended bool) {
		signal.Stop(signals)
		end(nil)
		watcher.Wait()
		return e, errors.As(context.Cause(ctx), &e)
	}
}

func (t *talk) chatOptions() chatui.Options {
	m := t.m
	model := t.choice.model
	if t.session != nil {
		model = api.ModelRef{} // the session's own, which its state tells
	}
	if t.options.Model != nil {
		model = *t.options.Model
	}
	return chatui.Options{
		Conversation: newConversation(*t),
		New: func(model api.ModelRef) chatui.Conversation {
			fresh := *t
			fresh.session, fresh.options.Model, fresh.choice.model = nil, nil, model
			return newConversation(fresh)
		},
		Model:      model,
		Models:     t.models,
		Providers:  t.providers(),
		Window:     t.window,
		ParseModel: m.parseModel,
		Check:      checkMessage,
		Home:       m.home(),
		Resume:     m.goOn,
		Advice:     m.nextInChat,
		Waits:      m.waitsInChat,
		Person:     person(),
		NewID:      rand.Text,
		Colors:     m.Color && !m.noColor,
		Now:        m.Now,
		Input:      m.Stdin,
		Output:     m.screen,
	}
}

// models lists what /model can choose: what talks, and the offline model.
func (t *talk) models(ctx context.Context) ([]string, error) {
	offline := api.ModelRef{Provider: offlineProvider, Name: offlineModel}.String()
	var names []string
	for _, ref := range t.choice.models(ctx) {
		if name := ref.String(); name != offline && !strings.Contains(strings.ToLower(ref.Name), "embed") {
			names = append(names, name)
		}
	}
	return append(names, offline), nil
}

// providers are the names that can stand before a model's.
func (t *talk) providers() (names []string) {
	for _, p := range t.choice.providers {
		names = append(names, p.Name())
	}
	return names
}

// window is how many tokens a model's window holds, 0 where that is not known.
func (t *talk) window(model api.ModelRef) int {
	for _, p := range t.choice.providers {
		if p.Name() == model.Provider {
			facts, _ := p.Facts(model.Name)
			return facts.Window
		}
	}
	return 0
}

// nextInChat is [Main.nextStep] for somebody in a chat, who has commands and no flags.
func (m *Main) nextInChat(err error) string {
	const flags = "with --model or OPENWORKER_MODEL"
	next := m.nextStep(err)
	switch code := api.CodeOf(err); {
	case code == api.CodeAttachmentQuota:
		return "/new begins another session, which may keep as many again"
	case code == api.CodeCredentialsMissing && next != "":
		return next + ", and start again"
	case !strings.Contains(next, flags):
	case errors.As(err, new(advised)), code == api.CodeUnsupportedMedia:
		return strings.ReplaceAll(next, flags, "with /model")
	case code == api.CodeModelNotFound:
		return "/model lists the models"
	}
	return next
}

// waitsInChat is [Main.waits] for somebody in a chat: a key that is stored meanwhile is found.
func (m *Main) waitsInChat(session string, reason api.WaitReason) string {
	if m.chosen.config != nil && reason.Code == api.CodeCredentialsMissing {
		if p, ok := m.chosen.config.Provider(reason.Name); ok {
			return "set " + strings.Join(p.KeyVariables, " or ") + " and start again, or openworker config set-key " + p.Name + " in another terminal: the turn goes on by itself"
		}
	}
	return m.waits(session, reason)
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
	run, _, err := c.talk.submit(ctx, m.Text, m.Files, options)
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

func (c *conversation) Revoke(ctx context.Context, tool string) error {
	return c.talk.harness.Service().RevokeGrant(ctx, c.ID(), tool, person())
}

func (c *conversation) Compact(ctx context.Context, submission string, model *api.ModelRef) error {
	options := api.TurnOptions{SubmissionID: submission, WhenBusy: openworker.BusyQueue, Model: c.talk.options.Model, Guardrails: c.talk.options.Guardrails}
	if model != nil {
		options.Model = model
	}
	_, err := c.talk.harness.Service().Compact(ctx, c.ID(), options)
	return err
}

func (c *conversation) Answer(ctx context.Context, interaction string, answer api.Answer) error {
	return c.session.Load().Resolve(ctx, interaction, answer)
}
