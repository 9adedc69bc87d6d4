package stdio_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/transport/client"
	"github.com/openworkerai/openworker/transport/servicetest"
	"github.com/openworkerai/openworker/transport/stdio"
)

// FA9: whatever holds for a service in its own process holds for one behind a connection, with the world's tools, guardrails,
// hooks, check and credential in the client.
func TestARuntimeOverItsStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, servicetest.Host{
		New:    func(*testing.T) servicetest.Store { return suitehost.InMemory(start) },
		Around: synctest.Test,
	})
}

// start starts a runtime and a client of it.
func start(t *testing.T, cfg service.Config, w servicetest.World) suitehost.Running {
	t.Helper()
	r := serve(t, cfg)
	var err error
	r.Client, err = client.Dial(t.Context(), r.in, r.out, client.Config{Deny: suitehost.Deny(w), Credential: suitehost.Credential(w), ScratchDir: cfg.ScratchDir})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Bind(suitehost.Tools(w)...); err != nil {
		t.Fatal(err)
	}
	if err := r.BindGuards(suitehost.Guardrails(w), suitehost.Hooks(w)); err != nil {
		t.Fatal(err)
	}
	return r
}

// runtime is a runtime, in this process, and the client that it serves.
type runtime struct {
	*client.Client
	t     *testing.T
	in    io.Reader // what the runtime writes
	out   io.Writer
	pipes []io.Closer
	once  sync.Once
	ended chan error // gets what Serve returned
}

// serve starts a runtime.
func serve(t *testing.T, cfg service.Config) *runtime {
	t.Helper()
	theirs, out := io.Pipe()
	in, ours := io.Pipe()
	r := &runtime{t: t, in: in, out: out, pipes: []io.Closer{theirs, out, in, ours}, ended: make(chan error, 1)}
	go func() {
		err := stdio.Serve(context.Background(), theirs, ours, stdio.Config{Version: "test", Open: func(ctx context.Context, setup stdio.Setup) (stdio.Host, error) {
			cfg.ScratchDir, cfg.Deny = setup.ScratchDir, setup.Deny
			if setup.Secrets != nil {
				cfg.Credentials = setup.Secrets
			}
			return service.New(ctx, cfg)
		}})
		_, _ = ours.Close(), theirs.Close()
		r.ended <- err
	}()
	return r
}

// Close implements suitehost.Running.
func (r *runtime) Close(ctx context.Context) error {
	err := r.Client.Close(ctx)
	r.once.Do(func() { <-r.ended })
	return err
}

// Kill implements suitehost.Killer: both ends see that the other one is gone.
func (r *runtime) Kill() {
	for _, p := range r.pipes {
		_ = p.Close()
	}
}
