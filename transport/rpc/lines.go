package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// Bounds of the connection, in bytes. All are inclusive.
const (
	MaxFrameBytes   = 1 << 20   // a line, without its newline (FA2)
	MaxMessageBytes = 128 << 20 // a message of several lines
	// maxUnsent bounds what waits for a peer that does not read: then the connection is closed.
	maxUnsent = 2 * MaxMessageBytes
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

// ErrNotSent is the error of Send where the connection is closed, or its peer is gone or does not read.
var ErrNotSent = errors.New("the connection is closed")

// Lines is a connection's channel: JSON values, each a line or several. It may be sent on by any number of goroutines, and
// received from by one. What cannot be a message is answered here, and never received.
type Lines struct {
	in *bufio.Reader

	mu     sync.Mutex
	wake   *sync.Cond
	unsent [][]byte
	bytes  int
	sent   int // messages of several lines
	closed bool
	failed error // why nothing is written any more
	done   chan struct{}
	finish func() // closes done, once

	open  map[string]*bytes.Buffer // messages under way
	whole int                      // their bytes
	limit int                      // bounds whole
}

// NewLines makes a channel. Whatever is sent is written by a goroutine of its own, so that a peer that does not read holds
// nothing up; Close ends it.
func NewLines(in io.Reader, out io.Writer) *Lines {
	l := &Lines{in: bufio.NewReaderSize(in, 64<<10), done: make(chan struct{}), open: map[string]*bytes.Buffer{}, limit: MaxMessageBytes}
	l.finish = sync.OnceFunc(func() { close(l.done) })
	l.wake = sync.NewCond(&l.mu)
	go l.write(out)
	return l
}

// Send queues a message.
func (l *Lines) Send(message []byte) error {
	if len(message) <= MaxFrameBytes {
		return l.queue(message)
	}
	if len(message) > MaxMessageBytes {
		return l.queue(tooLong(message))
	}
	l.mu.Lock()
	l.sent++
	name := fmt.Sprintf("m%d", l.sent)
	l.mu.Unlock()
	for rest := message; len(rest) > 0; {
		n := min(partBytes, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		line, err := encode(struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  Part   `json:"params"`
		}{jrpc2.Version, MethodPart, Part{Message: name, Data: string(rest[:n]), Last: n == len(rest)}})
		if err != nil {
			return err
		}
		if err := l.queue(line); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// encode writes JSON as it is, without the escapes that HTML wants.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// tooLong is what is sent instead of a message that is over all bounds: an answer is the error, and a request, which nobody
// could answer, goes as one without parameters.
func tooLong(message []byte) []byte {
	id := idOf(message)
	if method := fieldOf(message, "method"); method != nil {
		line, _ := encode(map[string]any{"jsonrpc": jrpc2.Version, "id": id, "method": method})
		return line
	}
	return errorLine(id, wireError(jrpc2.Code(numbers[api.CodeFrameTooLarge]), api.Errorf(api.CodeFrameTooLarge,
		"the answer has %d bytes, and a message at most %d; ask for less at a time", len(message), MaxMessageBytes)))
}

func (l *Lines) queue(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failed != nil:
		return l.failed
	case l.closed:
		return ErrNotSent
	case l.bytes+len(line) > maxUnsent:
		l.failed = fmt.Errorf("%w: the peer does not read: %d bytes wait for it", ErrNotSent, l.bytes)
		l.unsent = nil
		l.finish() // the writer may never come back
		l.wake.Signal()
		return l.failed
	}
	l.unsent, l.bytes = append(l.unsent, line), l.bytes+len(line)
	l.wake.Signal()
	return nil
}

// write writes what is queued, and what has come together meanwhile in one go.
func (l *Lines) write(out io.Writer) {
	defer l.finish()
	buffer := bufio.NewWriterSize(out, 64<<10)
	var lines [][]byte
	for {
		l.mu.Lock()
		for len(l.unsent) == 0 && !l.closed && l.failed == nil {
			l.wake.Wait()
		}
		if l.failed != nil || len(l.unsent) == 0 {
			l.unsent = nil
			l.mu.Unlock()
			return
		}
		lines, l.unsent = l.unsent, lines[:0]
		l.bytes = 0
		l.mu.Unlock()
		var err error
		for i, line := range lines {
			_, _ = buffer.Write(line) // what fails here fails at Flush
			err = buffer.WriteByte('\n')
			lines[i] = nil
		}
		if err == nil {
			err = buffer.Flush()
		}
		if err != nil {
			l.mu.Lock()
			l.failed, l.unsent = fmt.Errorf("%w: %w", ErrNotSent, err), nil
			l.mu.Unlock()
			return
		}
	}
}

// Flush waits until what is queued is written, the connection has failed or stop ends.
func (l *Lines) Flush(stop <-chan struct{}) {
	_ = l.Close() // it cannot fail
	select {
	case <-l.done:
	case <-stop:
	}
}

// Done is closed when nothing is written any more: behind Close, or when the peer is gone or does not read.
func (l *Lines) Done() <-chan struct{} { return l.done }

// Close ends the sending, behind what is queued.
func (l *Lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Signal()
	return nil
}

// Recv returns the next message. Errors are of the reader: io.EOF at the end, where half a line is nothing.
func (l *Lines) Recv() ([]byte, error) {
	for {
		line, long, err := l.line()
		switch {
		case err != nil:
			return nil, err
		case long > 0:
			l.refuse(idOf(line), api.CodeFrameTooLarge, 0, "a line of %d bytes; at most %d go into one: send longer messages as several lines of %s", long, MaxFrameBytes, MethodPart)
			continue
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		message, ok := l.message(line)
		if ok {
			return message, nil
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
			if errors.Is(err, io.EOF) && (len(line) > 0 || long > 0) {
				return line, long, nil
			}
			return nil, 0, err
		}
	}
}

// message is what a line holds, or, of the last line of several, what they hold together.
func (l *Lines) message(line []byte) (message []byte, ok bool) {
	switch {
	case !utf8.Valid(line):
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.ParseError, "a line is not UTF-8")
		return nil, false
	case !json.Valid(line):
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.ParseError, "a line is not JSON; each message is one JSON object, on one line")
		return nil, false
	}
	params, is := partOf(line)
	if !is {
		return line, true
	}
	var part Part
	if err := json.Unmarshal(params, &part); err != nil || part.Message == "" || len(part.Message) > 64 {
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.InvalidRequest, "a line of %s needs a message, a name of 1 to 64 bytes, and data, a string", MethodPart)
		return nil, false
	}
	return l.join(part)
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

// join adds a part to its message.
func (l *Lines) join(part Part) (message []byte, ok bool) {
	buffer := l.open[part.Message]
	switch {
	case buffer == nil && len(l.open) == maxOpen:
		l.refuse(nil, api.CodeFrameTooLarge, 0, "%d messages of several lines are under way; end one before another begins", maxOpen)
		return nil, false
	case buffer == nil:
		buffer = &bytes.Buffer{}
		l.open[part.Message] = buffer
	}
	if l.whole+len(part.Data) > l.limit {
		size := buffer.Len() + len(part.Data)
		l.whole -= buffer.Len()
		delete(l.open, part.Message)
		l.refuse(idOf(buffer.Bytes()), api.CodeFrameTooLarge, 0, "a message of several lines has %d bytes so far, and those under way may have %d together; it was given up", size, l.limit)
		return nil, false
	}
	l.whole += len(part.Data)
	buffer.WriteString(part.Data)
	if !part.Last {
		return nil, false
	}
	delete(l.open, part.Message)
	l.whole -= buffer.Len()
	if !json.Valid(buffer.Bytes()) {
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.ParseError, "a message of several lines is not JSON")
		return nil, false
	}
	if _, nested := partOf(buffer.Bytes()); nested {
		l.refuse(nil, api.CodeInvalidRequest, jrpc2.InvalidRequest, "a message of several lines is itself a line of %s; cut the message itself", MethodPart)
		return nil, false
	}
	return buffer.Bytes(), true
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
func idOf(message []byte) json.RawMessage {
	id := fieldOf(message, "id")
	if len(id) == 0 || len(id) > maxID || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id
}

// fieldOf finds a field of a JSON object that may be cut off behind it.
func fieldOf(message []byte, name string) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(message))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if in.Decode(&value) != nil {
			return nil
		}
		if key == name {
			return value
		}
	}
	return nil
}
