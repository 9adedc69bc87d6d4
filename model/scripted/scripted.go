package scripted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// Config sets up a provider. The zero value is the offline demo model under the name "Scripted".
type Config struct {
	Name string // defaults to "Scripted"
	// Script gives the reply to each request; nil means [Demo]. It may be called from several goroutines
	// at once, and n counts the calls of the provider from 1. See [Sequence] and [ByRound] for lists.
	Script func(req model.Request, n int) Reply
	// Facts are what is known of models by name; others are unknown.
	Facts map[string]model.Facts
	// Credential makes the provider want a credential: Stream fails with kind auth when the request has none.
	Credential bool
	// Pace is the pause before each piece of a reply that sets none of its own; 0 means none.
	Pace time.Duration
	// StreamIdle is how long a silent reply is silent before it counts as cut. Defaults to api.DefaultStreamIdle.
	StreamIdle time.Duration
	// Forget keeps no requests. The demo model never keeps them.
	Forget bool
}

// Provider is a [model.Provider] that answers as its script says. It is safe for concurrent use.
type Provider struct {
	config Config

	mu         sync.Mutex
	calls      int
	requests   []model.Request
	violations []error
}

var _ model.Provider = (*Provider)(nil)

// maxViolations bounds what is remembered of them: the first ones tell the story.
const maxViolations = 100

// New returns a provider.
func New(config Config) *Provider {
	if config.Name == "" {
		config.Name = "Scripted"
	}
	if config.StreamIdle == 0 {
		config.StreamIdle = api.DefaultStreamIdle
	}
	if config.Script == nil {
		config.Script = func(req model.Request, _ int) Reply { return Demo(req) }
		config.Forget = true
	}
	return &Provider{config: config}
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.config.Name }

// Facts returns the configured facts of a model.
func (p *Provider) Facts(name string) (model.Facts, bool) {
	facts, ok := p.config.Facts[name]
	return facts, ok
}

// NeedsCredential reports whether the configuration wants one.
func (p *Provider) NeedsCredential() bool { return p.config.Credential }

// Requests returns the requests so far, in the order in which they came. Credentials and Encoded are left out.
func (p *Provider) Requests() []model.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]model.Request(nil), p.requests...)
}

// Calls returns the number of requests so far, kept or not.
func (p *Provider) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Violations returns what [model.Check] found wrong with the requests so far, joined; nil when all were
// well-formed. A test of the runtime ends with a look at it.
func (p *Provider) Violations() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.violations...)
}

// Stream makes one attempt. A malformed request is refused, as a real provider would, with kind refused.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, cancelled(err)
	}
	n, err := p.record(req)
	if err != nil {
		return model.Response{}, &model.Error{Kind: model.KindRefused, Status: 400, Message: err.Error(), Cause: err}
	}
	if p.config.Credential && req.Credential == "" {
		return model.Response{}, &model.Error{Kind: model.KindAuth, Status: 401, Message: "no credential was given"}
	}
	return p.play(ctx, p.config.Script(req, n), req, emit)
}

func (p *Provider) record(req model.Request) (int, error) {
	err := model.Check(req)
	req.Credential, req.Encoded = "", nil
	req.Items = append([]model.Item(nil), req.Items...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if !p.config.Forget {
		p.requests = append(p.requests, req)
	}
	if err != nil && len(p.violations) < maxViolations {
		p.violations = append(p.violations, fmt.Errorf("request %d: %w", p.calls, err))
	}
	return p.calls, err
}

// play performs the reply up to its end or its fault.
func (p *Provider) play(ctx context.Context, reply Reply, req model.Request, emit func(model.Delta)) (model.Response, error) {
	pace := reply.Pace
	if pace == 0 {
		pace = p.config.Pace
	}
	received := 0
	fail := func(err *model.Error) (model.Response, error) {
		err.Received = received
		return model.Response{}, err
	}
	if err := pause(ctx, reply.Delay); err != nil {
		return fail(cancelled(err))
	}
	for _, part := range []model.Delta{{Text: reply.Reasoning, Reasoning: true}, {Text: reply.Text}} {
		for _, piece := range pieces(part.Text, reply.Chunk) {
			if err := pause(ctx, pace); err != nil {
				return fail(cancelled(err))
			}
			received += len(piece)
			emit(model.Delta{Text: piece, Reasoning: part.Reasoning})
		}
	}
	if reply.Wait != nil {
		if err := reply.Wait(ctx); err != nil {
			return fail(asError(ctx, err))
		}
	}
	if reply.Silent {
		if err := pause(ctx, p.config.StreamIdle); err != nil {
			return fail(cancelled(err))
		}
		return fail(&model.Error{Kind: model.KindCut, Message: fmt.Sprintf("the stream was silent for %v", p.config.StreamIdle)})
	}
	if reply.Panic != nil {
		panic(reply.Panic)
	}
	if reply.Err != nil {
		return fail(asError(ctx, reply.Err))
	}
	return reply.Response(req), nil
}

// pause waits, or returns why ctx ended. It also looks at ctx when there is nothing to wait for.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func cancelled(cause error) *model.Error {
	return &model.Error{Kind: model.KindCancelled, Message: "the call was cancelled", Cause: cause}
}

// asError makes a script's error an attempt's. It copies, since a script may return one error many times.
func asError(ctx context.Context, err error) *model.Error {
	var typed *model.Error
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx.Err())
	case errors.As(err, &typed):
		c := *typed
		return &c
	}
	return &model.Error{Kind: model.KindUnclassified, Message: err.Error(), Cause: err}
}

// pieces cuts text into what a stream carries at a time: size runes, or words where size is 0.
func pieces(text string, size int) []string {
	if text == "" {
		return nil
	}
	if size <= 0 {
		return strings.SplitAfter(text, " ")
	}
	var out []string
	from, runes := 0, 0
	for i := range text {
		if runes == size {
			out = append(out, text[from:i])
			from, runes = i, 0
		}
		runes++
	}
	return append(out, text[from:])
}
