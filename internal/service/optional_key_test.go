package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
)

// keyTaker is a provider that may do without a key, and keeps those that it is called with.
type keyTaker struct {
	*scripted.Provider
	takes bool
	keys  []string
}

func (k *keyTaker) TakesCredential() bool { return k.takes }

func (k *keyTaker) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	k.keys = append(k.keys, req.Credential)
	return k.Provider.Stream(ctx, req, emit)
}

// given is what a program answers when it is asked for a key.
type given struct {
	after time.Duration
	key   string
	err   error
}

// vault answers each question with the next of its answers, and then with the last.
type vault struct {
	mu      sync.Mutex
	answers []given
	asked   int
}

func (v *vault) Credential(ctx context.Context, _ string) (string, bool, error) {
	v.mu.Lock()
	a := v.answers[min(v.asked, len(v.answers)-1)]
	v.asked++
	v.mu.Unlock()
	select {
	case <-time.After(a.after):
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	return a.key, a.key != "", a.err
}

func (v *vault) say(a given) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answers = []given{a}
}

// RE5: a key that is there is sent, also to a provider that may do without; nothing waits for one that is not, and whatever goes
// wrong with it is waited for as where one is needed.
func TestAKeyThatIsOptionalIsAskedForAtEachCall(t *testing.T) {
	t.Parallel()
	closed := errors.New("the vault is closed")
	for name, c := range map[string]struct {
		needless bool // it takes none
		answers  []given
		waits    bool // until the vault opens
		keys     []string
		asked    int // 0: at least once
	}{
		"there":                            {answers: []given{{key: "sk"}}, keys: []string{"sk"}, asked: 1},
		"not there":                        {answers: []given{{}}, keys: []string{""}, asked: 1},
		"that a person is asked for":       {answers: []given{{after: 5 * time.Minute, key: "sk"}}, keys: []string{"sk"}, asked: 1},
		"that cannot be had":               {answers: []given{{err: closed}}, waits: true, keys: []string{"sk"}},
		"that could not be had for a time": {answers: []given{{err: closed}, {err: closed}, {}}, keys: []string{""}},
		"of one that takes none":           {needless: true, answers: []given{{err: closed}}, keys: []string{""}, asked: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				provider := &keyTaker{Provider: scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Text("done"))}), takes: !c.needless}
				v := &vault{answers: c.answers}
				s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Clock: suitehost.Clock(),
					Providers: []model.Provider{provider}, Credentials: v})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close(context.Background())
				run := sent(t, s)
				if c.waits {
					time.Sleep(time.Hour)
					r, err := s.Result(t.Context(), run.Session, run.Run)
					if err != nil || r.Status != api.StatusInterrupted || len(r.WaitingFor) != 1 || r.WaitingFor[0].Code != api.CodeCredentialsMissing {
						t.Errorf("in the meantime it is %+v, %v", r, err)
					}
					v.say(given{key: "sk"})
				}
				for range 600 {
					r, err := s.Result(t.Context(), run.Session, run.Run)
					if err != nil {
						t.Fatal(err)
					}
					if r.Status == api.StatusCompleted {
						break
					}
					time.Sleep(time.Second)
				}
				if diff := cmp.Diff(c.keys, provider.keys); diff != "" {
					t.Errorf("keys that were sent (-want +got):\n%s", diff)
				}
				if v.mu.Lock(); c.asked != 0 && v.asked != max(c.asked, 0) {
					t.Errorf("it was asked for %d times", v.asked)
				}
				v.mu.Unlock()
			})
		})
	}
}
