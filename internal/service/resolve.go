package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/tool"
)

// Resolve implements api.Service (AP3). What a person writes is a user's text: user_input guardrails see it before it is
// stored (GR3).
func (s *Service) Resolve(ctx context.Context, session, interaction string, answer api.Answer) error {
	if err := s.usable(); err != nil {
		return err
	}
	answer, err := checkAnswer(answer)
	if err != nil {
		return err
	}
	if answer.Reason != "" || answer.Output != "" || len(answer.Answers) > 0 || len(answer.Arguments) > 0 {
		asked, _, err := s.asked(ctx, session, interaction)
		if err != nil {
			return err
		}
		if answer, err = s.screenAnswer(ctx, session, asked, answer); err != nil {
			return err
		}
		if len(answer.Arguments) > 0 {
			if err := s.checkArguments(ctx, session, asked, answer.Arguments); err != nil {
				return err
			}
		}
	}
	_, err = s.runtime.Submit(ctx, session, engine.Answer{Interaction: interaction, Answer: answer})
	if errors.Is(err, api.ErrInteractionNotFound) {
		return s.resolvedLongAgo(ctx, session, interaction, answer)
	}
	return s.translate(ctx, session, err)
}

// checkAnswer checks what can be said of an answer without the question.
func checkAnswer(answer api.Answer) (api.Answer, error) {
	for _, text := range []struct {
		name  string
		value string
		limit int
	}{{"reason", answer.Reason, api.MaxGuidanceBytes}, {"output", answer.Output, api.MaxToolOutputBytes}, {"by", answer.By, api.MaxSubmissionIDBytes},
		{"arguments", string(answer.Arguments), api.MaxToolOutputBytes}} {
		if err := checkText(text.name, text.value, text.limit); err != nil {
			return answer, err
		}
	}
	if answer.Output != "" && answer.Decision != api.OutcomeSucceeded {
		return answer, api.Errorf(api.CodeInvalidRequest, "the answer has an output, which belongs to the decision %q and not to %q; leave it out", api.OutcomeSucceeded, answer.Decision)
	}
	size := 0
	for i, text := range answer.Answers {
		size += len(text)
		if strings.TrimSpace(text) == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return answer, api.Errorf(api.CodeInvalidRequest, "answer %d of %d must be UTF-8 without NUL, and not empty", i+1, len(answer.Answers))
		}
	}
	if len(answer.Answers) > api.MaxAnswers {
		return answer, api.Errorf(api.CodeInvalidRequest, "%d answers are given; at most %d are taken", len(answer.Answers), api.MaxAnswers)
	}
	if size > api.MaxAnswersBytes {
		return answer, api.Errorf(api.CodeInvalidRequest, "the answers have %d bytes together; at most %d are taken", size, api.MaxAnswersBytes)
	}
	if text := strings.TrimSpace(string(answer.Arguments)); text == "" || text == "null" {
		answer.Arguments = nil
	}
	return answer, nil
}

func checkText(name, text string, limit int) error {
	if len(text) > limit || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return api.Errorf(api.CodeInvalidRequest, "%q must be UTF-8 without NUL of at most %d bytes; it has %d", name, limit, len(text))
	}
	return nil
}

// asked is the event of an interaction, open or resolved, and its number.
func (s *Service) asked(ctx context.Context, session, interaction string) (engine.InteractionRequired, uint64, error) {
	var none engine.InteractionRequired
	if _, err := s.session(ctx, session); err != nil {
		return none, 0, err
	}
	fact, err := s.named(ctx, session, interaction, "-i")
	if err != nil {
		return none, 0, err
	}
	e, ok := fact.Event.(engine.InteractionRequired)
	if !ok || e.ID != interaction {
		return none, 0, notFound(session, interaction)
	}
	return e, fact.Number, nil
}

func notFound(session, interaction string) error {
	return api.Errorf(api.CodeInteractionNotFound, "session %s has no interaction %.300q; its state lists those that are open", session, interaction)
}

// screenAnswer lets guardrails see what a person has written: those in force for the run that asked, also where it has
// ended since, so that the same answer is the same for ever. An output stands for the tool's, so those for results see
// it as well.
func (s *Service) screenAnswer(ctx context.Context, session string, asked engine.InteractionRequired, answer api.Answer) (api.Answer, error) {
	f, err := s.session(ctx, session)
	if err != nil {
		return answer, err
	}
	accepted, err := s.named(ctx, session, asked.Run, "-r")
	if err != nil {
		return answer, err
	}
	turn, _ := accepted.Event.(engine.TurnAccepted)
	in, err := s.inForce(f, turn.Guardrails)
	if err != nil {
		return answer, err
	}
	about := s.about(session, f)
	screen := func(what string, text *string, limit int) {
		if err == nil && *text != "" {
			*text, _, err = in.screen(ctx, about, what, *text, limit)
		}
	}
	stored := engine.CompactArguments(answer.Arguments) // no spelling of a text is looked past
	arguments := stored
	screen("the reason", &answer.Reason, api.MaxGuidanceBytes)
	screen("the output", &answer.Output, api.MaxToolOutputBytes)
	screen("the arguments", &arguments, api.MaxToolOutputBytes)
	if arguments != stored { // else the schema is to see what was given, a key that stands twice too
		answer.Arguments = json.RawMessage(arguments)
	}
	answer.Answers = slices.Clone(answer.Answers)
	size := 0
	for i := range answer.Answers {
		screen("an answer", &answer.Answers[i], api.MaxAnswersBytes)
		size += len(answer.Answers[i])
	}
	if err != nil {
		return api.Answer{}, err
	}
	if size > api.MaxAnswersBytes {
		return api.Answer{}, api.Errorf(api.CodeGuardrailFailed, "the answers have %d bytes together after their redactions; at most %d are taken", size, api.MaxAnswersBytes)
	}
	if len(answer.Answers) > 0 {
		return answer, in.sendable("the list of answers", string(plainJSON(answer.Answers)))
	}
	if answer.Output != "" {
		about.Run, about.CallID = asked.Run, asked.CallID
		seen := policy.Screen(ctx, in, guard.Unit{Context: about, Point: guard.ToolResult, Text: answer.Output, Tool: asked.Name})
		if seen.Err != nil {
			return api.Answer{}, seen.Err
		}
		answer.Output = cmp.Or(seen.Text, removed)
	}
	return answer, in.sendable("the output", answer.Output)
}

// checkArguments checks changed arguments against the schema of the tool that the interaction is about. The
// session's owner does it again right before the action starts.
func (s *Service) checkArguments(ctx context.Context, session string, asked engine.InteractionRequired, arguments json.RawMessage) error {
	f, err := s.session(ctx, session)
	if err != nil {
		return err
	}
	state, _, err := s.load(ctx, session)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(state.Interactions, func(in engine.Interaction) bool { return in.ID == asked.ID }) {
		return nil // it is closed, and the engine says how
	}
	_, def, err := s.agent(ctx, "", api.AgentReference{Name: f.agent.Name, Digest: f.agent.Digest})
	if err != nil {
		return err
	}
	for _, d := range def.Tools {
		if d.Name != asked.Name {
			continue
		}
		schema, err := tool.Compile(d.InputSchema)
		if err != nil {
			return err
		}
		if err := schema.Validate(arguments); err != nil {
			return api.Errorf(api.CodeArgumentsInvalid, "the changed arguments of %s are not taken, and interaction %s stays open: %w", asked.Name, asked.ID, errors.Unwrap(err))
		}
	}
	return nil
}

// inForce are the guardrails of an agent and of a turn, the agent's first. guardrail_missing where this process lacks
// one: what nobody has looked at is not taken (GR2).
func (s *Service) inForce(f *facts, turn []string) (inForce, error) {
	found, missing := s.registry.Guardrails(f.agent.Guardrails, turn)
	if len(missing) > 0 {
		return nil, api.Errorf(api.CodeGuardrailMissing, "the guardrail %q is in force and not registered in this process; register it here, or send from a process that has it",
			missing[0]).With("guardrail", missing[0])
	}
	return found, nil
}

type inForce []guard.Guardrail

// about is what a guardrail is told of a user's text.
func (s *Service) about(session string, f *facts) guard.Context {
	return guard.Context{
		Session: api.SessionReference{Store: s.store.ID(), Session: session, Agent: f.agent.Name}, Agent: api.AgentReference{Name: f.agent.Name, Digest: f.agent.Digest},
		Workspace: f.workspace, Origin: "agent", Owner: f.owner, Metadata: f.copyMetadata(),
	}
}

// screen lets user_input guardrails see a text; what is in messages names it.
func (g inForce) screen(ctx context.Context, about guard.Context, what, text string, limit int) (string, []api.GuardVerdict, error) {
	seen := policy.Screen(ctx, g, guard.Unit{Context: about, Point: guard.UserInput, Text: text})
	switch {
	case seen.Err != nil:
		return "", nil, seen.Err
	case len(seen.Text) > limit:
		return "", nil, api.Errorf(api.CodeGuardrailFailed, "%s has %d bytes after its redaction; at most %d are taken", what, len(seen.Text), limit)
	case strings.TrimSpace(seen.Text) == "":
		seen.Text = removed
	}
	return seen.Text, seen.Verdicts, nil
}

// removed stands for a text of which a guardrail leaves nothing.
const removed = "[removed by a guardrail]"

// sendable refuses a text that no later request could be sent with, since no model_input guardrail looks at it.
func (g inForce) sendable(what, text string) error {
	if fit := policy.Fit(g, guard.ModelInput, text); fit.Err != nil {
		fit.Err.Message = what + " is not taken: " + fit.Err.Message
		return fit.Err
	}
	return nil
}

// resolvedLongAgo finds in the journal how an interaction was resolved that the state remembers no more.
func (s *Service) resolvedLongAgo(ctx context.Context, session, interaction string, answer api.Answer) error {
	_, after, err := s.asked(ctx, session, interaction)
	if err != nil {
		return err
	}
	for {
		facts, err := s.read(ctx, store.RecordQuery{Session: session, After: after, Limit: 500})
		if err != nil {
			return err
		}
		if len(facts) == 0 {
			return notFound(session, interaction)
		}
		for _, f := range facts {
			e, ok := f.Event.(engine.InteractionResolved)
			switch {
			case !ok || e.ID != interaction:
			case e.SameAs(answer):
				return nil
			default:
				return api.Errorf(api.CodeAlreadyResolved, "interaction %s was resolved already, as %q; an answer is final", interaction, e.Decision)
			}
		}
		after = facts[len(facts)-1].Number
	}
}
