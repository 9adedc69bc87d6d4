package main

import (
	"context"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/model"
)

// keyed is a provider that may need no key. Whether there is one is asked at each request, since it may come or go (RE5): one
// that is there is sent, and nothing waits for one that is not.
type keyed struct {
	openworker.Provider
	keys openworker.Credentials
}

// keyWait is how long a key is waited for that may be asked for in another process.
const keyWait = 10 * time.Second

// Stream makes a call with the key that there is. Errors of getting it are credentials_missing, and the call is made anew.
func (k keyed) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	asking, done := context.WithTimeout(ctx, keyWait)
	defer done()
	key, _, err := k.keys.Credential(asking, k.Name())
	switch {
	case ctx.Err() != nil: // which the provider says in its own words
	case err != nil:
		return model.Response{}, api.Errorf(api.CodeCredentialsMissing, "the credential for provider %s could not be read: %w", k.Name(), err)
	}
	req.Credential = key
	return k.Provider.Stream(ctx, req, emit)
}

// speaker is the provider as it is configured, whose keys are those.
func speaker(p config.Provider, keys openworker.Credentials) (openworker.Provider, error) {
	provider, err := p.Open(nil)
	if err != nil || !p.KeyOptional {
		return provider, err
	}
	return keyed{provider, keys}, nil
}
