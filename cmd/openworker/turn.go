package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// leaveWithin is how soon after one Ctrl-C another leaves the program.
const leaveWithin = 2 * time.Second

// talk is a conversation on the terminal, or with a program that writes lines.
type talk struct {
	m        *Main
	harness  *openworker.Harness
	settings settings
	choice   choice
	agent    openworker.AgentDefinition // of a new session

	session *openworker.Session // once joined
	options openworker.TurnOptions
	lines   *lines // nil when nobody is there to answer interactions

	interrupted time.Time // the last Ctrl-C
}

// again notes a Ctrl-C and says whether it came soon enough after another to mean leaving.
func (t *talk) again() bool {
	now := t.m.Now()
	soon := !t.interrupted.IsZero() && now.Sub(t.interrupted) < leaveWithin
	t.interrupted = now
	return soon
}

// send sends a message and follows its run to where it stops.
func (t *talk) send(ctx context.Context, text string) (openworker.Result, error) {
	run, err := t.session.Send(ctx, text, t.options)
	if err != nil {
		return openworker.Result{}, err
	}
	return t.finish(ctx, run, false)
}

// finish follows a run to where it stops. Ctrl-C cancels the turn, and soon again leaves the program.
func (t *talk) finish(ctx context.Context, run *openworker.Run, echo bool) (openworker.Result, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { t.watch(ctx, run, done, stopAsking, leave) })

	var handlers openworker.Handlers
	if t.m.Terminal && !t.m.json {
		shown := &screen{out: t.m.Stdout, paint: t.m.paint(), echo: echo}
		handlers.OnEvent = shown.event
	}
	if t.lines != nil {
		ask := func(_ context.Context, interaction openworker.Interaction) (openworker.Answer, error) {
			return t.ask(asking, interaction)
		}
		handlers.OnApproval, handlers.OnUnknownOutcome = ask, ask
	}
	result, err := run.ResultWith(ctx, handlers)
	close(done)
	watcher.Wait()
	if cause := context.Cause(ctx); errors.As(cause, new(exitStatus)) {
		return result, cause
	}
	if err == nil {
		t.tell(result)
	}
	return result, err
}

// watch waits for Ctrl-C until the turn is done.
func (t *talk) watch(ctx context.Context, run *openworker.Run, done <-chan struct{}, stopAsking func(), leave func(error)) {
	for {
		select {
		case <-done:
			select {
			case <-t.m.Interrupts: // it came while the turn was ending
				if t.again() {
					leave(exitStatus(exitInterrupt))
				}
			default:
			}
			return
		case <-t.m.Interrupts:
		}
		if t.again() {
			leave(exitStatus(exitInterrupt))
			return
		}
		fmt.Fprintln(t.m.Stderr, "\n(cancelling the turn; Ctrl-C again leaves)")
		if err := run.Cancel(ctx); err != nil {
			t.m.report(api.AsError(err), "")
			continue
		}
		stopAsking()
	}
}

// tell prints a result where nobody watched it come.
func (t *talk) tell(result openworker.Result) {
	switch {
	case t.m.json:
		t.m.printJSON(t.m.Stdout, result)
		return
	case !t.m.Terminal && result.Text != "":
		fmt.Fprintln(t.m.Stdout, result.Text)
	}
	switch result.Status {
	case api.StatusInterrupted:
		for _, open := range result.Interactions {
			fmt.Fprintf(t.m.Stderr, "the turn waits for an answer: %s\n", question(open))
		}
		for _, reason := range result.WaitingFor {
			if reason.Interaction == "" {
				fmt.Fprintf(t.m.Stderr, "the turn waits: %s %s\n", reason.Code, reason.Name)
			}
		}
		fmt.Fprintf(t.m.Stderr, "  openworker chat --session %s goes on with it\n", t.session.ID())
	case api.StatusFailed:
		if !t.m.Terminal && result.Error != nil {
			err := &api.Error{Code: result.Error.Code, Message: result.Error.Message}
			t.m.report(err, t.m.nextStep(err))
		}
	case api.StatusLimitReached, api.StatusCancelled:
		if !t.m.Terminal {
			fmt.Fprintf(t.m.Stderr, "the turn's status is %s\n", result.Status)
		}
	}
}

// question is what an interaction asks.
func question(i openworker.Interaction) string {
	call := "an action"
	if i.Call != nil {
		call = strings.TrimSpace(i.Call.Name + " " + brief(i.Call.Arguments))
	}
	if i.Kind == api.InteractionUnknownOutcome {
		return "the process died inside " + call + ", and whether it acted is not known"
	}
	return "may it call " + call + "?"
}

// option is one answer to an interaction; its letter picks it.
type option struct {
	key, label string
	decision   openworker.Decision // "" leaves it open
	more       string              // what to ask then, "" for nothing
}

var approvalOptions = [...]option{
	{"y", "yes, this once", api.AllowOnce, ""},
	{"a", "always in this session", api.AllowSession, ""},
	{"n", "no", api.Deny, "Why not? (for the model; may be empty)"},
	{"l", "leave it open", "", ""},
}

var outcomeOptions = [...]option{
	{"s", "it succeeded", api.OutcomeSucceeded, "What did it return? (for the model; may be empty)"},
	{"f", "it failed and will not happen", api.OutcomeFailed, "Why? (for the model; may be empty)"},
	{"r", "run it again", api.OutcomeRetry, ""},
	{"l", "leave it open", "", ""},
}

// ask puts an interaction to the person. The end of input, or ctx, leaves it open.
func (t *talk) ask(ctx context.Context, i openworker.Interaction) (openworker.Answer, error) {
	options := approvalOptions[:]
	if i.Kind == api.InteractionUnknownOutcome {
		options = outcomeOptions[:]
	}
	p := t.m.paint()
	fmt.Fprintf(t.m.Stdout, "%s\n", p.bold(question(i)))
	for _, o := range options {
		fmt.Fprintf(t.m.Stdout, "  [%s] %s\n", o.key, o.label)
	}
	for {
		line, err := t.prompt(ctx, "? ")
		if err != nil {
			return openworker.Answer{}, err
		}
		for _, o := range options {
			if !strings.EqualFold(strings.TrimSpace(line), o.key) {
				continue
			}
			if o.decision == "" {
				return openworker.Answer{}, openworker.ErrLeaveOpen
			}
			answer := openworker.Answer{Decision: o.decision, By: person()}
			if o.more != "" {
				fmt.Fprintln(t.m.Stdout, o.more)
				if line, err = t.prompt(ctx, "? "); err != nil {
					return openworker.Answer{}, err
				}
			}
			if o.decision == api.OutcomeSucceeded {
				answer.Output = line
			} else if o.more != "" {
				answer.Reason = line
			}
			return answer, nil
		}
		fmt.Fprintln(t.m.Stdout, "Answer with one of the letters.")
	}
}

func (t *talk) prompt(ctx context.Context, text string) (string, error) {
	fmt.Fprint(t.m.Stdout, text)
	select {
	case line, ok := <-t.lines.next:
		if !ok {
			return "", openworker.ErrLeaveOpen
		}
		return line, nil
	case <-ctx.Done():
		return "", openworker.ErrLeaveOpen
	}
}

// person is the name of the one who answers, for the journal.
func person() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
