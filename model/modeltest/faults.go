package modeltest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openworkerai/openworker/model"
)

// Failure is the *model.Error that err is or holds. The test ends where there is none.
func Failure(t testing.TB, err error) *model.Error {
	t.Helper()
	var failure *model.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a *model.Error", err)
	}
	return failure
}

// Serve runs a server on loopback until the test ends and returns its address.
func Serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// Discard takes the pieces of an answer that a test does not look at.
func Discard(model.Delta) {}
