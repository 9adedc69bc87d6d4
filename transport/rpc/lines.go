package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// Bounds of the connection, in bytes. All are inclusive.
const (
	MaxFrameBytes   = 1 << 20   // a line, without its newline (FA2)
	MaxMessageBytes = 128 << 20 // a message of several lines
	// MaxMembers bounds the messages of a batch: each costs many times its bytes.
	MaxMembers = 16_384
	// maxOpen bounds the messages of several lines that have begun and not ended.
	maxOpen = 64
	// maxID bounds an ID that a refusal is told under, so that it fits a line.
	maxID = 1 << 10
	// partBytes is how much of a message goes into one line: as a string in JSON each byte becomes six at worst.
	partBytes = (MaxFrameBytes - 512) / 6
)

// Part is a line that holds a piece of a message that does not fit one: the parameters of rpc/part. The pieces, in the order
// of the lines, are the message's JSON. They are cut between characters.
type Part struct {
	Message string `json:"message"` // any name of at most 64 bytes that the message has alone while it is under way
	Data    string `json:"data"`
	Last    bool   `json:"last,omitempty"`
}

// Lines is a connection's channel: JSON values, each a line or several. It may be sent on by any number of goroutines, and
// received from by one. What cannot be a message is answered here, and never received; but an answer that cannot be read is
// received as the error [Unread], since somebody waits for it, and so is one in another form.
type Lines struct {
	in *bufio.Reader
	outbox

	open  map[string]*bytes.Buffer // messages under way
	whole int                      // their bytes
	limit int                      // bounds whole
	ended bool                     // the last line was read, and may be half a one
}

// NewLines makes a channel. Whatever is sent is written by a goroutine of its own; Close ends it.
func NewLines(in io.Reader, out io.Writer) *Lines {
	l := &Lines{in: bufio.NewReaderSize(in, 64<<10), open: map[string]*bytes.Buffer{}, limit: MaxMessageBytes}
	l.outbox.begin(out)
	return l
}

// Recv returns the next message. Errors are of the reader: io.EOF at the end, where half a line is nothing.
func (l *Lines) Recv() ([]byte, error) {
	for {
		line, long, err := l.line()
		switch {
		case err != nil:
			return nil, err
		case long > 0:
			if message := l.unread(answered(line), idOf(line), api.CodeFrameTooLarge, 0, "a line of %d bytes; at most %d go into one: send longer messages as several lines of %s", long, MaxFrameBytes, MethodPart); message != nil {
				return message, nil
			}
			continue
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		if message := l.message(line); message != nil {
			return formed(message), nil
		}
	}
}

// line reads a line. One that is too long is read over: long is its length, and line its beginning.
func (l *Lines) line() (line []byte, long int, err error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		if n := len(line) + len(piece); long == 0 && (n <= MaxFrameBytes || n == MaxFrameBytes+1 && piece[len(piece)-1] == '\n') {
			line = append(line, piece...)
		} else {
			if long == 0 {
				long = len(line)
			}
			long += len(piece)
		}
		switch {
		case err == nil && long > 0:
			return line, long - 1, nil
		case err == nil:
			return line[:len(line)-1], 0, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			// The last line need not end; half of one is no JSON, and is refused as such.
			if l.ended = true; errors.Is(err, io.EOF) && (len(line) > 0 || long > 0) {
				return line, long, nil
			}
			return nil, 0, err
		}
	}
}

// message is what a line holds, or, of the last line of several, what they hold together; nil if there is none.
func (l *Lines) message(line []byte) []byte {
	switch {
	case !utf8.Valid(line):
		return l.unread(answered(line), nil, api.CodeInvalidRequest, jrpc2.ParseError, "a line is not UTF-8")
	case !json.Valid(line):
		return l.unread(answered(line), nil, api.CodeInvalidRequest, jrpc2.ParseError, "a line is not JSON; each message is one JSON object, on one line")
	}
	params, is := partOf(line)
	if !is {
		return l.bounded(line)
	}
	var part Part
	if err := json.Unmarshal(params, &part); err != nil || part.Message == "" || len(part.Message) > 64 {
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.InvalidRequest, "a line of %s needs a message, a name of 1 to 64 bytes, and data, a string", MethodPart)
		return nil
	}
	return l.join(part)
}

// bounded is a message, unless it is a batch of too many.
func (l *Lines) bounded(message []byte) []byte {
	if isBatch(message) && crowded(message) {
		return l.unread(answered(message), nil, api.CodeInvalidRequest, jrpc2.InvalidRequest, "a batch has more than %d messages; send them in several, or one by one", MaxMembers)
	}
	return message
}

// crowded reports whether a batch has too many members. It makes nothing of them.
func crowded(batch []byte) bool {
	n := 0
	for range membersOf(batch) {
		if n++; n > MaxMembers {
			return true
		}
	}
	return false
}

// partOf are the parameters of a line that is a part.
func partOf(line []byte) (params json.RawMessage, is bool) {
	// A cheap look first: most lines are none. Some writers escape the slash.
	if !bytes.Contains(line, []byte(`part"`)) {
		return nil, false
	}
	var p struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(line, &p) != nil || p.Method != MethodPart {
		return nil, false
	}
	return p.Params, true
}

// join adds a part to its message, and returns that if it was the last.
func (l *Lines) join(part Part) []byte {
	buffer := l.open[part.Message]
	switch {
	case buffer == nil && len(l.open) == maxOpen:
		return l.unread(answeredSoFar([]byte(part.Data)), nil, api.CodeFrameTooLarge, 0, "%d messages of several lines are under way; end one before another begins", maxOpen)
	case buffer == nil:
		buffer = &bytes.Buffer{}
		l.open[part.Message] = buffer
	}
	if l.whole+len(part.Data) > l.limit {
		size := buffer.Len() + len(part.Data)
		l.whole -= buffer.Len()
		delete(l.open, part.Message)
		return l.unread(answeredSoFar(buffer.Bytes()), idOf(buffer.Bytes()), api.CodeFrameTooLarge, 0, "a message of several lines has %d bytes so far, and those under way may have %d together; it was given up", size, l.limit)
	}
	l.whole += len(part.Data)
	buffer.WriteString(part.Data)
	if !part.Last {
		return nil
	}
	delete(l.open, part.Message)
	l.whole -= buffer.Len()
	if !json.Valid(buffer.Bytes()) {
		return l.unread(answered(buffer.Bytes()), nil, api.CodeInvalidRequest, jrpc2.ParseError, "a message of several lines is not JSON")
	}
	if _, nested := partOf(buffer.Bytes()); nested {
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.InvalidRequest, "a message of several lines is itself a line of %s; cut the message itself", MethodPart)
		return nil
	}
	return l.bounded(buffer.Bytes())
}

// unread refuses what cannot be read under an ID. Where it has answers, the calls that wait for them are told as well: the error
// [Unread] is received in the place of each. Who sent it is told without an ID then, since a request of its own may have that one.
func (l *Lines) unread(calls []json.RawMessage, id json.RawMessage, code api.Code, number jrpc2.Code, format string, args ...any) []byte {
	if len(calls) == 0 || l.ended { // at the end it may only not have been written in full
		l.refuse(id, code, number, format, args...)
		return nil
	}
	told := calls[0]
	if len(calls) > 1 {
		told = fmt.Appendf(nil, "%s and %d more", told, len(calls)-1)
	}
	l.refuse(nil, code, number, "the answer to %s cannot be read: "+format, append([]any{told}, args...)...)
	why := wireError(Unread, api.Errorf(code, "the answer came and cannot be read: "+format, args...))
	for i, call := range calls {
		calls[i] = errorLine(call, why)
	}
	return batchOf(calls)
}

// refuse answers what is no message. number 0 is the code's own.
func (l *Lines) refuse(id json.RawMessage, code api.Code, number jrpc2.Code, format string, args ...any) {
	if number == 0 {
		number = jrpc2.Code(numbers[code])
	}
	_ = l.queue(errorLine(id, wireError(number, api.Errorf(code, format, args...)))) // a peer that is gone need not be told
}

func errorLine(id json.RawMessage, e *jrpc2.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, _ := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jrpc2.Error    `json:"error"`
	}{jrpc2.Version, id, e}) // all of it can be written
	return line
}

// Refuse answers a message that has no id.
func (l *Lines) Refuse(err error) {
	l.refuse(nil, api.CodeOf(err), jrpc2.InvalidRequest, "%s", api.AsError(err).Message)
}

// idOf finds the id in a message that may be cut off; nil if it is not there, is none, or is too long to be told.
func idOf(message []byte) json.RawMessage { return tellable(fieldOf(message, "id")) }

func tellable(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > maxID || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id
}

// fieldOf finds a field of a JSON object that may be cut off behind it.
func fieldOf(message []byte, name string) json.RawMessage {
	for of, value := range fieldsOf(message) {
		if string(of) == name {
			return value
		}
	}
	return nil
}
