package stdio

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// secrets are credentials in memory.
type secrets struct {
	mu    sync.Mutex
	known map[string]string // by lower-case provider
}

// Credential returns a secret.
func (s *secrets) Credential(_ context.Context, provider string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret := s.known[strings.ToLower(provider)]
	return secret, secret != "", nil
}

func (s *secrets) set(provider, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[strings.ToLower(provider)] = secret
}

// fromClient are credentials that the client is asked for.
type fromClient struct{ conn *conn }

// What becomes of an answer without a secret in it. What it says instead is repeated nowhere: it may quote a secret, and the
// reason why a turn waits is stored and shown (ST4).
var (
	errNoSecret     = errors.New("the program that was asked for it answered " + rpc.MethodCredential + " with an error")
	errUnreadSecret = errors.New("the program that was asked for it answered " + rpc.MethodCredential + " in another form than that of a secret")
)

// Credential asks the client.
func (f fromClient) Credential(ctx context.Context, provider string) (string, bool, error) {
	params := rpc.CredentialQuery{Callback: rpc.Callback{Callback: f.conn.next("c")}, Provider: provider}
	var out reply[rpc.Credential]
	err := f.conn.ask(ctx, rpc.MethodCredential, params.Callback.Callback, params, &out, false)
	switch {
	case err == nil:
		return out.value.Secret, out.value.Secret != "", nil
	case errors.As(err, new(*jrpc2.Error)):
		err = errNoSecret
	case errors.Is(err, errUnread):
		err = errUnreadSecret
	}
	return "", false, err
}

// secretsOf are the credentials that initialize says, nil for those that the host reads itself. What an earlier one gave,
// which was refused, is gone.
func (c *conn) secretsOf(p *rpc.Credentials) (Credentials, error) {
	c.memory.Store(nil)
	if p == nil {
		p = &rpc.Credentials{Source: rpc.CredentialsMemory}
	}
	switch p.Source {
	case rpc.CredentialsMemory:
		memory := &secrets{known: map[string]string{}}
		for provider, secret := range p.Secrets {
			memory.set(provider, secret)
		}
		c.memory.Store(memory)
		return memory, nil
	case rpc.CredentialsCallback:
		return fromClient{c}, nil
	case rpc.CredentialsEnvironment:
		return nil, nil
	case rpc.CredentialsFile:
		if p.File == "" {
			return nil, api.Errorf(api.CodeInvalidRequest, "credentials of a file need its path in file")
		}
		return nil, nil
	}
	return nil, api.Errorf(api.CodeInvalidRequest, "credentials.source is %.80q; it is %q, %q, %q or %q", p.Source, rpc.CredentialsMemory, rpc.CredentialsEnvironment, rpc.CredentialsFile, rpc.CredentialsCallback)
}

// setCredential sets a secret in memory. Sessions that waited for it go on by themselves.
func (c *conn) setCredential(_ context.Context, _ Host, p rpc.SetCredential) error {
	memory := c.memory.Load()
	switch {
	case p.Provider == "":
		return api.Errorf(api.CodeInvalidRequest, "provider is empty; name the one that the secret is for")
	case memory == nil:
		return api.Errorf(api.CodeInvalidRequest, "this connection's credentials are not in memory, so none can be set; set it where they come from")
	}
	memory.set(p.Provider, p.Secret)
	return nil
}
