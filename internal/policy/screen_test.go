package policy_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
)

type check = func(context.Context, guard.Unit) (guard.Verdict, error)

// looks is a guardrail at all points.
func looks(name string, c check) guard.Guardrail {
	return guard.Guardrail{Name: name, Points: guard.Points(), Check: c}
}

func says(v guard.Verdict) check {
	return func(context.Context, guard.Unit) (guard.Verdict, error) { return v, nil }
}

// replaces redacts each old by new.
func replaces(old, new string) check {
	return func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if !strings.Contains(u.Text, old) {
			return guard.Allow(), nil
		}
		return guard.Redact(strings.ReplaceAll(u.Text, old, new), "it holds "+old), nil
	}
}

// hangs does not look at its context.
func hangs(context.Context, guard.Unit) (guard.Verdict, error) { select {} }

// broken is an error whose text cannot be had.
type broken struct{ text string }

func (b *broken) Error() string { return b.text }

func unit(text string) guard.Unit {
	return guard.Unit{Point: guard.ToolResult, Text: text, Tool: "app.look"}
}

func TestGuardrailsSeeATextOneAfterTheOther(t *testing.T) {
	t.Parallel()
	elsewhere := guard.Guardrail{Name: "elsewhere", Points: []guard.Point{guard.UserInput, guard.ModelOutput}, Check: says(guard.Block("it does not look here"))}
	redacted := func(name, reason string) api.GuardVerdict {
		return api.GuardVerdict{Name: name, Point: "tool_result", Action: "redact", Reason: reason}
	}
	for name, test := range map[string]struct {
		guards   []guard.Guardrail
		text     string
		want     string
		verdicts []api.GuardVerdict
	}{
		"without a guardrail all passes":                {nil, "a", "a", nil},
		"what is allowed passes":                        {[]guard.Guardrail{looks("a", says(guard.Allow()))}, "a", "a", nil},
		"one at another point is not asked":             {[]guard.Guardrail{elsewhere}, "a", "a", nil},
		"a redaction passes in place of the text":       {[]guard.Guardrail{looks("a", replaces("x", "y"))}, "axa", "aya", []api.GuardVerdict{redacted("a", "it holds x")}},
		"the next one sees the redaction":               {[]guard.Guardrail{looks("a", replaces("x", "y")), elsewhere, looks("b", replaces("y", "z"))}, "x", "z", []api.GuardVerdict{redacted("a", "it holds x"), redacted("b", "it holds y")}},
		"a redaction may leave nothing":                 {[]guard.Guardrail{looks("a", says(guard.Redact("", "all of it")))}, "x", "", []api.GuardVerdict{redacted("a", "all of it")}},
		"a reason is one line of visible text":          {[]guard.Guardrail{looks("a", says(guard.Redact("y", " a\n\tb\u202ec\x00\xff ")))}, "x", "y", []api.GuardVerdict{redacted("a", "a bc\uFFFD")}},
		"a reason has at most 1,000 bytes":              {[]guard.Guardrail{looks("a", says(guard.Redact("y", strings.Repeat("é", 600))))}, "x", "y", []api.GuardVerdict{redacted("a", strings.Repeat("é", 498)+"…")}},
		"a text of the greatest size is looked at":      {[]guard.Guardrail{looks("a", says(guard.Redact("y", "")))}, strings.Repeat("x", api.MaxGuardedBytes), "y", []api.GuardVerdict{redacted("a", "")}},
		"a greater one passes where nobody looks":       {[]guard.Guardrail{elsewhere}, strings.Repeat("x", api.MaxGuardedBytes+1), strings.Repeat("x", api.MaxGuardedBytes+1), nil},
		"a NUL that was there may stay":                 {[]guard.Guardrail{looks("a", replaces("x", "y"))}, "x\x00", "y\x00", []api.GuardVerdict{redacted("a", "it holds x")}},
		"a redaction of the greatest size passes":       {[]guard.Guardrail{looks("a", says(guard.Redact(strings.Repeat("y", api.MaxGuardedBytes), "")))}, "x", strings.Repeat("y", api.MaxGuardedBytes), []api.GuardVerdict{redacted("a", "")}},
		"an allow has no text and no reason of its own": {[]guard.Guardrail{looks("a", says(guard.Verdict{Action: guard.ActionAllow, Text: "other", Reason: "why"}))}, "x", "x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Screen(t.Context(), test.guards, unit(test.text))
			if diff := cmp.Diff(policy.Screened{Text: test.want, Verdicts: test.verdicts}, got, cmp.AllowUnexported(api.Error{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAGuardrailDoesNotLetPassPassesNowhere(t *testing.T) {
	t.Parallel()
	first := looks("first", replaces("x", "y"))
	for name, test := range map[string]struct {
		guard guard.Guardrail
		text  string
		code  api.Code
		want  string // in the message and the verdict
	}{
		"a block":                  {looks("g", says(guard.Block("no\nsecrets"))), "x", api.CodeGuardrailBlocked, "no secrets"},
		"a block without a reason": {looks("g", says(guard.Block(""))), "x", api.CodeGuardrailBlocked, ""},
		"an error": {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) {
			return guard.Allow(), errors.New("no server")
		}), "x", api.CodeGuardrailFailed, "it failed: no server"},
		"an error without a value":            {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) { return guard.Allow(), (*broken)(nil) }), "x", api.CodeGuardrailFailed, "it panicked"},
		"a panic":                             {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) { panic("boom") }), "x", api.CodeGuardrailFailed, "it panicked with a value of type string"},
		"a panic with nothing":                {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) { panic(nil) }), "x", api.CodeGuardrailFailed, "it panicked"},
		"a panic that panics":                 {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) { panic((*broken)(nil)) }), "x", api.CodeGuardrailFailed, "it panicked"},
		"the end of its goroutine":            {looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) { runtime.Goexit(); return guard.Allow(), nil }), "x", api.CodeGuardrailFailed, "it ended its goroutine"},
		"no Check":                            {looks("g", nil), "x", api.CodeGuardrailFailed, "it panicked"},
		"no verdict":                          {looks("g", says(guard.Verdict{})), "x", api.CodeGuardrailFailed, "it gave no verdict"},
		"an unknown verdict":                  {looks("g", says(guard.Verdict{Action: "maybe"})), "x", api.CodeGuardrailFailed, "an action that there is not"},
		"a verdict in another case":           {looks("g", says(guard.Verdict{Action: "Allow"})), "x", api.CodeGuardrailFailed, "an action that there is not"},
		"a redaction that is not UTF-8":       {looks("g", says(guard.Redact("\xff", ""))), "x", api.CodeGuardrailFailed, "not UTF-8"},
		"a redaction with a new NUL":          {looks("g", says(guard.Redact("ab\x00", ""))), "x", api.CodeGuardrailFailed, "a NUL at byte 2"},
		"a redaction that is too large":       {looks("g", says(guard.Redact(strings.Repeat("z", api.MaxGuardedBytes+1), ""))), "x", api.CodeGuardrailFailed, "128001 bytes and at most 128000"},
		"a text that is too large to be seen": {looks("g", says(guard.Allow())), strings.Repeat("é", api.MaxGuardedBytes/2) + "a", api.CodeGuardrailFailed, "the text has 128001 bytes and at most 128000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			never := looks("never", func(context.Context, guard.Unit) (guard.Verdict, error) {
				t.Error("the guardrail after it was asked")
				return guard.Allow(), nil
			})
			guards := []guard.Guardrail{test.guard, never}
			if len(test.text) == 1 {
				guards = append([]guard.Guardrail{first}, guards...)
			}
			got := policy.Screen(t.Context(), guards, unit(test.text))
			if got.Text != "" {
				t.Errorf("%.80q passed", got.Text)
			}
			if got.Err == nil || got.Err.Code != test.code {
				t.Fatalf("got %v, want %s", got.Err, test.code)
			}
			if diff := cmp.Diff(map[string]string{"guardrail": "g", "point": "tool_result"}, got.Err.Details); diff != "" {
				t.Error(diff)
			}
			for _, word := range []string{"guardrail g ", "tool_result", test.want} {
				if !strings.Contains(got.Err.Message, word) {
					t.Errorf("the message does not say %q: %s", word, got.Err.Message)
				}
			}
			action := map[api.Code]string{api.CodeGuardrailBlocked: "block", api.CodeGuardrailFailed: "fail"}[test.code]
			last := got.Verdicts[len(got.Verdicts)-1]
			if last.Name != "g" || last.Point != "tool_result" || last.Action != action || !strings.Contains(last.Reason, test.want) {
				t.Errorf("got the verdict %+v", last)
			}
			if want := len(guards) - 1; len(got.Verdicts) != want {
				t.Errorf("got %d verdicts, want %d: %+v", len(got.Verdicts), want, got.Verdicts)
			}
		})
	}
}

func TestATextThatIsTooLargeIsShownToNoGuardrail(t *testing.T) {
	t.Parallel()
	called := 0
	count := looks("count", func(context.Context, guard.Unit) (guard.Verdict, error) {
		called++
		return guard.Allow(), nil
	})
	policy.Screen(t.Context(), []guard.Guardrail{count}, unit(strings.Repeat("x", api.MaxGuardedBytes+1)))
	if called != 0 {
		t.Errorf("it was called %d times", called)
	}
}

func TestAGuardrailThatDoesNotAnswerIsLeftBehind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		timeout time.Duration
		ignores bool
		want    time.Duration
	}{
		"after ten seconds where it sets no bound":   {0, false, api.DefaultCheckTimeout},
		"after its own bound":                        {2 * time.Minute, false, 2 * time.Minute},
		"also where it does not look at its context": {time.Second, true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, left := make(chan struct{}), make(chan struct{})
				slow := looks("slow", func(ctx context.Context, _ guard.Unit) (guard.Verdict, error) {
					defer close(left)
					<-ctx.Done()
					if test.ignores {
						<-release
					}
					return guard.Allow(), ctx.Err()
				})
				slow.Timeout = test.timeout
				start := time.Now()
				got := policy.Screen(t.Context(), []guard.Guardrail{slow}, unit("x"))
				if took := time.Since(start); took != test.want {
					t.Errorf("it was waited for for %v, want %v", took, test.want)
				}
				if got.Err == nil || got.Err.Code != api.CodeGuardrailFailed || !strings.Contains(got.Err.Message, "did not answer within "+test.want.String()) {
					t.Errorf("got %v", got.Err)
				}
				close(release)
				<-left
			})
		})
	}
}

func TestTheCallersEndBlamesNoGuardrail(t *testing.T) {
	t.Parallel()
	why := errors.New("the turn was cancelled")
	for name, c := range map[string]check{
		"one that looks at its context": func(ctx context.Context, _ guard.Unit) (guard.Verdict, error) {
			<-ctx.Done()
			return guard.Verdict{}, ctx.Err()
		},
		"one that does not": func(ctx context.Context, _ guard.Unit) (guard.Verdict, error) {
			<-ctx.Done()
			<-ctx.Value(released{}).(chan struct{})
			return guard.Allow(), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), released{}, release))
				time.AfterFunc(time.Second, func() { cancel(why) })
				got := policy.Screen(ctx, []guard.Guardrail{looks("before", replaces("x", "y")), looks("slow", c)}, unit("x"))
				if got.Err == nil || got.Err.Code != api.CodeCancelled || !errors.Is(got.Err, why) || got.Text != "" {
					t.Errorf("got %q, %v", got.Text, got.Err)
				}
				if len(got.Verdicts) != 1 || got.Verdicts[0].Name != "before" {
					t.Errorf("got the verdicts %+v", got.Verdicts)
				}
				close(release)
			})
		})
	}
	t.Run("one that is not asked any more", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		got := policy.Screen(ctx, []guard.Guardrail{looks("hangs", hangs)}, unit("x"))
		if got.Err == nil || got.Err.Code != api.CodeCancelled || !errors.Is(got.Err, why) {
			t.Errorf("got %v", got.Err)
		}
	})
}

type released struct{}

func TestAGuardrailIsToldWhatTheTextIs(t *testing.T) {
	t.Parallel()
	want := unit("x")
	want.Context = guard.Context{Run: "r", CallID: "c", Origin: "agent", Metadata: map[string]string{"k": "v"}}
	var got guard.Unit
	policy.Screen(t.Context(), []guard.Guardrail{looks("g", func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		got = u
		got.Metadata = map[string]string{"k": u.Metadata["k"]}
		u.Metadata["k"] = "its own"
		return guard.Allow(), nil
	})}, want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want.Metadata["k"] != "v" {
		t.Error("a guardrail wrote into the caller's metadata")
	}
}
