package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/openaichat"
)

// few keeps the checks short: the model never stops by itself.
const few = 24

// bench is where the checks run: one state directory, the program, and the tapped model server.
type bench struct {
	tap    *tap
	binary string
	dir    string
}

func (b *bench) stateDir() string { return filepath.Join(b.dir, "state") }

func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.binary, append(args, "--state-dir", b.stateDir())...)
	cmd.Env = append(cmd.Environ(), "OPENAI_BASE_URL="+b.tap.base, "OPENAI_API_KEY=", "OPENWORKER_MODEL=")
	return cmd
}

// chat runs openworker chat with an input to its end.
func (b *bench) chat(input string, args ...string) (out, errs string, code int, err error) {
	cmd := b.command(append([]string{"chat"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), err
}

const sessionLine = "openworker: session "

// start starts openworker chat with one message and returns it once its session is known.
func (b *bench) start(input string, args ...string) (cmd *exec.Cmd, session string, err error) {
	cmd = b.command(append([]string{"chat"}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), sessionLine); ok {
			return cmd, id, nil
		}
	}
	_ = cmd.Process.Kill()
	return nil, "", fmt.Errorf("no session was made: %w", cmd.Wait())
}

// events is the journal as the program prints it.
func (b *bench) events(session string) ([]openworker.Event, error) {
	out, err := b.command("events", session, "--json").Output()
	if err != nil {
		return nil, err
	}
	var events []openworker.Event
	for line := range strings.Lines(string(out)) {
		var e openworker.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// accepted waits until a session's journal has its message.
func (b *bench) accepted(ctx context.Context, session string) error {
	for ctx.Err() == nil {
		events, err := b.events(session)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Type == openworker.EventTurnAccepted {
				return nil
			}
		}
	}
	return context.Cause(ctx)
}

// ends are the turn_ended events of a journal.
func ends(events []openworker.Event) ([]openworker.TurnEnded, error) {
	var found []openworker.TurnEnded
	for _, e := range events {
		if e.Type != openworker.EventTurnEnded {
			continue
		}
		d, err := openworker.Data[openworker.TurnEnded](e)
		if err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, nil
}

// open opens the state directory with the SDK.
func (b *bench) open(ctx context.Context) (*openworker.Harness, error) {
	provider, err := openaichat.New(openaichat.Config{BaseURL: b.tap.base, KeyOptional: true})
	if err != nil {
		return nil, err
	}
	return openworker.Open(ctx, openworker.Options{
		StateDir: b.stateDir(), ScratchDir: filepath.Join(b.dir, "scratch"), Providers: []openworker.Provider{provider},
	})
}

// session opens the SDK and a new session.
func (b *bench) session(ctx context.Context) (*openworker.Harness, *openworker.Session, error) {
	h, err := b.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	agent, err := h.Agent(ctx, openworker.AgentDefinition{
		Name:         "live",
		Instructions: "Tell stories.",
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "gemma"},
	})
	if err != nil {
		return nil, nil, errors.Join(err, h.Close(ctx))
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close(ctx))
	}
	return h, session, nil
}

// short is turn options for an answer that soon ends.
func short() openworker.TurnOptions {
	return openworker.TurnOptions{Limits: openworker.Limits{MaxOutputTokensPerCall: openworker.Set(few)}}
}
