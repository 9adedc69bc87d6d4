package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Config says what a client is, and what its runtime is to be made of. The zero value is a client without providers of
// its own, whose runtime has credentials in memory, and none in there.
type Config struct {
	// Name and Version are for the runtime's logs. Name defaults to "go".
	Name, Version string
	// Providers are added to those that the runtime is configured with.
	Providers []rpc.Provider
	// Credentials say where secrets come from. Absent: from Credential, or else memory without any.
	Credentials *rpc.Credentials
	// Credential, unless nil, gives secrets: it is asked before each model call (RE5), and may be called concurrently.
	// It goes with no other Credentials.
	Credential func(ctx context.Context, provider string) (secret string, ok bool, err error)
	// Deny, unless nil, is the application's hard check (AP2).
	Deny guard.Deny
	// ScratchDir holds the sessions' private workspaces. Defaults to the runtime's choice.
	ScratchDir string
	// Logger gets what nobody is there to be told. Defaults to none.
	Logger *slog.Logger
}

// Client is a connection to a runtime. All methods may be called concurrently.
type Client struct {
	conn *conn
	cfg  Config

	mu         sync.Mutex
	tools      map[string]tool.Tool // by handle
	guardrails map[string]guard.Guardrail
	hooks      map[string]guard.Hook
	closing    bool
}

var _ api.Service = (*Client)(nil)

// Dial begins a connection to a runtime that reads out and writes in, for example a child process, and waits until it has
// opened its state. Errors are the runtime's, runtime_exited where there is none, and incompatible_version. in and
// out are closed with the connection if they can be (io.Closer), and also when Dial fails.
func Dial(ctx context.Context, in io.Reader, out io.Writer, cfg Config) (*Client, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Name == "" {
		cfg.Name = "go"
	}
	c := &Client{cfg: cfg, tools: map[string]tool.Tool{}, guardrails: map[string]guard.Guardrail{}, hooks: map[string]guard.Hook{}}
	c.conn = newConn(in, out, cfg.Logger, c.callbacks())
	var answer rpc.Initialized
	hello, err := cfg.hello()
	if err == nil {
		answer, err = ask[rpc.Initialized](ctx, c, rpc.MethodInitialize, hello)
	}
	if err == nil && !slices.Contains(rpc.Versions(), answer.ProtocolVersion) {
		err = api.Errorf(api.CodeIncompatibleVersion, "the runtime (%s) chose version %d of the protocol, and this client speaks %v; install a client and a runtime that belong together",
			answer.Runtime.Version, answer.ProtocolVersion, rpc.Versions())
	}
	if err != nil {
		c.conn.end(api.AsError(err))
		c.conn.release()
		return nil, err
	}
	return c, nil
}

func (cfg *Config) hello() (rpc.Initialize, error) {
	hello := rpc.Initialize{ProtocolVersions: rpc.Versions(), Client: rpc.ClientInfo{Name: cfg.Name, Version: cfg.Version}, Credentials: cfg.Credentials,
		Providers: cfg.Providers, ActionCheck: cfg.Deny != nil, ScratchDir: cfg.ScratchDir}
	switch {
	case cfg.Credential == nil && cfg.Credentials != nil && cfg.Credentials.Source == rpc.CredentialsCallback:
		return hello, api.Errorf(api.CodeInvalidRequest, "credentials from a callback need one; set Credential")
	case cfg.Credential != nil && cfg.Credentials == nil:
		hello.Credentials = &rpc.Credentials{Source: rpc.CredentialsCallback}
	case cfg.Credential != nil && cfg.Credentials.Source != rpc.CredentialsCallback:
		return hello, api.Errorf(api.CodeInvalidRequest, "credentials come from %q, and there is a callback for them as well; leave one of the two out", cfg.Credentials.Source)
	}
	return hello, nil
}

// Done is closed when the connection has ended: by Close, or because the runtime is gone.
func (c *Client) Done() <-chan struct{} { return c.conn.done }

// SetCredential sets a provider's secret, "" to remove it, where credentials are in the runtime's memory.
func (c *Client) SetCredential(ctx context.Context, provider, secret string) error {
	return c.tell(ctx, rpc.MethodSetCredential, rpc.SetCredential{Provider: provider, Secret: secret})
}

// Close stops the runtime's work as a program does that ends well, and ends the connection: what runs is told to stop, and
// what it reports is stored. What does not end while ctx lasts is recovered by whoever opens the state next. An error
// is the runtime's, or runtime_exited where it was gone already. Again is a no-op.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	again := c.closing
	c.closing = true
	c.mu.Unlock()
	if again {
		return nil
	}
	err := c.tell(ctx, rpc.MethodShutdown, rpc.Empty{})
	c.conn.end(errClosed())
	c.conn.lines.Flush(ctx.Done())
	c.conn.release()
	if errors.Is(err, api.ErrClosed) { // it was stopping by itself
		return nil
	}
	return err
}

func errClosed() *api.Error {
	return api.Errorf(api.CodeClosed, "the client was closed; connect to a runtime on the same state to go on")
}
