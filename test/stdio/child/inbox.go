package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openworkerai/openworker/transport/rpc"
)

// Message is a message of the runtime's.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
	// Raw is all of it, and Lines how many it came in.
	Raw   json.RawMessage `json:"-"`
	Lines int             `json:"-"`
	// Batch are the answers to a batch, and then nothing else is set but Raw and Lines.
	Batch []Message `json:"-"`
}

// Error is an error of the protocol.
type Error struct {
	Code    int           `json:"code"`
	Message string        `json:"message"`
	Data    rpc.ErrorData `json:"data"`
}

// UnmarshalJSON passes over data that is not in our form: what is no request is refused without it.
func (e *Error) UnmarshalJSON(data []byte) error {
	var raw struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*e = Error{Code: raw.Code, Message: raw.Message}
	_ = json.Unmarshal(raw.Data, &e.Data) // of another form: none
	return nil
}

// batchKey is where the answers to batches are kept.
const batchKey = "[]"

// inbox holds what has come and was not asked for: answers by their ID as it is written, requests by their method.
type inbox struct {
	mu      sync.Mutex
	came    *sync.Cond
	answers map[string][]Message
	calls   map[string][]Message
	over    bool // nothing comes any more
	cut     bool // the last line may be half a one
	total   int
	bytes   int
	names   int
	faults  []string
	parts   map[string]*joined
}

type joined struct {
	data  bytes.Buffer
	lines int
}

func (b *inbox) init(cut bool) {
	b.cut = cut
	b.came = sync.NewCond(&b.mu)
	b.answers, b.calls, b.parts = map[string][]Message{}, map[string][]Message{}, map[string]*joined{}
}

func (b *inbox) name() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names++
	return "c" + strconv.Itoa(b.names)
}

// take reads lines to the end.
func (b *inbox) take(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		b.mu.Lock()
		switch {
		case err != nil && len(line) > 0 && b.cut:
		case err != nil && len(line) > 0:
			b.fault("the last line does not end: %.200q", line)
		case err == nil:
			b.line(line[:len(line)-1])
		}
		b.over = err != nil
		b.came.Broadcast()
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (b *inbox) fault(format string, args ...any) {
	if len(b.faults) < 10 {
		b.faults = append(b.faults, fmt.Sprintf(format, args...))
	}
}

// line files a line. The lock is held.
func (b *inbox) line(line []byte) {
	b.total++
	b.bytes += len(line) + 1
	switch {
	case len(line) > rpc.MaxFrameBytes:
		b.fault("a line has %d bytes: %.200s", len(line), line)
	case !utf8.Valid(line):
		b.fault("a line is not UTF-8: %.200q", line)
	case !json.Valid(line):
		b.fault("a line is not JSON: %.200q", line)
		return
	}
	b.file(line, 1)
}

// file puts a message where it is asked for.
func (b *inbox) file(raw json.RawMessage, lines int) {
	if raw[0] == '[' {
		m := Message{Raw: raw, Lines: lines}
		var raws []json.RawMessage
		_ = json.Unmarshal(raw, &raws) // it is valid
		for _, one := range raws {
			m.Batch = append(m.Batch, b.message(one, lines))
		}
		b.answers[batchKey] = append(b.answers[batchKey], m)
		return
	}
	m := b.message(raw, lines)
	switch {
	case m.Method == rpc.MethodPart && lines > 1:
		b.fault("a part is in parts: %.200s", raw)
	case m.Method == rpc.MethodPart:
		b.part(m.Params)
	case m.Method != "":
		b.calls[m.Method] = append(b.calls[m.Method], m)
	default:
		b.answers[string(m.ID)] = append(b.answers[string(m.ID)], m)
	}
}

func (b *inbox) message(raw json.RawMessage, lines int) Message {
	m := Message{Raw: raw, Lines: lines}
	var version struct {
		Version string `json:"jsonrpc"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		b.fault("a message cannot be read: %v: %.200s", err, raw)
	}
	if _ = json.Unmarshal(raw, &version); version.Version != "2.0" {
		b.fault("a message is not of JSON-RPC 2.0: %.200s", raw)
	}
	if m.Method == "" && (m.Result == nil) == (m.Error == nil) {
		b.fault("an answer has not one of result and error: %.200s", raw)
	}
	if m.ID == nil {
		m.ID = json.RawMessage("null")
	}
	return m
}

func (b *inbox) part(params json.RawMessage) {
	var p rpc.Part
	if err := json.Unmarshal(params, &p); err != nil || p.Message == "" {
		b.fault("a part cannot be read: %.200s", params)
		return
	}
	j := b.parts[p.Message]
	if j == nil {
		j = &joined{}
		b.parts[p.Message] = j
	}
	j.data.WriteString(p.Data)
	j.lines++
	if !p.Last {
		return
	}
	delete(b.parts, p.Message)
	whole := j.data.Bytes()
	if !json.Valid(whole) {
		b.fault("%d parts do not join to JSON: %.200q", j.lines, whole)
		return
	}
	b.file(whole, j.lines)
}

// Answer waits for the answer to the request of an ID, as it stands in JSON: `"c1"`, `7`, or null for what had none.
func (r *Runtime) Answer(id string) Message {
	r.t.Helper()
	return r.AnswerOf(id)
}

// AnswerOf waits for the answer to one of several requests.
func (r *Runtime) AnswerOf(ids ...string) Message {
	r.t.Helper()
	return r.await(func() map[string][]Message { return r.answers }, ids)
}

// Batch waits for the answers to a batch.
func (r *Runtime) Batch() []Message {
	r.t.Helper()
	return r.AnswerOf(batchKey).Batch
}

// Callback waits for a request or notification of the runtime's.
func (r *Runtime) Callback(method string) Message {
	r.t.Helper()
	return r.await(func() map[string][]Message { return r.calls }, []string{method})
}

// Next waits for a request of one of the methods, and where there is none for the answer to the request of an ID.
func (r *Runtime) Next(id string, methods ...string) Message {
	r.t.Helper()
	from := func() map[string][]Message {
		for _, method := range methods {
			if len(r.calls[method]) > 0 {
				return r.calls
			}
		}
		return r.answers
	}
	return r.await(from, append([]string{id}, methods...))
}

func (r *Runtime) await(from func() map[string][]Message, keys []string) Message {
	r.t.Helper()
	m, err := r.next(from, keys)
	if err != "" {
		r.t.Fatalf("%s\n%s", err, r.Stderr())
	}
	return m
}

func (b *inbox) next(from func() map[string][]Message, keys []string) (Message, string) {
	late := false
	timer := time.AfterFunc(Patience, func() {
		b.mu.Lock()
		late = true
		b.came.Broadcast()
		b.mu.Unlock()
	})
	defer timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for _, key := range keys {
			waiting := from()[key]
			if len(waiting) == 0 {
				continue
			}
			from()[key] = waiting[1:]
			if len(waiting) == 1 {
				delete(from(), key)
			}
			return waiting[0], ""
		}
		if b.over || late {
			return Message{}, fmt.Sprintf("nothing came for %.200q; %d lines have come, the output has ended: %v; there is %s", keys, b.total, b.over, b.left())
		}
		b.came.Wait()
	}
}

func (b *inbox) left() string {
	var keys []string
	for key, messages := range b.answers {
		keys = append(keys, fmt.Sprintf("%s (%.200s)", key, messages[0].Raw))
	}
	for key := range b.calls {
		keys = append(keys, key)
	}
	return strings.Join(keys[:min(len(keys), 10)], ", ")
}

// Left are the messages that nobody has asked for, and are not asked for any more.
func (r *Runtime) Left() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []Message
	for _, messages := range r.answers {
		left = append(left, messages...)
	}
	for _, messages := range r.calls {
		left = append(left, messages...)
	}
	r.answers, r.calls = map[string][]Message{}, map[string][]Message{}
	return left
}

// Bytes is how much has come so far.
func (r *Runtime) Bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}
