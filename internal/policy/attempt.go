package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
)

// maxReason bounds what is kept of a reason or of an error's text, in bytes.
const maxReason = 1_000

// attempt calls code of the application's, in a goroutine of its own, and waits at most timeout for it, by default
// [api.DefaultCheckTimeout]. fault says what kept it from an answer, cancelled that the caller's context ended.
//
// An error is turned into text in that goroutine as well: its methods are the application's code too.
func attempt[T any](ctx context.Context, timeout time.Duration, call func(context.Context) (T, error)) (value T, fault string, cancelled *api.Error) {
	if ctx.Err() != nil {
		return value, "", ended(ctx)
	}
	if timeout <= 0 {
		timeout = api.DefaultCheckTimeout
	}
	bounded, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	type result struct {
		value T
		fault string
	}
	done := make(chan result, 1)
	go func() {
		res := result{fault: "it ended its goroutine"} // runtime.Goexit lets nothing run but what is deferred
		defer func() { done <- res }()
		defer func() {
			if x := recover(); x != nil { // its value may hold what the code was shown, and is told to nobody
				res = result{fault: fmt.Sprintf("it panicked with a value of type %T", x)}
			}
		}()
		value, err := call(bounded)
		if err != nil {
			res = result{fault: "it failed: " + Plain(err.Error(), maxReason)}
			return
		}
		res = result{value: value}
	}()
	select {
	case res := <-done:
		if res.fault == "" || bounded.Err() == nil {
			return res.value, res.fault, nil
		}
	case <-bounded.Done():
	}
	if ctx.Err() != nil {
		return value, "", ended(ctx)
	}
	return value, fmt.Sprintf("it did not answer within %v", timeout), nil
}

func ended(ctx context.Context) *api.Error {
	return api.Errorf(api.CodeCancelled, "the check was given up before it had an answer: %w", context.Cause(ctx))
}
