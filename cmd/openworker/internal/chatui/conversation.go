package chatui

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// Conversation is the session that is talked to, or the one that the first message will make. Its methods are
// called from several goroutines, and each returns soon after its context ended.
type Conversation interface {
	// ID is the session's, "" before the first message.
	ID() string
	// State is where the session stands.
	State(ctx context.Context) (api.SessionState, error)
	// Recent gives the newest stored events, at most limit, oldest first.
	Recent(ctx context.Context, limit int) ([]api.Event, error)
	// Events replays what came after an event and goes on live; it ends with its context or an error.
	Events(ctx context.Context, after uint64) iter.Seq2[api.Event, error]
	// Send returns once the message is durable: run now, or queued behind the turn that is under way.
	Send(ctx context.Context, m Message) (api.RunReference, error)
	// Result waits until a run ends, or waits for something.
	Result(ctx context.Context, run string) (api.Result, error)
	// Cancel asks the current turn to end.
	Cancel(ctx context.Context) error
	// Answer resolves an interaction.
	Answer(ctx context.Context, interaction string, answer api.Answer) error
	// Revoke takes a permission for a tool back.
	Revoke(ctx context.Context, tool string) error
	// Compact returns once it is durable that older history is to be summarised, now or behind the turn that is
	// under way. submission makes a second attempt the same; model is nil for the session's own.
	Compact(ctx context.Context, submission string, model *api.ModelRef) error
}

// Message is one to send.
type Message struct {
	// ID makes a second attempt at the same message the same submission.
	ID   string
	Text string // "" where files are the message
	// Files go behind the text.
	Files []attached.File
	// Model is nil for the session's own.
	Model *api.ModelRef
}

// Options are what a chat needs. Conversation is required; so is NewID; another nil function does without.
type Options struct {
	Conversation Conversation
	// New gives the conversation that /new begins, with the model that answers in it.
	New func(model api.ModelRef) Conversation
	// Model answers the next message; zero is the session's own.
	Model api.ModelRef
	// Opening is said first, an entry a line; what follows a line end in it is said dimly.
	Opening []string
	// Window is how many tokens a model's window holds, 0 where that is not known.
	Window func(model api.ModelRef) int
	// Providers are the names that can stand before a model's.
	Providers []string
	// Models lists what can be chosen, by names that ParseModel takes.
	Models func(ctx context.Context) ([]string, error)
	// ParseModel reads what follows /model.
	ParseModel func(text string) (api.ModelRef, error)
	// Check refuses messages that no session takes.
	Check func(text string, files []attached.File) error
	// Files go with the first message.
	Files []attached.File
	// Home is what "~" stands for in the path of a file; "" leaves it as it is.
	Home string
	// Resume is the command that goes on with a session.
	Resume func(session string) string
	// Advice says what to do about an error, "" for nothing.
	Advice func(err error) string
	// Waits says what to do about a turn that waits for something that is missing, "" for nothing.
	Waits func(session string, reason api.WaitReason) string
	// NewID makes the ID of a submission.
	NewID func() string
	// Person names who answers, for the journal.
	Person string
	// Colors puts colours on the screen.
	Colors bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time

	// Input and Output are the terminal, and Environment describes it; nil are the process's own.
	Input       io.Reader
	Output      io.Writer
	Environment []string
	// Width and Height are the terminal's where it does not tell; 0 is 80 by 24.
	Width, Height int
}

// Left is how a chat was left.
type Left struct {
	Session string // that was talked to last, "" for none
	Busy    bool   // a turn was under way, and Ctrl-C left it
}
