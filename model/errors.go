package model

import (
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Error is a failed attempt.
type Error struct {
	Kind    ErrorKind
	Message string // the provider's own where there is one; never holds a credential
	Status  int    // HTTP status, 0 when there was none
	// RetryAfter is what the provider asked for, 0 when it asked for nothing.
	RetryAfter time.Duration
	// Window is what a KindContext error says that the model's window is, in tokens; 0 where it does not say.
	Window int
	// Usage is what the provider reported before the failure; Received counts the bytes of answer that came.
	Usage    api.Usage
	Received int
	Cause    error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether another attempt of the same request may succeed (LI5).
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRateLimited, KindOverloaded, KindUnreachable, KindCut, KindMalformed:
		return true
	}
	return false
}

// Code is the public code of the failure.
func (e *Error) Code() api.Code {
	switch e.Kind {
	case KindRateLimited:
		return api.CodeRateLimited
	case KindOverloaded:
		return api.CodeProviderOverloaded
	case KindUnreachable:
		return api.CodeProviderUnreachable
	case KindCut, KindMalformed:
		return api.CodeStreamCut
	case KindContext:
		return api.CodeContextExhausted
	case KindTooLarge:
		return api.CodeRequestTooLarge
	case KindQuota:
		return api.CodeQuotaExhausted
	case KindAuth:
		return api.CodeAuthenticationFailed
	case KindNotFound:
		return api.CodeModelNotFound
	case KindCancelled:
		return api.CodeCancelled
	}
	return api.CodeProviderError
}
