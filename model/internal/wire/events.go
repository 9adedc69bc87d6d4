package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// MaxLineBytes bounds a line and an event of a stream. What is over it is kind malformed.
const MaxLineBytes = 16 << 20

// ErrLineTooLong says that MaxLineBytes were exceeded.
const ErrLineTooLong = Excess("a line or event of the stream is larger than 16 MiB")

var doneMark = []byte("[DONE]")

// Events reads server-sent events, for adapters without an SDK, or whose SDK does not read them faithfully. It takes what servers
// really send: lines that end in LF or CRLF, "data:" with or without a space, several data lines, events without
// a blank line between them, a bare JSON object where an event should be (on one line or on several), a last
// event without a line break. It never holds more than MaxLineBytes. It is not for concurrent use.
type Events struct {
	r       *bufio.Reader
	line    []byte // a line that did not fit the reader's buffer
	data    []byte // of the event so far
	held    []byte // a data line that belongs to the next event
	hasHeld bool
	opens   bool // what is held begins a bare object of several lines
}

// NewEvents reads from a body; a bufio.Reader with a buffer of 16 KiB is used as it is.
func NewEvents(body io.Reader) *Events { return &Events{r: bufio.NewReaderSize(body, 16<<10)} }

// Next returns the data of the next event; it is valid until the call after. io.EOF says that the body ended
// in order; any other error that it did not.
func (e *Events) Next() ([]byte, error) {
	e.data = append(e.data[:0], e.held...)
	begun, single := e.hasHeld, e.hasHeld // there is data; it is of one line
	bare := e.opens                       // the lines that follow belong to a bare object
	e.held, e.hasHeld, e.opens = e.held[:0], false, false
	for {
		line, err := e.readLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		value, isData := dataOf(line)
		switch goesOn := bare && !isData && len(line) > 0; {
		case isData && begun && (bare || single && complete(e.data)):
			// An event that is whole is handed out before a line is joined to it. Only the first line is looked
			// at, or an event of many lines would be read over and over.
			e.held, e.hasHeld, e.opens = append(e.held, value...), true, opens(line)
			return e.data, nil
		case isData, goesOn:
			if goesOn {
				value = line
			}
			if len(e.data)+len(value) > MaxLineBytes {
				return nil, ErrLineTooLong
			}
			if begun {
				e.data = append(e.data, '\n')
			}
			bare = bare || !begun && opens(line)
			single, begun = !begun, true
			e.data = append(e.data, value...)
		}
		switch ended := err != nil; {
		case begun && (ended || len(line) == 0):
			return e.data, nil
		case ended:
			return nil, io.EOF
		}
	}
}

// isBare reports whether a line is or begins a JSON object that stands where an event should.
func isBare(line []byte) bool { return len(line) > 0 && line[0] == '{' }

// opens reports whether such an object goes on in the lines that follow.
func opens(line []byte) bool { return isBare(line) && !complete(line) }

// dataOf is the value of a data line. Comments and the fields event, id and retry carry nothing for us.
func dataOf(line []byte) ([]byte, bool) {
	if isBare(line) {
		return line, true
	}
	value, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil, false
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// complete reports whether data is an event for itself.
func complete(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return false
	}
	switch data[len(data)-1] {
	case ']':
		return bytes.Equal(data, doneMark)
	case '}':
		return json.Valid(data)
	}
	return false
}

// readLine returns a line without its end, with io.EOF when it was the last.
func (e *Events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if err == nil && len(e.line) == 0 {
			return trimEnd(part), nil
		}
		if len(e.line)+len(part) > MaxLineBytes {
			return nil, ErrLineTooLong
		}
		e.line = append(e.line, part...)
		if err != bufio.ErrBufferFull {
			return trimEnd(e.line), err
		}
	}
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	return bytes.TrimPrefix(line, []byte("\ufeff"))
}
