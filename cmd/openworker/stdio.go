package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/transport/rpc"
	"github.com/openworkerai/openworker/transport/stdio"
)

func (m *Main) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Run sessions for a program that starts this one",
		Long: `Speaks JSON-RPC 2.0 over standard input and output, one message a line of at most
1 MiB, for a program that starts this one: the TypeScript SDK does. Tools,
guardrails and hooks run in that program. It ends when standard input does, and
what was under way goes on at the next start.

The first request is initialize, which says what the program is made of; the
protocol is in spec/rpc.json. Providers are those of the configuration, and keys
come from where initialize says. What goes wrong is told on standard error.`,
		Example: `  openworker stdio --state-dir ./state
  echo '{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersions":[1],"client":{"name":"me","version":"1"}}}' | openworker stdio`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error { return m.stdio(ctx) }),
	}
}

func (m *Main) stdio(ctx context.Context) error {
	if m.Terminal {
		fmt.Fprintln(m.Stderr, "openworker stdio speaks JSON-RPC with the program that starts it; to talk to a model yourself use openworker chat. Ctrl-D ends it.")
	}
	// What comes over the pipe is for work that waits. Its reader is in the kernel until then, and has to find a processor of Go's
	// scheduler when it comes back: with one more than there are cores it need not wait for what computes meanwhile. On two
	// cores with eight sessions that is a tenth of a turn's time.
	if _, set := m.Lookup("GOMAXPROCS"); !set {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	// The heap is a few megabytes: collecting it half as often costs as many more, and is worth a thirtieth of a turn.
	if _, set := m.Lookup("GOGC"); !set {
		debug.SetGCPercent(200)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a client that is gone is an error of writing, which ends this in order
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.Interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	out := io.Writer(m.Stdout)
	if o, ok := out.(*output); ok {
		out = o.w // whose errors say that the client is gone
	}
	return stdio.Serve(ctx, m.Stdin, out, stdio.Config{Version: service.Version, Open: m.openFor, Logger: m.logger()})
}

func (m *Main) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// openFor opens the state directory for a client.
func (m *Main) openFor(ctx context.Context, setup stdio.Setup) (stdio.Host, error) {
	providers, credentials, err := m.providersFor(setup)
	if err != nil {
		return nil, err
	}
	scratch := setup.ScratchDir
	if scratch == "" {
		if scratch, err = m.scratch(); err != nil {
			return nil, err
		}
	}
	h, err := openworker.Open(ctx, openworker.Options{StateDir: m.stateDir, Providers: providers, Credentials: credentials, ScratchDir: scratch, Deny: setup.Deny, Logger: m.logger()})
	if err != nil {
		return nil, err
	}
	return opened{h.Service(), h}, nil
}

// providersFor are the configured providers and the client's own, and where their keys come from.
func (m *Main) providersFor(setup stdio.Setup) ([]openworker.Provider, openworker.Credentials, error) {
	cfg, err := m.configuration()
	if err != nil {
		return nil, nil, err
	}
	own := map[string]bool{}
	for _, p := range setup.Providers {
		name := strings.ToLower(p.Name)
		if own[name] {
			return nil, nil, api.Errorf(api.CodeInvalidRequest, "two providers are named %.80q; give each its own name", p.Name)
		}
		own[name] = true
		if err := cfg.Add(config.Provider{Name: p.Name, Protocol: config.Protocol(p.Protocol), BaseURL: p.BaseURL, Headers: p.Headers, KeyOptional: p.KeyOptional}); err != nil {
			return nil, nil, err
		}
	}
	credentials := openworker.Credentials(setup.Secrets)
	if source := setup.Credentials; source != nil {
		switch source.Source {
		case rpc.CredentialsEnvironment:
			cfg.Credentials = config.KeysInEnvironment
			credentials = cfg.Keys()
		case rpc.CredentialsFile:
			credentials = openworker.FileCredentials(source.File)
		}
	}
	providers := []openworker.Provider{scripted.New(scripted.Config{Pace: m.pace()})}
	for _, p := range cfg.Providers {
		provider, err := p.Open(nil)
		if err != nil {
			return nil, nil, err
		}
		providers = append(providers, provider)
	}
	return providers, credentials, nil
}

// opened is a harness as what a connection runs sessions with.
type opened struct {
	api.Service
	harness *openworker.Harness
}

func (o opened) Bind(tools ...openworker.Tool) error { return o.harness.Bind(tools...) }

func (o opened) BindGuards(guardrails []openworker.Guardrail, hooks []openworker.Hook) error {
	return o.harness.BindGuards(guardrails, hooks)
}

func (o opened) ResultWhen(ctx context.Context, session, run string, ready func(context.Context) error) (api.Result, error) {
	return o.harness.ResultWhen(ctx, session, run, ready)
}

func (o opened) Quiesce() { o.harness.Quiesce() }

func (o opened) Close(ctx context.Context) error {
	err := o.harness.Close(ctx)
	if errors.Is(err, api.ErrClosed) {
		return nil
	}
	return err
}
