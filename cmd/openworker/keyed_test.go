package main

import (
	"context"
	"errors"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// keyTaker keeps the keys that it is called with.
type keyTaker struct {
	openworker.Provider
	keys []string
}

func (*keyTaker) Name() string { return "P" }

func (k *keyTaker) Stream(_ context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	k.keys = append(k.keys, req.Credential)
	return model.Response{}, nil
}

func TestAKeyThatIsOptionalIsAskedForAtEachCall(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(context.Background())
	end()
	for name, c := range map[string]struct {
		ctx  context.Context
		key  string
		err  error
		sent []string
		code api.Code
	}{
		"there":                         {context.Background(), "sk", nil, []string{"sk"}, ""},
		"not there":                     {context.Background(), "", nil, []string{""}, ""},
		"not to be had":                 {context.Background(), "", errors.New("the vault is closed"), nil, api.CodeCredentialsMissing},
		"wanted by nobody any more":     {ended, "", context.Canceled, []string{""}, ""}, // the provider says that it was cancelled
		"that came when all was over":   {ended, "sk", nil, []string{"sk"}, ""},
		"unreadable, with a code of it": {context.Background(), "", api.Errorf(api.CodeDenied, "no"), nil, api.CodeCredentialsMissing},
	} {
		provider := &keyTaker{}
		keys := openworker.CredentialFunc(func(context.Context, string) (string, bool, error) { return c.key, c.key != "", c.err })
		_, err := keyed{provider, keys}.Stream(c.ctx, model.Request{}, func(model.Delta) {})
		if len(provider.keys) != len(c.sent) || len(c.sent) > 0 && provider.keys[0] != c.sent[0] {
			t.Errorf("a key that is %s: %q was sent", name, provider.keys)
		}
		if code := api.CodeOf(err); (err != nil) != (c.code != "") || err != nil && code != c.code {
			t.Errorf("a key that is %s: %v", name, err)
		}
	}
}
