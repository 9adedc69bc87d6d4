package content

import (
	"net/http"
	"testing"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/google"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openai"
	"github.com/openworkerai/openworker/model/openaichat"
)

// subject is an adapter under test.
type subject struct {
	name     string
	protocol modeltestserver.Protocol
	model    string
	open     func(*http.Client) (model.Provider, error)
}

func subjects() []subject {
	return []subject{
		{"OpenAI", modeltestserver.Responses, "gpt-5-mini", func(c *http.Client) (model.Provider, error) {
			return openai.New(openai.Config{BaseURL: "http://model.test/v1", HTTPClient: c, KeyOptional: true})
		}},
		{"Chat", modeltestserver.Chat, "llama", func(c *http.Client) (model.Provider, error) {
			return openaichat.New(openaichat.Config{Name: "Chat", BaseURL: "http://model.test/v1", HTTPClient: c, KeyOptional: true})
		}},
		{"Anthropic", modeltestserver.Messages, "claude-opus-4-5", func(c *http.Client) (model.Provider, error) {
			return anthropic.New(anthropic.Config{BaseURL: "http://model.test", HTTPClient: c, KeyOptional: true})
		}},
		{"Google", modeltestserver.Gemini, "gemini-3-pro-preview", func(c *http.Client) (model.Provider, error) {
			return google.New(google.Config{BaseURL: "http://model.test", HTTPClient: c, KeyOptional: true})
		}},
	}
}

// capture sends a request over an adapter to the strict server, and returns it as the server took it, its body with it.
func (s subject) capture(t *testing.T, req model.Request) modeltestserver.Request {
	t.Helper()
	server := modeltestserver.NewInMemory(modeltestserver.Config{})
	provider, err := s.open(&http.Client{Transport: server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	req.Model = s.model
	if err := model.Check(req); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
		t.Fatalf("%v; refused: %q", err, server.Refusals())
	}
	return server.Requests()[0]
}
