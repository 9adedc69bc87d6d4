package openaichat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

var (
	errLineTooLong   = errors.New("a line or event of the stream is larger than 16 MiB")
	errStreamTooLong = errors.New("the stream is larger than 512 MiB")
	errAnswerTooLong = errors.New("the answer is larger than 16 MiB")
)

// events reads server-sent events. It takes what servers really send: lines that end in LF or CRLF, "data:" with
// or without a space, several data lines, events without a blank line between them, a bare JSON object where
// an event should be, a last event without a line break. It never holds more than maxLineBytes.
type events struct {
	r       *bufio.Reader
	line    []byte // a line that did not fit the reader's buffer
	data    []byte // of the event so far
	held    []byte // a data line that belongs to the next event
	hasHeld bool
	total   int
}

// next returns the data of the next event; it is valid until the call after. io.EOF says that the body ended
// in order; any other error that it did not.
func (e *events) next() ([]byte, error) {
	pending := e.hasHeld
	e.data, e.hasHeld = append(e.data[:0], e.held...), false
	e.held = e.held[:0]
	for {
		line, err := e.readLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		if value, ok := dataOf(line); ok {
			// What is whole already is handed out before another data line is joined to it.
			if pending && complete(e.data) {
				e.held, e.hasHeld = append(e.held, value...), true
				return e.data, nil
			}
			if len(e.data)+len(value) > maxLineBytes {
				return nil, errLineTooLong
			}
			if pending {
				e.data = append(e.data, '\n')
			}
			e.data, pending = append(e.data, value...), true
		}
		switch ended := err != nil; {
		case pending && (ended || len(line) == 0):
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

func complete(data []byte) bool {
	data = bytes.TrimSpace(data)
	return string(data) == "[DONE]" || len(data) > 0 && data[len(data)-1] == '}' && json.Valid(data)
}

// readLine returns a line without its end, with io.EOF when it was the last.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if e.total += len(part); e.total > maxStreamBytes {
			return nil, errStreamTooLong
		}
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
