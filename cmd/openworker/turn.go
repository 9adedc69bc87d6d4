package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// leaveWithin is how soon after one Ctrl-C another leaves the program.
const leaveWithin = 2 * time.Second

// talk is a conversation with a person, or with a program that writes lines.
type talk struct {
	m        *Main
	harness  *openworker.Harness
	settings settings
	choice   choice
	agent    openworker.AgentDefinition // of a new session
	resumed  *openworker.Agent          // of the session that was joined, and then of a new one; nil before

	history []openworker.HistoryImport // that a new session begins with

	before  openworker.SessionState // of the session that is joined, as it stood before anything here could go on with it
	session *openworker.Session     // once joined
	options openworker.TurnOptions
	lines   *lines                  // nil when nobody is there to answer interactions
	opening func(text, more string) // says something before the first message
	lasts   bool                    // a session goes on with the model of its last turn

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
func (t *talk) send(ctx context.Context, text string, files []attached.File) (openworker.Result, error) {
	run, made, err := t.submit(ctx, text, files, t.options)
	if err != nil {
		return openworker.Result{}, err
	}
	if made {
		t.m.note("session %s", t.session.ID())
	}
	return t.finish(ctx, run)
}

// submit sends a message. The first one of a new session makes it.
func (t *talk) submit(ctx context.Context, text string, files []attached.File, options openworker.TurnOptions) (run *openworker.Run, made bool, err error) {
	if err := checkMessage(text, files); err != nil {
		return nil, false, notSent{err}
	}
	if strings.TrimSpace(text) == "" {
		text = "" // the files are the message
	}
	if made = t.session == nil; made {
		if err := t.begin(ctx); err != nil {
			return nil, false, notSent{err}
		}
	}
	run, err = t.session.Send(ctx, text, partsOf(files, options)...)
	switch {
	case err == nil:
		return run, made, nil
	case strings.HasPrefix(string(api.CodeOf(err)), "store_") || api.CodeOf(err) == api.CodeCancelled:
		return nil, made, err // it may be stored
	case made: // nothing is in it, and nobody knows of it
		_ = t.session.Delete(ctx)
		t.session = nil
	}
	return nil, false, notSent{err}
}

// finish follows a run to where it stops. Ctrl-C cancels the turn, and soon again leaves the program.
func (t *talk) finish(ctx context.Context, run *openworker.Run) (openworker.Result, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { t.watch(ctx, run, done, stopAsking, leave) })

	show := (&progress{m: t.m}).start()
	defer show.stop()
	if t.m.Terminal && !t.m.json {
		shown := &screen{out: t.m.Stdout, paint: t.m.paint()}
		show.then = shown.event
	}
	handlers := openworker.Handlers{OnEvent: show.event}
	if t.lines != nil {
		ask := func(_ context.Context, interaction openworker.Interaction) (openworker.Answer, error) {
			return t.ask(asking, interaction)
		}
		handlers.OnApproval, handlers.OnQuestion, handlers.OnUnknownOutcome = ask, ask, ask
	}
	result, err := run.ResultWith(ctx, handlers)
	close(done)
	watcher.Wait()
	if cause := context.Cause(ctx); errors.As(cause, new(exitStatus)) {
		return result, cause
	}
	if err == nil {
		t.tell(result, show)
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

// outcome is a result as --json prints it.
type outcome struct {
	Session string              `json:"session"`
	Model   openworker.ModelRef `json:"model,omitzero"`
	openworker.Result
	Files      []attached.Reference `json:"files,omitempty"`      // of the message
	Guardrails []api.GuardVerdict   `json:"guardrails,omitempty"` // what they did to the message
	Next       string               `json:"next,omitempty"`       // what to do about a turn that failed or waits
}

// tell prints a result where nobody watched it come.
func (t *talk) tell(result openworker.Result, shown *progress) {
	next := t.next(result)
	if t.m.json {
		t.m.printJSON(t.m.Stdout, outcome{t.session.ID(), shown.model, result, shown.files, shown.verdicts, strings.Join(append(t.answers(result), next...), "; ")})
		return
	}
	if !t.m.Terminal && result.Text != "" {
		fmt.Fprintln(t.m.Stdout, result.Text)
	}
	switch result.Status {
	case api.StatusInterrupted:
		for _, open := range result.Interactions {
			fmt.Fprintf(t.m.Stderr, "the turn waits for an answer: %s\n", question(open))
			if ways := t.m.waysToAnswer(open); len(ways) > 0 {
				fmt.Fprintf(t.m.Stderr, "  %s answers it\n", ways[0])
			}
		}
		for _, reason := range result.WaitingFor {
			if reason.Interaction == "" {
				fmt.Fprintf(t.m.Stderr, "the turn waits: %s %s\n", reason.Code, reason.Name)
			}
		}
		for _, line := range next {
			fmt.Fprintf(t.m.Stderr, "  %s\n", line)
		}
	case api.StatusFailed:
		if result.Error != nil && !t.m.Terminal {
			t.m.report(&api.Error{Code: result.Error.Code, Message: result.Error.Message}, strings.Join(next, "; "))
			break
		}
		for _, line := range next {
			fmt.Fprintf(t.m.Stderr, "  %s\n", line)
		}
	case api.StatusLimitReached, api.StatusCancelled:
		if !t.m.Terminal {
			fmt.Fprintf(t.m.Stderr, "the turn's status is %s\n", result.Status)
		}
	}
}

// next says what to do about a turn that failed or waits, besides answering what it asks.
func (t *talk) next(result openworker.Result) (next []string) {
	if result.Status == api.StatusFailed && result.Error != nil {
		if step := t.m.nextStep(&api.Error{Code: result.Error.Code, Message: result.Error.Message}); step != "" {
			next = []string{step}
		}
		return next
	}
	if result.Status != api.StatusInterrupted {
		return nil
	}
	for _, reason := range result.WaitingFor {
		if step := t.m.waits(t.session.ID(), reason); step != "" && !slices.Contains(next, step) {
			next = append(next, step)
		}
	}
	switch again := t.m.again(t.session.ID()); {
	case len(next) > 0:
	case len(result.Interactions) > 0:
		next = []string{again + " goes on then, and asks in a terminal"}
	default:
		next = []string{again + " goes on with it"}
	}
	return next
}

// answers are the commands that answer what an interrupted turn asks.
func (t *talk) answers(result openworker.Result) (commands []string) {
	for _, open := range result.Interactions {
		if ways := t.m.waysToAnswer(open); len(ways) > 0 {
			commands = append(commands, ways[0]+" answers "+open.ID)
		}
	}
	return commands
}

// waits says what to do about a turn that waits for something that is missing.
func (m *Main) waits(session string, reason api.WaitReason) string {
	switch {
	case registered(reason):
		return onlyWith([]string{reason.Name})
	case (reason.Code == api.CodeCredentialsMissing || reason.Code == api.CodeRegistrationMissing) && m.wayToProvider(reason.Name) != "":
		return m.wayToProvider(reason.Name) + " and run " + m.again(session)
	case reason.Code == api.CodeRegistrationMissing:
		return m.wayToConfigure() + " and run " + m.again(session)
	}
	return ""
}
