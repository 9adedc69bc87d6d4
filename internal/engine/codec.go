package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/openworkerai/openworker/api"
)

// Format is the journal format that this build writes. It reads Format and Format+1.
const Format = 1

// Stored is an event in its stored form, without what the store adds.
type Stored struct {
	Kind    Kind
	Version int
	Run     string
	// Item is set where the event holds a part of the conversation, Terminal on a run's last event.
	Item, Terminal bool
	Data           []byte
}

// Encode puts an event into its stored form.
func Encode(e Event) (Stored, error) {
	data, err := marshal(e)
	if err != nil {
		return Stored{}, fmt.Errorf("engine: encode %s: %w", e.Kind(), err)
	}
	s := Stored{Kind: e.Kind(), Version: 1, Run: e.run(), Data: data}
	switch e := e.(type) {
	case TurnAccepted:
		s.Item = true
		if e.Content != nil { // a build that does not know of content must not take it for a message without
			s.Version = contentVersion
		}
	case HistoryImported, TurnStarted, ModelFinished, ToolFinished, ToolLate, CompactionFinished:
		s.Item = true
	case InteractionResolved:
		s.Item = e.Arguments != "" // what a call ran with
	case TurnEnded:
		s.Terminal = true
	}
	return s, nil
}

// contentVersion is the version of a turn_accepted with content.
const contentVersion = 2

// Decode reads a stored event. A kind or version that this build does not know is an error: what it
// means cannot be guessed, so the session is set aside rather than folded wrongly.
func Decode(kind Kind, version int, data []byte) (Event, error) {
	read, ok := decoders[kind]
	if !ok || version != 1 && (version != contentVersion || kind != "turn_accepted") {
		return nil, &UnknownEventError{Kind: kind, Version: version}
	}
	e, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("engine: decode %s: %w", kind, err)
	}
	return e, nil
}

// UnknownEventError reports a stored event of a kind or version that this build does not know.
type UnknownEventError struct {
	Kind    Kind
	Version int
}

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("engine: unknown stored event %q version %d; a newer build wrote it", e.Kind, e.Version)
}

var decoders = map[Kind]func([]byte) (Event, error){
	"session_created":      decode[SessionCreated],
	"history_imported":     decode[HistoryImported],
	"turn_accepted":        decode[TurnAccepted],
	"turn_started":         decode[TurnStarted],
	"cancel_requested":     decode[CancelRequested],
	"turn_ended":           decode[TurnEnded],
	"model_started":        decode[ModelStarted],
	"model_failed":         decode[ModelFailed],
	"model_finished":       decode[ModelFinished],
	"tool_started":         decode[ToolStarted],
	"tool_finished":        decode[ToolFinished],
	"tool_lost":            decode[ToolLost],
	"tool_inspected":       decode[ToolInspected],
	"tool_late":            decode[ToolLate],
	"interaction_required": decode[InteractionRequired],
	"interaction_resolved": decode[InteractionResolved],
	"tool_checked":         decode[ToolChecked],
	"tool_returned":        decode[ToolReturned],
	"review_started":       decode[ReviewStarted],
	"review_finished":      decode[ReviewFinished],
	"compaction_started":   decode[CompactionStarted],
	"compaction_failed":    decode[CompactionFailed],
	"compaction_finished":  decode[CompactionFinished],
	"grant_revoked":        decode[GrantRevoked],
	"taken_over":           decode[TakenOver],
	"session_deleted":      decode[SessionDeleted],
}

func decode[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	return e, nil
}

// marshal is json.Marshal without HTML escaping: the journal holds people's text as it is.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// EncodeInteraction encodes the public form of an interaction.
func EncodeInteraction(i api.Interaction) ([]byte, error) { return marshal(i) }

// IsOutcome reports whether an event is the bare fact of what an effect came to.
func IsOutcome(e Event) bool {
	switch e.(type) {
	case ModelFinished, ModelFailed, ToolFinished, ToolReturned, ToolLate, ReviewFinished, CompactionFinished, CompactionFailed:
		return true
	}
	return false
}
