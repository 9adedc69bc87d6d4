package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// misbehave are the ways in which a callback has no answer, and how each is told. They return only where the message
// says so.
var misbehave = map[string]struct {
	do   func(context.Context) error
	want string
}{
	"it fails":                   {func(context.Context) error { return errors.New("no server") }, "it failed: no server"},
	"it fails without a value":   {func(context.Context) error { return (*broken)(nil) }, "it panicked"},
	"it panics":                  {func(context.Context) error { panic("boom") }, "it panicked with a value of type string"},
	"it ends its goroutine":      {func(context.Context) error { runtime.Goexit(); return nil }, "it ended its goroutine"},
	"it does not answer in time": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "it did not answer within 3s"},
	"it does not look at its context": {func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(time.Hour)
		return nil
	}, "it did not answer within 3s"},
}

func before(name string, f func(context.Context, guard.ModelCall) error) guard.Hook {
	return guard.Hook{Name: name, BeforeModel: f, Timeout: 3 * time.Second}
}

func after(name string, f func(context.Context, guard.ToolOutput) (string, error)) guard.Hook {
	return guard.Hook{Name: name, ToolResult: f, Timeout: 3 * time.Second}
}

func appends(word string) func(context.Context, guard.ToolOutput) (string, error) {
	return func(_ context.Context, r guard.ToolOutput) (string, error) { return r.Output + word, nil }
}

func TestAHookSeesTheWholeRequestAndMayVetoIt(t *testing.T) {
	t.Parallel()
	items := make([]model.Item, 1, 8) // room in which an append would land
	items[0] = model.Item{Kind: model.UserItem, Parts: []model.Part{{Text: "hi"}, textFile("a.txt", "all of a file"), {Name: "b.png", MediaType: model.TypePNG, Data: []byte("\x89PNG"), Size: 4}}}
	call := guard.ModelCall{
		Context: guard.Context{Run: "r", Metadata: map[string]string{"k": "v"}}, Purpose: guard.PurposeTurn, Provider: "P",
		Request: model.Request{Model: "m", Instructions: "i", Items: items, Credential: "secret", Encoded: &model.Encoded{}, Tools: []model.Tool{{Name: "t"}}},
	}
	var seen []string
	see := func(name string, err error) guard.Hook {
		return before(name, func(_ context.Context, c guard.ModelCall) error {
			seen = append(seen, name)
			if c.Request.Credential != "" || c.Request.Encoded != nil {
				t.Errorf("hook %s was given the credential or the cache", name)
			}
			_ = append(c.Request.Items, model.Item{Kind: model.UserItem, Text: name})
			c.Metadata["k"] = name
			c.Request.Credential, c.Request.Encoded = call.Request.Credential, call.Request.Encoded
			c.Metadata = call.Metadata
			if diff := cmp.Diff(call, c, cmp.AllowUnexported(model.Encoded{}), cmp.Comparer(func(a, b *model.Encoded) bool { return a == b })); diff != "" {
				t.Errorf("hook %s: %s", name, diff)
			}
			return err
		})
	}
	result := after("result", appends(""))
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a veto":                  {guard.Veto("not\ntoday"), "hook b refused the request: not today"},
		"a veto within an error":  {fmt.Errorf("policy: %w", guard.Veto("no")), "hook b refused the request: no"},
		"a veto without a reason": {guard.Veto(""), "hook b refused the request: it gave no reason"},
		"a veto of 2,000 bytes":   {guard.Veto(strings.Repeat("n", 2000)), "hook b refused the request: " + strings.Repeat("n", 997) + "…"},
	} {
		seen = nil
		got := policy.BeforeModel(t.Context(), []guard.Hook{see("a", nil), result, see("b", test.err), see("c", nil)}, call)
		if got == nil || got.Code != api.CodeHookVetoed || got.Message != test.want || got.Details["hook"] != "b" {
			t.Errorf("%s: got %v", name, got)
		}
		if diff := cmp.Diff([]string{"a", "b"}, seen); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := policy.BeforeModel(t.Context(), []guard.Hook{see("a", nil), result}, call); got != nil {
		t.Errorf("refused: %v", got)
	}
	if call.Metadata["k"] != "v" || items[:2][1].Text != "" || call.Request.Credential != "secret" {
		t.Error("a hook changed what is the caller's")
	}
}

func TestAHookWithoutAnAnswerLetsNoRequestPass(t *testing.T) {
	t.Parallel()
	for name, test := range misbehave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hook := before("h", func(ctx context.Context, _ guard.ModelCall) error { return test.do(ctx) })
				start := time.Now()
				got := policy.BeforeModel(t.Context(), []guard.Hook{hook}, guard.ModelCall{})
				if got == nil || got.Code != api.CodeHookFailed || !strings.Contains(got.Message, "hook h failed before the model call: "+test.want) || got.Details["hook"] != "h" {
					t.Errorf("got %v", got)
				}
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("it was waited for for %v", took)
				}
				time.Sleep(2 * time.Hour) // of the bubble: what was left behind ends
			})
		})
	}
	t.Run("it vetoes without a value", func(t *testing.T) {
		t.Parallel()
		got := policy.BeforeModel(t.Context(), []guard.Hook{before("h", func(context.Context, guard.ModelCall) error { return (*guard.VetoError)(nil) })}, guard.ModelCall{})
		if got == nil || got.Code != api.CodeHookFailed {
			t.Errorf("got %v", got)
		}
	})
}

func TestEachHookSeesTheOutputOfTheOneBefore(t *testing.T) {
	t.Parallel()
	given := guard.ToolOutput{Tool: "app.look", Output: "out", Code: api.CodeToolFailed, Arguments: json.RawMessage(`{"a":1}`), Context: guard.Context{CallID: "c"}}
	look := after("look", func(_ context.Context, r guard.ToolOutput) (string, error) {
		want := given
		want.Output = "out+a"
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
		r.Arguments[1] = 'x'
		return r.Output, nil
	})
	hooks := []guard.Hook{after("a", appends("+a")), before("b", func(context.Context, guard.ModelCall) error { return errors.New("it is not asked") }), look, after("c", appends("+c"))}
	got, err := policy.AfterTool(t.Context(), hooks, given)
	if err != nil || got != "out+a+c" {
		t.Errorf("got %q, %v", got, err)
	}
	if string(given.Arguments) != `{"a":1}` {
		t.Error("a hook wrote into the caller's arguments")
	}
	if got, err := policy.AfterTool(t.Context(), nil, given); err != nil || got != "out" {
		t.Errorf("without hooks: got %q, %v", got, err)
	}
	nothing := after("nothing", func(context.Context, guard.ToolOutput) (string, error) { return "", nil })
	if got, err := policy.AfterTool(t.Context(), []guard.Hook{nothing}, given); err != nil || got != "" {
		t.Errorf("of one that leaves nothing: got %q, %v", got, err)
	}
}

func TestAHookWithoutAnAnswerWithholdsTheResult(t *testing.T) {
	t.Parallel()
	for name, test := range misbehave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hook := after("h", func(ctx context.Context, _ guard.ToolOutput) (string, error) { return "leak", test.do(ctx) })
				got, err := policy.AfterTool(t.Context(), []guard.Hook{after("a", appends("")), hook, after("c", appends("leak"))}, guard.ToolOutput{Tool: "app.look", Output: "leak"})
				if got != "" || err == nil || err.Code != api.CodeHookFailed || !strings.Contains(err.Message, "hook h failed after the tool app.look: "+test.want) {
					t.Errorf("got %q, %v", got, err)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestACheckThatCannotBeGivenTheArgumentsTellsWhatToCorrect(t *testing.T) {
	t.Parallel()
	unfit := func(message string) guard.Deny {
		return func(context.Context, guard.ToolAction) (guard.Verdict, error) {
			return guard.Allow(), fmt.Errorf("wrapped: %w", &guard.ArgumentsError{Message: message})
		}
	}
	_, denied, err := policy.Ask(t.Context(), unfit("give /n\nas a string"), guard.ToolAction{Tool: "app.pay"}, 0)
	if denied || err == nil || err.Code != api.CodeArgumentsInvalid || err.Message != "give /n as a string" {
		t.Errorf("got %v, %v", denied, err)
	}
	if _, denied, err = policy.Ask(t.Context(), unfit(""), guard.ToolAction{Tool: "app.pay"}, 0); denied || err == nil || err.Code != api.CodeCheckFailed {
		t.Errorf("without a message: got %v, %v", denied, err)
	}
}

func TestTheApplicationsCheckAllowsDeniesOrHasNoAnswer(t *testing.T) {
	t.Parallel()
	answer := func(v guard.Verdict) guard.Deny {
		return func(context.Context, guard.ToolAction) (guard.Verdict, error) { return v, nil }
	}
	for name, test := range map[string]struct {
		deny   guard.Deny
		reason string
		denied bool
		fault  string // of check_failed
	}{
		"no check denies nothing":         {nil, "", false, ""},
		"an allow":                        {answer(guard.Allow()), "", false, ""},
		"a block":                         {answer(guard.Block("outside of\nthe workspace")), "outside of the workspace", true, ""},
		"a block without a reason":        {answer(guard.Block("")), "", true, ""},
		"a redaction is no answer":        {answer(guard.Redact("x", "y")), "", false, "its verdict is neither Allow nor Block"},
		"the zero verdict is no answer":   {answer(guard.Verdict{}), "", false, "it gave no verdict"},
		"an unknown verdict is no answer": {answer(guard.Verdict{Action: "deny"}), "", false, "its verdict is neither Allow nor Block"},
		"a block with an error is none": {func(context.Context, guard.ToolAction) (guard.Verdict, error) {
			return guard.Block("no"), errors.New("no server")
		}, "", false, "it failed: no server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reason, denied, err := policy.Ask(t.Context(), test.deny, guard.ToolAction{Tool: "app.pay"}, 0)
			if reason != test.reason || denied != test.denied || (err != nil) != (test.fault != "") {
				t.Fatalf("got %q, %v, %v", reason, denied, err)
			}
			if err != nil && (err.Code != api.CodeCheckFailed || !strings.Contains(err.Message, "check of app.pay let nothing pass") || !strings.Contains(err.Message, test.fault)) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, test := range misbehave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reason, denied, err := policy.Ask(t.Context(), func(ctx context.Context, _ guard.ToolAction) (guard.Verdict, error) {
					return guard.Allow(), test.do(ctx)
				}, guard.ToolAction{Tool: "app.pay"}, 3*time.Second)
				if reason != "" || denied || err == nil || err.Code != api.CodeCheckFailed || !strings.Contains(err.Message, test.want) {
					t.Errorf("got %q, %v, %v", reason, denied, err)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
	t.Run("it is told of the action and cannot change it", func(t *testing.T) {
		t.Parallel()
		given := guard.ToolAction{Tool: "app.pay", Effect: api.SideEffect, Arguments: json.RawMessage(`{"a":1}`), Changed: true, Context: guard.Context{CallID: "c"}}
		_, _, err := policy.Ask(t.Context(), func(_ context.Context, a guard.ToolAction) (guard.Verdict, error) {
			if diff := cmp.Diff(given, a); diff != "" {
				t.Error(diff)
			}
			a.Arguments[1] = 'x'
			return guard.Allow(), nil
		}, given, 0)
		if err != nil || string(given.Arguments) != `{"a":1}` {
			t.Errorf("got %v; the arguments are %s", err, given.Arguments)
		}
	})
}

func TestTheCallersEndBlamesNoHookAndNoCheck(t *testing.T) {
	t.Parallel()
	why := errors.New("closing")
	for name, call := range map[string]func(context.Context) *api.Error{
		"before a model call": func(ctx context.Context) *api.Error {
			return policy.BeforeModel(ctx, []guard.Hook{before("h", func(ctx context.Context, _ guard.ModelCall) error { <-ctx.Done(); return ctx.Err() })}, guard.ModelCall{})
		},
		"after a tool": func(ctx context.Context) *api.Error {
			_, err := policy.AfterTool(ctx, []guard.Hook{after("h", func(ctx context.Context, _ guard.ToolOutput) (string, error) { <-ctx.Done(); return "", ctx.Err() })}, guard.ToolOutput{})
			return err
		},
		"in the check": func(ctx context.Context) *api.Error {
			_, _, err := policy.Ask(ctx, func(ctx context.Context, _ guard.ToolAction) (guard.Verdict, error) {
				<-ctx.Done()
				return guard.Verdict{}, ctx.Err()
			}, guard.ToolAction{}, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				if err := call(ctx); err == nil || err.Code != api.CodeCancelled || !errors.Is(err, why) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
