package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// guarded is a provider whose panics fail what it was asked and not the process (RU10). What does not change
// is asked once.
type guarded struct {
	model.Provider
	name  string
	needs bool
	takes bool // a credential that is there, though it may need none
	known *knownFacts
}

// knownFacts keeps what a provider said of models: it is asked at each decision, and a table takes a while.
type knownFacts struct {
	mu sync.Mutex
	of map[string]knownModel
}

type knownModel struct {
	facts model.Facts
	ok    bool
}

// maxKnown bounds the models that are kept; the rest is asked for each time.
const maxKnown = 1024

func shield(p model.Provider) guarded {
	g := guarded{Provider: p, name: p.Name(), needs: p.NeedsCredential(), known: &knownFacts{of: map[string]knownModel{}}}
	taker, is := p.(model.CredentialTaker)
	g.takes = g.needs || is && taker.TakesCredential()
	return g
}

func (g guarded) Name() string          { return g.name }
func (g guarded) NeedsCredential() bool { return g.needs }

// Facts are asked for once a model.
func (g guarded) Facts(name string) (model.Facts, bool) {
	g.known.mu.Lock()
	m, found := g.known.of[name]
	g.known.mu.Unlock()
	if found {
		return m.facts, m.ok
	}
	m.facts, m.ok = g.ask(name)
	g.known.mu.Lock()
	defer g.known.mu.Unlock()
	if len(g.known.of) < maxKnown {
		g.known.of[name] = m
	}
	return m.facts, m.ok
}

// ask asks the provider. Facts of one that panics are not known.
func (g guarded) ask(name string) (facts model.Facts, ok bool) {
	defer func() {
		if recover() != nil {
			facts, ok = model.Facts{}, false
		}
	}()
	return g.Provider.Facts(name)
}

// Stream fails with kind unclassified where the provider panics.
func (g guarded) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (resp model.Response, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &model.Error{Kind: model.KindUnclassified, Message: fmt.Sprintf("the provider %s panicked with a value of type %T", g.name, x), Cause: fmt.Errorf("%s", debug.Stack())}
		}
	}()
	resp, err = g.Provider.Stream(ctx, req, emit)
	return resp, sound(err)
}

// How long the answer to whether a credential is there is trusted, and how long it is waited for. The program
// is asked by one goroutine a provider, whatever the number of sessions that want to know, and however slow it
// is: whoever decides meanwhile goes by the last answer.
const (
	trustCredential = 5 * time.Second
	trustMissing    = 200 * time.Millisecond
	lookWait        = 200 * time.Millisecond
	lookBound       = 10 * time.Second // what the program gets
)

// credentials ask the program for secrets.
type credentials struct {
	source Credentials // nil: there are none
	now    func() time.Time

	mu      sync.Mutex
	seen    map[string]*seen                 // by provider
	changed func(provider string, err error) // a look found another answer than the last
}

// seen is what is known of one provider's credential.
type seen struct {
	err     error // of the last look, nil where there was a secret
	until   time.Time
	known   bool          // there was a look
	looking chan struct{} // closed when the look under way ends, nil when there is none
	slow    bool          // the look under way was waited for in vain
}

// secret asks for a provider's secret now. A provider that may do without has "" where there is none.
func (c *credentials) secret(ctx context.Context, p guarded) (secret string, err error) {
	provider := p.name
	if c.source == nil {
		return "", p.without()
	}
	defer func() {
		if x := recover(); x != nil {
			secret, err = "", api.Errorf(api.CodeCredentialsMissing, "the credential for provider %s could not be read: the program's callback panicked: %v", provider, x)
		}
		if err != nil && ctx.Err() == nil {
			c.note(provider, err)
		}
	}()
	secret, ok, err := c.source.Credential(ctx, provider)
	if err != nil {
		return "", api.Errorf(api.CodeCredentialsMissing, "the credential for provider %s could not be read: %w", provider, err)
	}
	if !ok || secret == "" {
		return "", p.without()
	}
	return secret, nil
}

// without is what a provider's lack of a credential comes to: nothing, where it may do without.
func (g guarded) without() error {
	if !g.needs {
		return nil
	}
	return api.Errorf(api.CodeCredentialsMissing, "provider %s needs a credential and this process has none; give it one, and the turn goes on", g.name)
}

// failed reports whether a provider's credential could not be had the last time that it was asked for.
func (c *credentials) failed(provider string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen[provider]
	return s != nil && s.known && s.err != nil
}

// there reports whether the provider's credential is there, or known not to be for one that may do without.
func (c *credentials) there(ctx context.Context, p guarded) bool {
	c.mu.Lock()
	s := c.of(p.name)
	if s.known && c.now().Before(s.until) {
		defer c.mu.Unlock()
		return s.err == nil
	}
	if s.looking == nil {
		s.looking, s.slow = make(chan struct{}), false
		go c.look(p, s.looking)
	}
	looking, slow := s.looking, s.slow
	c.mu.Unlock()
	if !slow {
		timer := time.NewTimer(lookWait)
		defer timer.Stop()
		select {
		case <-looking:
		case <-ctx.Done():
		case <-timer.C:
			slow = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slow && s.looking == looking {
		s.slow = true
	}
	return s.known && s.err == nil
}

// why says what the last look found missing.
func (c *credentials) why(provider string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.of(provider).err; err != nil {
		return api.AsError(err).Message
	}
	return fmt.Sprintf("the credential for provider %s is being looked for", provider)
}

// look asks the program, and ends also where the callback ends its goroutine.
func (c *credentials) look(p guarded, done chan struct{}) {
	provider := p.name
	ctx, cancel := context.WithTimeout(context.Background(), lookBound)
	defer cancel()
	err := error(api.Errorf(api.CodeCredentialsMissing, "the credential for provider %s could not be read: the program's callback ended its goroutine", provider))
	defer func() {
		c.note(provider, err)
		c.mu.Lock()
		c.of(provider).looking = nil
		c.mu.Unlock()
		close(done)
	}()
	_, err = c.secret(ctx, p)
}

// note takes an answer down, and tells of one that is new.
func (c *credentials) note(provider string, err error) {
	c.mu.Lock()
	s := c.of(provider)
	changed := c.changed
	if s.known && (err == nil) == (s.err == nil) && (err == nil || err.Error() == s.err.Error()) {
		changed = nil
	}
	s.known, s.err, s.until = true, err, c.now().Add(trustCredential)
	if err != nil {
		s.until = c.now().Add(trustMissing)
	}
	c.mu.Unlock()
	if changed != nil {
		go changed(provider, err) // whoever is told may want what waits for this very answer
	}
}

func (c *credentials) of(provider string) *seen {
	s := c.seen[provider]
	if s == nil {
		s = &seen{}
		c.seen[provider] = s
	}
	return s
}
