package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker"
)

const story = "Tell me a long story about a lighthouse."

// exit codes of openworker that an answer which was cut short may end with.
const (
	exitDone      = 0
	exitLimit     = 3
	exitCancelled = 5
)

var fewTokens = []string{"--no-tools", "--max-output-tokens", strconv.Itoa(few)}

// conversation: a second message sees the first, so its input is longer.
func conversation(_ context.Context, b *bench) (string, error) {
	out, errs, code, err := b.chat(story+"\n", fewTokens...)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(errs, sessionLine)
	session, _, _ := strings.Cut(rest, "\n")
	if strings.TrimSpace(out) == "" || code != exitDone && code != exitLimit || session == "" {
		return "", fmt.Errorf("first message: exit code %d, %q, %q", code, out, errs)
	}
	out, errs, code, err = b.chat("And then?\n", "--session", session, "--max-output-tokens", strconv.Itoa(few))
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(out) == "" || code != exitDone && code != exitLimit {
		return "", fmt.Errorf("second message: exit code %d, %q, %q", code, out, errs)
	}
	events, err := b.events(session)
	if err != nil {
		return "", err
	}
	turns, err := ends(events)
	if err != nil {
		return "", err
	}
	if len(turns) != 2 || turns[0].Usage.OutputTokens == 0 || turns[1].Usage.InputTokens <= turns[0].Usage.InputTokens {
		return "", fmt.Errorf("the turns ended as %+v", turns)
	}
	return fmt.Sprintf("two turns, %d and %d tokens in", turns[0].Usage.InputTokens, turns[1].Usage.InputTokens), nil
}

// streamed: the pieces come before the end, add up to the answer, and the provider's usage is reported.
func streamed(ctx context.Context, b *bench) (detail string, err error) {
	h, session, err := b.session(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	stream, err := session.RunStreamed(ctx, story, short())
	if err != nil {
		return "", err
	}
	var text strings.Builder
	pieces := 0
	for event, err := range stream.Events() {
		if err != nil {
			return "", err
		}
		if event.Type != openworker.EventTextDelta {
			continue
		}
		delta, err := openworker.Data[openworker.Delta](event)
		if err != nil {
			return "", err
		}
		if delta.From != text.Len() {
			return "", fmt.Errorf("a piece begins at %d, and %d bytes came before", delta.From, text.Len())
		}
		text.WriteString(delta.Text)
		pieces++
	}
	result, err := stream.Finish(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case pieces < few/2:
		return "", fmt.Errorf("%d tokens came in %d pieces", few, pieces)
	case result.Text != text.String():
		return "", fmt.Errorf("the answer is %q, its pieces %q", result.Text, text.String())
	case result.Usage.OutputTokens == 0 || result.Usage.OutputTokens > few || result.Usage.InputTokens == 0 || result.Usage.Estimated:
		return "", fmt.Errorf("the usage is %+v", result.Usage)
	}
	return fmt.Sprintf("%d pieces, %d tokens in, %d out", pieces, result.Usage.InputTokens, result.Usage.OutputTokens), nil
}

// cancelled: the turn ends as cancelled, and the session takes the next message.
func cancelled(ctx context.Context, b *bench) (detail string, err error) {
	h, session, err := b.session(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	calls, _ := b.tap.seen()
	run, err := session.Send(ctx, story)
	if err != nil {
		return "", err
	}
	if err := b.tap.streaming(ctx, calls); err != nil {
		return "", err
	}
	if err := session.Cancel(ctx); err != nil {
		return "", err
	}
	result, err := run.Result(ctx)
	if err != nil || result.Status != openworker.StatusCancelled {
		return "", fmt.Errorf("the cancelled turn: %+v, %w", result, err)
	}
	next, err := session.Run(ctx, "Start again.", short())
	if err != nil || next.Text == "" {
		return "", fmt.Errorf("the turn after it: %+v, %w", next, err)
	}
	return fmt.Sprintf("%d tokens charged, and the next turn is %s", result.Usage.OutputTokens, next.Status), nil
}

// interrupted: Ctrl-C ends the turn and not the session.
func interrupted(ctx context.Context, b *bench) (string, error) {
	calls, _ := b.tap.seen()
	cmd, session, err := b.start(story+"\n", "--no-tools")
	if err != nil {
		return "", err
	}
	if err := b.tap.streaming(ctx, calls); err != nil {
		return "", errors.Join(err, cmd.Process.Kill())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return "", err
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitCancelled {
		return "", fmt.Errorf("chat ended with %v", err)
	}
	out, errs, code, err := b.chat("Start again.\n", "--session", session, "--max-output-tokens", strconv.Itoa(few))
	if err != nil || strings.TrimSpace(out) == "" || code != exitDone && code != exitLimit {
		return "", fmt.Errorf("the next message: exit code %d, %q, %q, %w", code, out, errs, err)
	}
	return "exit code 5, and the session answers the next message", nil
}

// kill kills openworker chat in the middle of an answer that would go on for long.
func kill(ctx context.Context, b *bench) (session string, err error) {
	calls, _ := b.tap.seen()
	cmd, session, err := b.start(story+"\n", "--no-tools", "--max-output-tokens", "60")
	if err != nil {
		return "", err
	}
	streaming := b.tap.streaming(ctx, calls)
	// The call may stream before the message is acknowledged: until then nothing was promised.
	streaming = errors.Join(streaming, b.accepted(ctx, session))
	if err := cmd.Process.Kill(); err != nil {
		return "", errors.Join(streaming, err)
	}
	if err := cmd.Wait(); err == nil {
		return "", errors.New("the killed process ended well")
	}
	return session, streaming
}

// recovered checks what the journal must say after a kill in the middle of an answer.
func recovered(b *bench, session string) (string, error) {
	events, err := b.events(session)
	if err != nil {
		return "", err
	}
	turns, err := ends(events)
	if err != nil {
		return "", err
	}
	takenOver, lost := 0, 0
	for i, e := range events {
		if e.Number != uint64(i+1) {
			return "", fmt.Errorf("event %d has number %d", i+1, e.Number)
		}
		switch e.Type {
		case openworker.EventSessionTakenOver:
			takenOver++
		case openworker.EventModelCallFailed:
			lost++
		}
	}
	if len(turns) != 1 || takenOver != 1 || lost != 1 || turns[0].ModelCalls != 2 || !turns[0].Usage.Estimated {
		return "", fmt.Errorf("taken over %d times, %d calls lost, ends %+v", takenOver, lost, turns)
	}
	return fmt.Sprintf("taken over once, one call lost and made again, turn %s", turns[0].Status), nil
}

func killedChat(ctx context.Context, b *bench) (string, error) {
	session, err := kill(ctx, b)
	if err != nil {
		return "", err
	}
	out, errs, code, err := b.chat("", "--session", session)
	if err != nil || strings.TrimSpace(out) == "" || code != exitDone && code != exitLimit {
		return "", fmt.Errorf("coming back: exit code %d, %q, %q, %w", code, out, errs, err)
	}
	return recovered(b, session)
}

func killedSDK(ctx context.Context, b *bench) (detail string, err error) {
	id, err := kill(ctx, b)
	if err != nil {
		return "", err
	}
	h, err := b.open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	state, err := h.Service().State(ctx, id)
	if err != nil {
		return "", err
	}
	agent, err := h.StoredAgent(ctx, state.Agent)
	if err != nil {
		return "", err
	}
	capabilities, err := h.Service().Capabilities(ctx)
	if err != nil {
		return "", err
	}
	session, err := agent.ResumeSession(ctx, openworker.SessionReference{Store: capabilities.Store, Session: id, Agent: state.Agent})
	if err != nil {
		return "", err
	}
	run, err := session.OpenRun(ctx, state.Run)
	if err != nil {
		return "", err
	}
	result, err := run.Result(ctx)
	if err != nil || result.Text == "" {
		return "", fmt.Errorf("coming back: %+v, %w", result, err)
	}
	return recovered(b, id)
}
