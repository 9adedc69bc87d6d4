package service_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/transport/servicetest"
)

func TestTheServiceOnAStoreInMemory(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, servicetest.Host{
		New:    func(*testing.T) servicetest.Store { return suitehost.InMemory(start) },
		Around: synctest.Test,
	})
}

func TestTheServiceOnSQLite(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, servicetest.Host{New: func(t *testing.T) servicetest.Store { return suitehost.OnDisk(t, start) }})
}

// start starts a service in this process.
func start(t *testing.T, cfg service.Config, w servicetest.World) suitehost.Running {
	t.Helper()
	cfg.Guardrails, cfg.Hooks, cfg.Deny = suitehost.Guardrails(w), suitehost.Hooks(w), suitehost.Deny(w)
	if secret := suitehost.Credential(w); secret != nil {
		cfg.Credentials = credential(secret)
	}
	s, err := service.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Bind(suitehost.Tools(w)...); err != nil {
		t.Fatal(err)
	}
	return s
}

type credential func(ctx context.Context, provider string) (string, bool, error)

func (c credential) Credential(ctx context.Context, provider string) (string, bool, error) {
	return c(ctx, provider)
}
