package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/openworkerai/openworker/model"
)

// WatchConfig sets up a watch.
type WatchConfig struct {
	Provider   string // its name, for messages
	Credential string // it, and what Headers hold, appear in no error
	// KeyOptional allows an empty credential.
	KeyOptional bool
	Headers     map[string]string
	// Idle is how long the server may send nothing, and take nothing of the request. What comes before the headers
	// counts as well.
	Idle time.Duration
	// AcceptJSON leaves a 200 that is no event stream to the adapter. Otherwise it is an error: of the kind that its
	// error object tells, or malformed.
	AcceptJSON bool
}

// Watch watches one attempt: one request and its answer. It is the attempt's own and not for concurrent use.
type Watch struct {
	config   WatchConfig
	caller   context.Context
	ctx      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	sent     int
	total    int64
	answered atomic.Bool
	refusal  *model.Error
}

type watchKey struct{}

var errIdle = errors.New("the stream stood still")

// NewWatch begins to watch; Stop must be called. The error tells that nothing is to be sent: ctx has ended, or the
// credential is missing or has control characters.
func NewWatch(ctx context.Context, config WatchConfig) (*Watch, *model.Error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if err := checkCredential(config); err != nil {
		return nil, err
	}
	w := &Watch{config: config, caller: ctx}
	w.ctx, w.cancel = context.WithCancelCause(context.WithValue(ctx, watchKey{}, w))
	w.timer = time.AfterFunc(config.Idle, func() { w.cancel(errIdle) })
	return w, nil
}

func checkCredential(config WatchConfig) *model.Error {
	if config.Credential == "" && !config.KeyOptional {
		return &model.Error{Kind: model.KindAuth, Message: "no credential was given for " + config.Provider}
	}
	for i := range len(config.Credential) {
		if c := config.Credential[i]; c < ' ' || c == 0x7f {
			return &model.Error{Kind: model.KindAuth, Message: "the credential holds a line break or another control character"}
		}
	}
	return nil
}

// Context is the context for the request. It ends with the caller's, with silence, and with Stop.
func (w *Watch) Context() context.Context { return w.ctx }

// Stop ends the watch and whatever of the exchange is still under way.
func (w *Watch) Stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// Sent is the size of the request's body in bytes.
func (w *Watch) Sent() int { return w.sent }

// DrainBody reads the rest of a body whose answer is complete, for a moment, so that its connection can be used
// again.
func (w *Watch) DrainBody(body io.Reader) {
	const drainTime = 50 * time.Millisecond
	timer := time.AfterFunc(drainTime, func() { w.cancel(nil) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10))
}

// sending is a request whose body holds the watchdog back while the server takes it: a conversation with files may be
// under way for longer than a server may be silent.
func (w *Watch) sending(req *http.Request) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	watched := *req
	watched.Body = &sentBody{req.Body, w}
	if again := req.GetBody; again != nil {
		watched.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &sentBody{body, w}, nil
		}
	}
	return &watched
}

type sentBody struct {
	io.ReadCloser
	watch *Watch
}

func (b *sentBody) Read(p []byte) (int, error) {
	if w := b.watch; !w.answered.Load() && w.ctx.Err() == nil {
		w.timer.Reset(w.config.Idle)
	}
	return b.ReadCloser.Read(p)
}

// watchedBody lets the watchdog run while a read waits, and only then: a slow consumer is no silent server.
type watchedBody struct {
	io.ReadCloser
	watch *Watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	w := b.watch
	if w.total > MaxStreamBytes {
		return 0, ErrStreamTooLong
	}
	w.timer.Reset(w.config.Idle)
	n, err := b.ReadCloser.Read(p)
	w.timer.Stop()
	w.total += int64(n)
	return n, err
}

// Error tells what an error means that the exchange, or reading the answer, ended with. It is never nil; err may
// be nil where a stream ended without its end mark. An err that is a *model.Error is returned as it is, without
// secrets.
func (w *Watch) Error(err error) *model.Error {
	out := w.meaning(err)
	w.clear(out)
	return out
}

func (w *Watch) meaning(err error) *model.Error {
	var (
		known  *model.Error
		excess Excess
	)
	switch {
	case w.caller.Err() != nil:
		return cancelled(w.caller)
	case w.refusal != nil:
		return w.refusal
	case errors.Is(context.Cause(w.ctx), errIdle):
		return Cut(fmt.Errorf("nothing came for %v", w.config.Idle))
	case errors.As(err, &known):
		return known
	case errors.As(err, &excess):
		return Malformed(excess.Error())
	case err == nil:
		return Cut(errors.New("it ended without its end mark"))
	}
	var inner *url.Error // repeats the address, which the message has no room for
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if w.answered.Load() {
		return Cut(err)
	}
	return &model.Error{Kind: model.KindUnreachable, Message: clean(fmt.Sprintf("no answer from the server: %v", err)), Cause: err}
}

// Fault tells what an error object means that came inside an answer of which received bytes had come. One of no
// known kind is the server's own fault once it has begun to answer, since it has taken the request.
func (w *Watch) Fault(fault Fault, received int) *model.Error {
	err := Classify(http.StatusOK, &fault)
	if err.Kind == model.KindUnclassified && received > 0 {
		err.Kind = model.KindOverloaded
	}
	if err.Message == "" {
		err.Message = "the server broke the answer off with an error that has no message"
	}
	w.clear(err)
	return err
}

func (w *Watch) clear(err *model.Error) { finish(err, w.config.Credential, w.config.Headers) }

func cancelled(ctx context.Context) *model.Error {
	return &model.Error{Kind: model.KindCancelled, Message: "the call was cancelled", Cause: context.Cause(ctx)}
}

// Cut is the error of a stream that broke off.
func Cut(cause error) *model.Error {
	return &model.Error{Kind: model.KindCut, Message: clean("the stream broke off: " + cause.Error()), Cause: cause}
}

// Malformed is the error of an answer that breaks the protocol.
func Malformed(message string) *model.Error {
	return &model.Error{Kind: model.KindMalformed, Message: clean(message)}
}
