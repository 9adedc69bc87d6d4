package openaichat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/openworkerai/openworker/model/internal/wire"
)

const errLineTooLong = wire.Excess("a line or event of the stream is larger than 16 MiB")

var doneMark = []byte("[DONE]")

// events reads server-sent events. It takes what servers really send: lines that end in LF or CRLF, "data:" with
// or without a space, several data lines, events without a blank line between them, a bare JSON object where
// an event should be, a last event without a line break. It never holds more than maxLineBytes.
type events struct {
	r       *bufio.Reader
	line    []byte // a line that did not fit the reader's buffer
	data    []byte // of the event so far
	held    []byte // a data line that belongs to the next event
	hasHeld bool
}

// next returns the data of the next event; it is valid until the call after. io.EOF says that the body ended
// in order; any other error that it did not.
func (e *events) next() ([]byte, error) {
	lines := 0 // data lines of this event
	if e.data = append(e.data[:0], e.held...); e.hasHeld {
		lines = 1
	}
	e.held, e.hasHeld = e.held[:0], false
	for {
		line, err := e.readLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		if value, ok := dataOf(line); ok {
			// A line that is whole is handed out before another is joined to it. Only the first is looked at, or
			// an event of many lines would be read over and over.
			if lines == 1 && complete(e.data) {
				e.held, e.hasHeld = append(e.held, value...), true
				return e.data, nil
			}
			if len(e.data)+len(value) > maxLineBytes {
				return nil, errLineTooLong
			}
			if lines > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
			lines++
		}
		switch ended := err != nil; {
		case lines > 0 && (ended || len(line) == 0):
			return e.data, nil
		case ended:
			return nil, io.EOF
		}
	}
}

// dataOf is the value of a data line. Comments and the fields event, id and retry carry nothing for us.
func dataOf(line []byte) ([]byte, bool) {
	if len(line) > 0 && line[0] == '{' {
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
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if err == nil && len(e.line) == 0 {
			return trimEnd(part), nil
		}
		if len(e.line)+len(part) > maxLineBytes {
			return nil, errLineTooLong
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
