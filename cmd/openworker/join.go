package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// talk opens the state directory with the model that the settings and the environment say.
func (m *Main) talk(ctx context.Context, s settings) (*talk, error) {
	before, err := m.standingOf(ctx, s.session)
	if err != nil {
		return nil, err
	}
	c, def, err := m.settle(ctx, s, before)
	if err != nil {
		return nil, err
	}
	h, err := m.open(ctx, c)
	if err != nil {
		return nil, err
	}
	t := &talk{m: m, harness: h, settings: s, choice: c, agent: def, before: before, opening: m.noteFirst}
	t.options.Guardrails, t.options.SubmissionID = s.guards, s.submit
	if s.tokens != 0 {
		t.options.Limits.MaxOutputTokensPerCall = &s.tokens
	}
	return t, nil
}

// standingOf is where the session stands that is named. It is found out before anything here can go on with its turn,
// which otherwise might have ended by then.
func (m *Main) standingOf(ctx context.Context, session string) (state openworker.SessionState, err error) {
	if session == "" {
		return state, nil
	}
	m.session = session
	h, err := m.openToRead(ctx)
	if err != nil {
		return state, err
	}
	defer closeAfter(h, &err)
	_, state, err = findSession(ctx, h, session)
	return state, err
}

// join finds the session that the settings name, if they do. A new one is made with its first message.
func (t *talk) join(ctx context.Context) error {
	if t.settings.session == "" {
		t.opening(t.choice.said())
		return nil
	}
	if err := t.harness.Bind(tools(time.Now)...); err != nil {
		return err
	}
	ref, state, err := findSession(ctx, t.harness, t.before.Session)
	if err != nil {
		return err
	}
	model := state.Model
	if t.choice.model != model { // another one was asked for
		model = t.choice.model
		t.options.Model = &model
	} else if err := t.last(ctx, state); err != nil {
		return err
	} else if t.options.Model != nil {
		model = *t.options.Model
	}
	t.m.chosen.model = model
	if err := t.able(ctx, ref, state, model); err != nil {
		return err
	}
	agent, err := t.harness.StoredAgent(ctx, ref.Agent)
	if api.CodeOf(err) == api.CodeUnknownProvider { // another model may answer, but the agent names this one
		return advised{err, t.m.wayToConfigure() + " and run " + t.m.again(ref.Session) + " again"}
	}
	if err != nil {
		return err
	}
	if t.session, err = agent.ResumeSession(ctx, ref); err != nil {
		return err
	}
	t.resumed = agent
	t.opening(t.choice.said())
	t.opening(fmt.Sprintf("session %s: %s, %d events, %s so far", ref.Session, state.Activity, state.LastEvent, tokens(state.Usage)), "")
	return nil
}

func (t *talk) has(provider string) bool { return t.choice.has(provider) }

// able refuses a session that this program cannot go on with, before a message is taken that would wait for ever.
func (t *talk) able(ctx context.Context, ref openworker.SessionReference, state openworker.SessionState, model openworker.ModelRef) error {
	lacks := func(what, next string) error {
		return advised{api.Errorf(api.CodeRegistrationMissing, "session %s %s", ref.Session, what), next}
	}
	providers := []openworker.ModelRef{model}
	if state.Run != "" { // the turn that is under way may have another than the next one
		for _, reason := range state.WaitingFor {
			if reason.Code == api.CodeRegistrationMissing && strings.EqualFold(reason.Name, state.Model.Provider) {
				providers = append(providers, state.Model)
			}
		}
	}
	for _, m := range providers {
		switch {
		case t.has(m.Provider):
		case t.m.wayToProvider(m.Provider) != "":
			return lacks("talks to "+m.String(), t.m.wayToProvider(m.Provider)+" and run "+t.m.again(ref.Session)+" again")
		default:
			return lacks("talks to "+m.String(), t.m.wayToConfigure()+" and run "+t.m.again(ref.Session)+" again")
		}
	}
	lacking, err := lackedBy(ctx, t.harness, state)
	if err == nil && len(lacking) > 0 {
		err = lacks("needs what openworker does not have: "+these(lacking), onlyWith(lacking))
	}
	return err
}

// lackedBy are the tools, guardrails and hooks that a session needs, for its agent or for the turn that is under way, and
// that this program has not.
func lackedBy(ctx context.Context, h *openworker.Harness, state openworker.SessionState) (lacking []string, err error) {
	err = eachAgent(ctx, h, func(def api.AgentDefinition) {
		if def.Name == state.Agent {
			lacking = missing(def)
		}
	})
	own := owned()
	for _, reason := range state.WaitingFor {
		if registered(reason) && !own[reason.Name] && !slices.Contains(lacking, reason.Name) {
			lacking = append(lacking, reason.Name)
		}
	}
	return lacking, err
}

// registered reports whether what is missing is a tool, a guardrail or a hook, which a program registers.
func registered(reason api.WaitReason) bool {
	what, _, named := strings.Cut(reason.Name, " ")
	return reason.Code == api.CodeRegistrationMissing && named && slices.Contains([]string{"tool", "guardrail", "hook"}, what)
}

// onlyWith says who can go on with a session that needs what this program has not.
func onlyWith(lacking []string) string {
	return "only a program that has " + these(lacking) + " goes on with it: start yours again, unless it runs"
}

// these are things in words: the tool pay and the guardrail pins.
func these(things []string) string {
	last := len(things) - 1
	if last < 1 {
		return "the " + strings.Join(things, "")
	}
	return "the " + strings.Join(things[:last], ", the ") + " and the " + things[last]
}

// owned are the tools and guardrails that this program has.
func owned() map[string]bool {
	own := map[string]bool{}
	for _, tool := range tools(time.Now) {
		own["tool "+tool.Declaration().Name] = true
	}
	for _, name := range guardrailNames() {
		own["guardrail "+name] = true
	}
	return own
}

// missing are the tools, guardrails and hooks of an agent that this program has not.
func missing(def api.AgentDefinition) (lacking []string) {
	own := owned()
	needs := func(what, name string) {
		if !own[what+" "+name] {
			lacking = append(lacking, what+" "+name)
		}
	}
	for _, tool := range def.Tools {
		needs("tool", tool.Name)
	}
	for _, name := range def.Guardrails {
		needs("guardrail", name)
	}
	for _, name := range def.Hooks {
		needs("hook", name)
	}
	return lacking
}

// begin makes the session for its first message.
func (t *talk) begin(ctx context.Context) error {
	agent := t.resumed
	if agent == nil {
		var err error
		if agent, err = t.harness.Agent(ctx, t.agent); err != nil {
			return err
		}
	}
	options := openworker.InitialHistory(t.history...)
	if t.resumed != nil || t.choice.model != t.agent.DefaultModel { // another was asked for than the agent's own
		options.Model = &t.choice.model
	}
	session, err := agent.NewSession(ctx, options)
	t.session = session
	return err
}

// note tells a person something that is no part of the output.
func (m *Main) note(format string, args ...any) {
	if !m.json {
		fmt.Fprintln(m.Stderr, "openworker: "+printable(fmt.Sprintf(format, args...)))
	}
}

// tokens says a usage in words.
func tokens(u openworker.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	return fmt.Sprintf("%s%d tokens in, %s%d out", about, u.InputTokens, about, u.OutputTokens)
}
