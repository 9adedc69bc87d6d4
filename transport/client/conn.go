package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// settle is how long the answer to a request that was given up is waited for.
const settle = 5 * time.Second

// callback answers a request of the runtime's.
type callback func(ctx context.Context, params json.RawMessage) (result any, err *jrpc2.Error)

// conn is the client's end of a connection. It is our own, and not jrpc2's, since that one hands messages on in any order, so
// that a callback's end could overtake it, and forgets a request that is given up, whose answer would tell what became of it.
type conn struct {
	lines     *rpc.Lines
	in, out   any // what is closed at the end
	log       *slog.Logger
	callbacks map[string]callback

	base context.Context // of callbacks
	stop context.CancelCauseFunc
	done chan struct{} // closed at the end

	mu      sync.Mutex
	ended   *api.Error // why, nil while it lasts
	last    int64
	pending map[string]*request           // by id
	running map[string]context.CancelFunc // callbacks by name
}

// request is one that is under way. done is closed when result or err is there.
type request struct {
	id     int64
	done   chan struct{}
	result json.RawMessage
	err    *api.Error
}

// message is a line from the runtime.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jrpc2.Error    `json:"error"`
}

func newConn(in io.Reader, out io.Writer, log *slog.Logger, callbacks map[string]callback) *conn {
	c := &conn{lines: rpc.NewLines(in, out), in: in, out: out, log: log, callbacks: callbacks, done: make(chan struct{}),
		pending: map[string]*request{}, running: map[string]context.CancelFunc{}}
	c.base, c.stop = context.WithCancelCause(context.Background())
	go c.read()
	go func() {
		select {
		case <-c.lines.Done(): // the runtime is gone, or reads no more
			c.end(errGone("it takes nothing any more"))
		case <-c.done:
		}
	}()
	return c
}

func errGone(why string) *api.Error {
	return api.Errorf(api.CodeRuntimeExited, "the runtime ended, or the connection to it broke (%s); open the same state again, and what was under way goes on", why)
}

// begin sends a request.
func (c *conn) begin(method string, params any) (*request, *api.Error) {
	c.mu.Lock()
	c.last++
	r := &request{id: c.last, done: make(chan struct{})}
	id := strconv.FormatInt(r.id, 10)
	ended := c.ended
	if ended == nil {
		c.pending[id] = r // before it is sent, since the answer may be quick
	}
	c.mu.Unlock()
	if ended != nil {
		return nil, ended
	}
	err := c.send(method, params, outgoing{ID: json.RawMessage(id), Method: method, Params: params})
	if err != nil {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		return nil, err
	}
	return r, nil
}

// outgoing is a line to the runtime. The fields that it has not are absent.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *jrpc2.Error    `json:"error,omitempty"`
}

// send sends a line. value is its payload, as what it is refused if it cannot be told in JSON.
func (c *conn) send(method string, value any, line outgoing) *api.Error {
	line.Version = jrpc2.Version
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(line)
	if flaw := flawOf(method, value, out.Bytes(), err); flaw != nil {
		return flaw
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(text) > rpc.MaxMessageBytes {
		return api.Errorf(api.CodeFrameTooLarge, "%s has %d bytes, and a message at most %d; send less at a time", method, len(text), rpc.MaxMessageBytes)
	}
	if err := c.lines.Send(text); err != nil {
		c.end(errGone(err.Error()))
		return c.why()
	}
	return nil
}

// giveUp tells the runtime that a request's answer is wanted at once.
func (c *conn) giveUp(r *request) {
	params := rpc.CancelRequest{ID: json.RawMessage(strconv.FormatInt(r.id, 10))}
	_ = c.send(rpc.MethodCancelRequest, params, outgoing{Method: rpc.MethodCancelRequest, Params: params}) // the runtime may be gone
}

// read takes what the runtime sends, in its order, until there is nothing more.
func (c *conn) read() {
	for {
		line, err := c.lines.Recv()
		if err != nil {
			c.end(errGone(err.Error()))
			return
		}
		var m message
		switch err := json.Unmarshal(line, &m); {
		case err != nil:
			c.log.Warn("the runtime sent what is no message", "error", err)
		case m.Method != "" && len(m.ID) > 0:
			c.called(m)
		case m.Method == rpc.MethodCancelCallback:
			c.cancelled(m.Params)
		case m.Method != "":
			c.log.Debug("the runtime sent a notification that this client does not know", "method", m.Method)
		case m.Error != nil && (len(m.ID) == 0 || string(m.ID) == "null"):
			// Whose answer it is cannot be told, so that somebody would wait for ever.
			c.end(api.Errorf(api.CodeInternal, "the runtime could not read a message of this client: %s", m.Error.Message))
		default:
			c.answered(m)
		}
	}
}

func (c *conn) answered(m message) {
	c.mu.Lock()
	r := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if r == nil {
		return
	}
	if m.Error != nil {
		r.err = rpc.FromError(m.Error)
	}
	r.result = m.Result
	close(r.done)
}

// called runs a callback, beside all others. It is known by its name before the next line is read.
func (c *conn) called(m message) {
	var named rpc.Callback
	_ = json.Unmarshal(m.Params, &named) // without a name it cannot be cancelled
	ctx, cancel := context.WithCancel(c.base)
	c.mu.Lock()
	c.running[named.Callback] = cancel
	c.mu.Unlock()
	go func() {
		answer := outgoing{ID: m.ID, Error: rpc.ToError(api.Errorf(api.CodeInternal, "it ended its goroutine"))}
		defer func() { // runtime.Goexit lets nothing run but what is deferred
			c.mu.Lock()
			delete(c.running, named.Callback)
			c.mu.Unlock()
			cancel()
			if err := c.send(m.Method, answer.Result, answer); err != nil && err.Code != api.CodeRuntimeExited && err.Code != api.CodeClosed {
				_ = c.send(m.Method, nil, outgoing{ID: m.ID, Error: rpc.ToError(err)}) // an error can be written
			}
		}()
		run, ok := c.callbacks[m.Method]
		if !ok {
			answer.Error = rpc.ToError(api.Errorf(api.CodeInvalidRequest, "there is no method %.80q in version %d of the protocol", m.Method, rpc.Version))
			answer.Error.Code = jrpc2.MethodNotFound
			return
		}
		result, err := run(ctx, m.Params)
		answer.Result, answer.Error = result, err
		if err != nil {
			answer.Result = nil
		}
	}()
}

func (c *conn) cancelled(params json.RawMessage) {
	var named rpc.Callback
	if json.Unmarshal(params, &named) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.running[named.Callback]; cancel != nil {
		cancel()
	}
}

// end ends the connection: whoever waits has the error, and so has whoever comes later. The first one counts.
func (c *conn) end(err *api.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	c.ended = err
	for id, r := range c.pending {
		r.err = err
		close(r.done)
		delete(c.pending, id)
	}
	c.stop(err)
	_ = c.lines.Close() // it cannot fail
	close(c.done)
}

func (c *conn) why() *api.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// release closes both ways.
func (c *conn) release() {
	for _, end := range []any{c.out, c.in} {
		if closer, ok := end.(io.Closer); ok {
			_ = closer.Close() // nobody waits for anything from it
		}
	}
}
