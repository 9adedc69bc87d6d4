package stdio

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Host is what a runtime runs sessions with.
type Host interface {
	api.Service
	Bind(tools ...tool.Tool) error
	BindGuards(guardrails []guard.Guardrail, hooks []guard.Hook) error
	// ResultWhen is Result, made when ready has returned, which is called once the run has ended or waits, and perhaps again.
	ResultWhen(ctx context.Context, session, run string, ready func(ctx context.Context) error) (api.Result, error)
	// Quiesce tells what runs to stop, and begins nothing more; requests are answered until Close.
	Quiesce()
	Close(ctx context.Context) error
}

// Setup is what a client wants its host to be made of.
type Setup struct {
	rpc.Initialize
	// Secrets are the credentials with the sources memory and callback, nil with the others, which are the host's to read.
	Secrets Credentials
	// Deny is the client's hard check, nil if it has none.
	Deny guard.Deny
}

// Credentials give secrets for providers (RE5).
type Credentials interface {
	Credential(ctx context.Context, provider string) (secret string, ok bool, err error)
}

// Config configures Serve.
type Config struct {
	// Open makes the host, once a connection. Its error is the answer to initialize, after which the client may try again.
	Open func(ctx context.Context, setup Setup) (Host, error)
	// Version is told to clients.
	Version string
	// Logger gets what nobody is there to be told. Defaults to none.
	Logger *slog.Logger
	// Grace bounds the end: what is read is answered, and the host stops. Defaults to 5 s.
	Grace time.Duration
}

// Bounds of a connection.
const (
	maxRequests      = 16_384 // under way at once; more are refused with queue_full
	maxSubscriptions = 1_024
)

// Serve speaks to one client until its input ends, ctx does, or it is gone. The host is closed then. An error is one of the
// input or of closing the host; or the client was given up: it reads nothing (closed), or leaves too many callbacks without an
// answer (invalid_request).
func Serve(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Grace <= 0 {
		cfg.Grace = api.DefaultCancelGrace
	}
	c := &conn{cfg: cfg, lines: rpc.NewLines(in, out), subscriptions: map[string]*subscription{}, cancels: map[string]context.CancelFunc{}, posts: map[string]*post{}, hostClosed: make(chan struct{}), lists: make(chan struct{}, maxMade), results: make(chan struct{}, maxMade), broken: make(chan error, 1), idle: make(chan struct{}, 1), seen: make(chan struct{}, 1), stopped: make(chan struct{})}
	c.waits, c.endWaits = context.WithCancel(context.WithoutCancel(ctx))
	c.peer, c.lose = context.WithCancel(context.WithoutCancel(ctx))
	c.end = sync.OnceValue(func() time.Time { return time.Now().Add(cfg.Grace) })
	c.mark = "rpc/end " + rand.Text()
	c.quiet = make(chan struct{})
	c.quieted = sync.OnceFunc(func() { close(c.quiet) })
	c.stop = sync.OnceFunc(func() { close(c.stopped) })
	c.methods = c.handlers()
	c.server = jrpc2.NewServer(c, &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 4 * maxRequests, NewContext: func() context.Context { return context.WithoutCancel(ctx) }})
	source := &input{Lines: c.lines, conn: c, messages: make(chan []byte)}
	go source.read()
	c.server.Start(source)
	ended := make(chan struct{})
	var waited, failed error
	go func() {
		defer close(ended)
		waited = c.server.Wait()
	}()
	select {
	case <-ended:
		failed = waited
	case <-c.lines.Done(): // nobody reads what is written
		failed = c.lines.Stalled()
		c.giveUp(failed)
	case failed = <-c.broken:
		c.giveUp(failed)
	case <-ctx.Done(): // the client is there, and may answer still
	}
	end := c.end()
	stopping, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	last, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(closeTime))
	defer cancel()
	if err := c.closeHost(last, end); err != nil && api.CodeOf(err) != api.CodeClosed && failed == nil {
		failed = err
	}
	c.lose()
	c.stop()
	select {
	case <-ended:
	case <-last.Done():
	}
	c.lines.Flush(stopping.Done())
	return failed
}

// closeTime is what the host gets beyond the grace to give back what it holds.
const closeTime = time.Second

// errClosing is why requests end that the connection does not outlive.
var errClosing = api.Errorf(api.CodeClosed, "the runtime is stopping; start it again on the same state directory, and what was under way goes on")

// conn is one connection.
type conn struct {
	cfg     Config
	lines   *rpc.Lines
	server  *jrpc2.Server
	methods map[string]jrpc2.Handler

	waits    context.Context // of what waits for long; ends when the connection does
	endWaits context.CancelFunc
	peer     context.Context // ends when the client can answer nothing any more
	lose     context.CancelFunc
	stopped  chan struct{} // closed by stop, when nothing more is to be received
	stop     func()
	quiet    chan struct{} // closed by quieted, when the host has told everything to stop that it runs
	quieted  func()
	end      func() time.Time // by when all is over, from the first sign of the end
	mark     string           // the method behind the last message, which no client can name

	closing    sync.Once
	hostClosed chan struct{}
	closeErr   error

	opening sync.Mutex
	host    atomic.Pointer[Host]
	memory  atomic.Pointer[secrets] // nil where they are not in memory
	doubles atomic.Bool             // the client's numbers are

	requests atomic.Int64
	idle     chan struct{} // a hint that requests may be 0
	seen     chan struct{} // the mark behind the last message was dispatched
	lists    chan struct{} // one for each list that is made
	results  chan struct{} // one for each result of a run
	broken   chan error    // why the connection is ended though the client is there

	mu            sync.Mutex
	initializing  chan struct{} // closed when the newest initialize is answered, nil before the first
	subscriptions map[string]*subscription
	cancels       map[string]context.CancelFunc // of requests under way, by their ID
	posts         map[string]*post              // callbacks under way, by name
	owed          int                           // those of them that were given up
	quieting      bool                          // the host tells everything to stop that it runs
	numbers       int64                         // of subscriptions and callbacks
	closed        bool
}

// input is the lines with what is done at their end: what was read before is answered first.
type input struct {
	*rpc.Lines
	conn     *conn
	messages chan []byte
	failed   error // why messages was closed
	ended    error
}

// read receives in a goroutine of its own, since a reader may never come back.
func (i *input) read() {
	defer close(i.messages)
	for {
		message, err := i.Lines.Recv()
		if err != nil {
			i.failed = err
			return
		}
		select {
		case i.messages <- message:
		case <-i.conn.stopped:
			i.failed = io.EOF
			return
		}
	}
}

// Recv returns the next message. It ends the server by an error alone: one that is stopped while it receives panics at the
// next message.
func (i *input) Recv() ([]byte, error) {
	if i.ended != nil {
		i.conn.drain()
		return nil, i.ended
	}
	select {
	case message, more := <-i.messages:
		if more {
			return message, nil
		}
		i.ended = i.failed
	case <-i.conn.stopped:
		i.ended = io.EOF
	}
	return []byte(`{"jsonrpc":"2.0","method":"` + i.conn.mark + `"}`), nil // so that whatever came before it is counted
}

// Close leaves the lines open: answers may be on their way still, and Serve closes them.
func (i *input) Close() error { return nil }

// drainTime bounds how long what was read is worked on once the input has ended: it is mostly a commit.
const drainTime = 2 * time.Second

// drain waits until what was read is answered. What waits for something is told that the end has come. Answers of the client's
// that were read have been delivered by now, but may not have been heard: nothing is given up for them before what runs is
// told to stop.
func (c *conn) drain() {
	defer c.lose()
	grace := time.NewTimer(min(drainTime, time.Until(c.end())))
	defer grace.Stop()
	select {
	case <-c.seen:
	case <-grace.C:
		return
	}
	c.quiesce()
	c.lose()
	c.endWaits()
	for c.requests.Load() > 0 {
		select {
		case <-c.idle:
		case <-grace.C:
			return
		}
	}
}

// Assign counts a request from when its turn has come, which is in the order of the lines.
func (c *conn) Assign(ctx context.Context, method string) jrpc2.Handler {
	req := jrpc2.InboundRequest(ctx)
	switch {
	case method == c.mark && req.IsNotification():
		return func(context.Context, *jrpc2.Request) (any, error) {
			select {
			case c.seen <- struct{}{}:
			default:
			}
			return nil, nil
		}
	case method == rpc.MethodCancelRequest:
		return c.methods[method]
	case req.IsNotification():
		// One that waits would hold up everything behind it. An unknown one may be a newer client's, and is passed over.
		if c.methods[method] != nil || method == rpc.MethodPart {
			c.lines.Refuse(api.Errorf(api.CodeInvalidRequest, "%s came without an id, or in a batch; a request has an id, a string or a number, and a line of %s is one alone", method, rpc.MethodPart))
		}
		return func(context.Context, *jrpc2.Request) (any, error) { return nil, nil }
	}
	handler := c.methods[method]
	if handler == nil {
		handler = noMethod
	}
	tooMany := c.requests.Add(1) > maxRequests
	ctx, cancel := context.WithCancel(ctx)
	id := req.ID()
	var answered chan struct{}
	c.mu.Lock()
	c.cancels[id] = cancel
	if method == rpc.MethodInitialize {
		answered = make(chan struct{})
		c.initializing = answered
	}
	c.mu.Unlock()
	return func(_ context.Context, req *jrpc2.Request) (result any, err error) {
		defer func() {
			if x := recover(); x != nil {
				c.cfg.Logger.Error("a request failed", "method", req.Method(), "panic", x, "stack", string(debug.Stack()))
				result, err = nil, rpc.ToError(api.Errorf(api.CodeInternal, "the request %s failed: %v", req.Method(), x))
			}
			c.mu.Lock()
			delete(c.cancels, id)
			c.mu.Unlock()
			cancel()
			if answered != nil {
				close(answered)
			}
			if c.requests.Add(-1) == 0 {
				select {
				case c.idle <- struct{}{}:
				default:
				}
			}
		}()
		if tooMany {
			return nil, rpc.ToError(api.Errorf(api.CodeQueueFull, "%d requests are under way in this connection; wait for some before you send more", maxRequests))
		}
		return handler(ctx, req)
	}
}

func noMethod(_ context.Context, req *jrpc2.Request) (any, error) {
	e := rpc.ToError(api.Errorf(api.CodeInvalidRequest, "there is no method %.80q in version %d of the protocol", req.Method(), rpc.Version))
	e.Code = jrpc2.MethodNotFound
	return nil, e
}

// opened is the host. What came behind an initialize that is under way waits for it.
func (c *conn) opened(ctx context.Context) (Host, error) {
	if h := c.host.Load(); h != nil {
		return *h, nil
	}
	c.mu.Lock()
	initializing := c.initializing
	c.mu.Unlock()
	if initializing != nil {
		select {
		case <-initializing:
		case <-ctx.Done():
			return nil, api.Errorf(api.CodeCancelled, "the request was given up: %w", context.Cause(ctx))
		}
		if h := c.host.Load(); h != nil {
			return *h, nil
		}
	}
	return nil, api.Errorf(api.CodeInvalidRequest, "the connection was not initialized; send %s first", rpc.MethodInitialize)
}

// initialize opens the host.
func (c *conn) initialize(ctx context.Context, p rpc.Initialize) (rpc.Initialized, error) {
	var none rpc.Initialized
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.host.Load() != nil {
		return none, api.Errorf(api.CodeInvalidRequest, "the connection was initialized already; a client says once what it is")
	}
	version := 0
	for _, v := range rpc.Versions() {
		for _, theirs := range p.ProtocolVersions {
			if v == theirs && version == 0 {
				version = v
			}
		}
	}
	if len(p.ProtocolVersions) == 0 {
		return none, api.Errorf(api.CodeInvalidRequest, "protocolVersions is empty; give those that the client speaks, for example [%d]", rpc.Version)
	}
	if version == 0 {
		return none, api.Errorf(api.CodeIncompatibleVersion, "the client speaks the versions %v of the protocol, and this runtime (%s) %v; install a client and a runtime that belong together", p.ProtocolVersions, c.cfg.Version, rpc.Versions())
	}
	c.doubles.Store(p.DoubleNumbers)
	setup := Setup{Initialize: p}
	if p.ActionCheck {
		setup.Deny = c.deny
	}
	var err error
	if setup.Secrets, err = c.secretsOf(p.Credentials); err != nil {
		return none, err
	}
	host, err := c.cfg.Open(ctx, setup)
	if err != nil {
		return none, err
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed { // meanwhile
		_ = host.Close(ctx) // the client is told that it is closed
		return none, errClosing
	}
	c.host.Store(&host)
	if c.peer.Err() != nil {
		c.quiesce()
	}
	capabilities, err := host.Capabilities(ctx)
	if err != nil {
		return none, err
	}
	return rpc.Initialized{ProtocolVersion: version, Runtime: rpc.ClientInfo{Name: "openworker", Version: c.cfg.Version}, Capabilities: capabilities,
		MaxFrameBytes: rpc.MaxFrameBytes, MaxMessageBytes: rpc.MaxMessageBytes}, nil
}

// closeHost closes the host by then, if there is one, and keeps another from being opened. It is closed once: whoever else
// asks waits for that, as long as ctx lasts.
func (c *conn) closeHost(ctx context.Context, by time.Time) error {
	c.closing.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.endWaits()
		c.quiesce()
		go func() {
			defer close(c.hostClosed)
			if h := c.host.Load(); h != nil {
				closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), by)
				defer cancel()
				c.closeErr = (*h).Close(closing)
			}
		}()
	})
	select {
	case <-c.hostClosed:
		return c.closeErr
	case <-ctx.Done():
	}
	select {
	case <-c.hostClosed:
		return c.closeErr
	default:
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return api.Errorf(api.CodeCancelled, "the wait for the end was given up; the runtime stops all the same")
	}
	return api.Errorf(api.CodeStoreBusy, "the runtime did not stop in time; what it holds is free when its process has ended")
}

// giveUp ends the connection to a client that is gone, or, for a reason, is to be.
func (c *conn) giveUp(reason error) {
	if reason != nil {
		c.cfg.Logger.Error("the connection to the client was given up", "error", reason)
	}
	c.quiesce()
	c.lose()
	c.stop()
}

// quiesce ends what the host runs.
func (c *conn) quiesce() {
	c.mu.Lock()
	c.quieting = true
	c.mu.Unlock()
	if h := c.host.Load(); h != nil {
		(*h).Quiesce()
		c.quieted()
	}
}

// method makes a handler of a function. Parameters are an object, or absent, of known fields alone.
func method[P, R any](f func(ctx context.Context, params P) (R, error)) jrpc2.Handler {
	return func(ctx context.Context, req *jrpc2.Request) (any, error) {
		var params P
		if err := decode(req, &params); err != nil {
			return nil, rpc.ToError(err)
		}
		result, err := f(ctx, params)
		if err != nil {
			return nil, rpc.ToError(err)
		}
		return result, nil
	}
}

// decode reads a request's parameters.
func decode(req *jrpc2.Request, into any) error {
	if !req.HasParams() {
		return nil
	}
	var raw json.RawMessage
	if err := req.UnmarshalParams(&raw); err != nil {
		return api.Errorf(api.CodeInvalidRequest, "the parameters of %s: %w", req.Method(), err)
	}
	return rpc.Decode(req.Method(), raw, into)
}

func (c *conn) next(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers++
	return fmt.Sprintf("%s%d", prefix, c.numbers)
}
