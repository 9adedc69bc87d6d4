package runtime

import (
	"time"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// Input is something that an actor is told.
type Input interface{ input() }

// Submit brings a command. Waiter, unless 0, gets exactly one Reply.
type Submit struct {
	Command engine.Command
	Waiter  uint64
	Files   Files
}

// Files are what a message changes among the session's files, in the transaction that it is accepted in: New are stored,
// and Discarded removed unless another message refers to them.
type Files struct {
	New       []store.NewFile
	Discarded []string
}

// Loaded answers a Load.
type Loaded struct {
	Loaded store.Loaded
	Err    error
}

// Tail answers a ReadTail.
type Tail struct {
	Session store.Session
	Records []store.Record
	Err     error
}

// Appended answers an Append.
type Appended struct {
	ID     string
	Result store.Appended
	Err    error
}

// Done brings an effect's outcome. Command is nil when there is nothing to store (the body was told to
// stop because its process is going away).
type Done struct {
	Ticket  uint64
	Command engine.Command
}

// TranscriptRead answers a ReadTranscript.
type TranscriptRead struct {
	Records []store.Record
	Until   uint64
	Err     error
}

// Moved says that the session's head has been seen at Head.
type Moved struct{ Head uint64 }

// Wake says that the session is due and that nobody live holds it.
type Wake struct{}

// LeaseLost says that the process was fenced.
type LeaseLost struct{}

// Late brings the outcome of a body that was not waited for any more: a fact all the same.
type Late struct{ Outcome engine.ToolOutcome }

// Withdraw takes a Submit back if it is not on its way to the store; its Reply comes in any case.
type Withdraw struct{ Waiter uint64 }

// Tick says that the timer fired, or that what the process can run may have changed.
type Tick struct{}

func (Submit) input()         {}
func (Loaded) input()         {}
func (Tail) input()           {}
func (Appended) input()       {}
func (Done) input()           {}
func (TranscriptRead) input() {}
func (Moved) input()          {}
func (Wake) input()           {}
func (LeaseLost) input()      {}
func (Late) input()           {}
func (Withdraw) input()       {}
func (Tick) input()           {}

// Action is something that an actor wants done.
type Action interface{ action() }

// Load reads the session; answered by Loaded.
type Load struct{ Schema string }

// ReadTail reads the row and the records behind After; answered by Tail.
type ReadTail struct{ After uint64 }

// ReadTranscript reads the records with bodies up to Until; answered by TranscriptRead.
type ReadTranscript struct{ Until uint64 }

// Write appends; answered by Appended.
type Write struct{ Append store.Append }

// Start runs an effect; answered by Done. Items is the conversation for a model call, what a summary is to be made
// of, or what a reviewer is told of the conversation. Call is the tool call that it is about, with the
// arguments that it is to run with. Output is what a body returned that hooks and guardrails are to see.
type Start struct {
	Ticket   uint64 // of this start; its Stop and its Done carry it
	Effect   engine.Effect
	Epoch    uint64
	Process  string // that holds the claim
	Items    []model.Item
	Encoded  *model.Encoded
	Memo     *policy.Memo // of what guardrails have seen of the conversation
	Previous string       // the summary before the one that is to be made
	Guidance engine.Guidance
	Call     engine.Entry
	Output   engine.Returned
	State    *engine.State
}

// Stop cancels an effect's context.
type Stop struct{ Ticket uint64 }

// Reply answers a Submit: the command's events are durable, or it was refused, or Err says why neither is known.
type Reply struct {
	Waiter uint64
	// Facts are the command's own events; none if it was settled already.
	Facts []engine.Fact
	Err   error
}

// Publish tells what has become durable, in order.
type Publish struct {
	Facts []engine.Fact
	State *engine.State
}

// Park sets the session aside.
type Park struct{ Reason string }

// SetTimer asks for a Tick at a time; the zero time takes the wish back.
type SetTimer struct{ At time.Time }

func (Load) action()           {}
func (ReadTail) action()       {}
func (ReadTranscript) action() {}
func (Write) action()          {}
func (Start) action()          {}
func (Stop) action()           {}
func (Reply) action()          {}
func (Publish) action()        {}
func (Park) action()           {}
func (SetTimer) action()       {}
