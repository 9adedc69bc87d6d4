package sim_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openaichat"
)

// strict looks at each request as it goes over the wire of Chat Completions, with the eyes of a strict server.
// test/providers does it for the protocols whose providers link an SDK.
type strict struct {
	provider *openaichat.Provider
	refusal  error
}

func newStrict(t *testing.T) *strict {
	t.Helper()
	s := &strict{}
	var err error
	if s.provider, err = openaichat.New(openaichat.Config{BaseURL: "http://localhost/v1", KeyOptional: true, HTTPClient: &http.Client{Transport: s}}); err != nil {
		t.Fatal(err)
	}
	return s
}

var errSeen = errors.New("seen")

// RoundTrip decodes what would be sent, and sends nothing.
func (s *strict) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, s.refusal = modeltestserver.DecodeChat(body)
	return nil, errSeen
}

func (s *strict) ask(req model.Request) error {
	s.refusal = errors.New("nothing was sent")
	req.Encoded = nil
	if _, err := s.provider.Stream(context.Background(), req, func(model.Delta) {}); !errors.Is(err, errSeen) {
		return err
	}
	return s.refusal
}
