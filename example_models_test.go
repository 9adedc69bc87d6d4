package openworker_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of docs/guides/models.md and limits.md stands in this file.

// A server of the Chat Completions protocol, and where its key comes from.
func Example_models() {
	provider, err := openaichat.New(openaichat.Config{
		Name:    "OpenAI",
		BaseURL: "https://api.openai.com/v1",
		Facts:   map[string]model.Facts{"our-own": {Window: 32_000, MaxOutputTokens: 4_096}},
	})
	if err != nil {
		panic(err)
	}
	options := openworker.Options{
		StateDir:    "./state",
		Providers:   []openworker.Provider{provider},
		Credentials: openworker.EnvironmentCredentials(os.LookupEnv), // OPENAI_API_KEY
	}
	facts, known := provider.Facts("our-own")
	fmt.Println(options.Providers[0].Name(), facts.MaxOutputTokens, known)
	// Output: OpenAI 4096 true
}

// A server of one's own that wants no key, and one behind the proxy of the environment.
func Example_servers() {
	local, err := openaichat.New(openaichat.Config{
		Name:        "Local",
		BaseURL:     "http://127.0.0.1:11434/v1",
		KeyOptional: true, // without it a turn waits for LOCAL_API_KEY or the like
	})
	if err != nil {
		panic(err)
	}
	proxied, err := openaichat.New(openaichat.Config{
		BaseURL:    "https://api.openai.com/v1",
		HTTPClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 256}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(local.Name(), local.NeedsCredential())
	fmt.Println(proxied.Name(), proxied.NeedsCredential())
	// Output:
	// Local false
	// OpenAI true
}

// Two providers: an agent's model, and another for one turn.
func Example_aModelForATurn() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	answers := func(text string) func(model.Request, int) scripted.Reply {
		return func(model.Request, int) scripted.Reply { return scripted.Text(text) }
	}
	small := scripted.New(scripted.Config{Name: "Small", Script: answers("small")})
	large := scripted.New(scripted.Config{Name: "Large", Script: answers("large")})

	harness, err := openworker.Open(ctx, openworker.Options{StateDir: dir, Providers: []openworker.Provider{small, large}})
	if err != nil {
		panic(err)
	}
	defer harness.Close(ctx)
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{Name: "two", DefaultModel: openworker.ModelRef{Provider: "Small", Name: "s-1"}})
	if err != nil {
		panic(err)
	}
	session, err := agent.NewSession(ctx) // its options may name a model too
	if err != nil {
		panic(err)
	}
	for _, options := range []openworker.TurnOptions{
		{}, // the agent's model
		{Model: openworker.Set(openworker.ModelRef{Provider: "Large", Name: "l-1"})}, // for this turn alone
	} {
		result, err := session.Run(ctx, "Who are you?", options)
		if err != nil {
			panic(err)
		}
		fmt.Println(result.Text)
	}
	// Output:
	// small
	// large
}

// vault stands for a program's own secret store.
func vault(context.Context, string) (string, error) { return "from the vault", nil }

func Example_credentials() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := dir + "/keys.json"
	if err := os.WriteFile(path, []byte(`{"OpenAI": "from the file"}`), 0o600); err != nil {
		panic(err)
	}

	file := openworker.FileCredentials(path) // {"OpenAI": "…"}, with mode 0600
	callback := openworker.CredentialFunc(func(ctx context.Context, provider string) (secret string, ok bool, err error) {
		secret, err = vault(ctx, "models/"+provider)
		return secret, secret != "", err
	})

	for _, credentials := range []openworker.Credentials{file, callback} {
		fmt.Println(credentials.Credential(ctx, "OpenAI"))
	}
	// Output:
	// from the file true <nil>
	// from the vault true <nil>
}

// An agent has limits, and a turn may have its own.
func Example_limits() {
	harness, close := offline()
	defer close()
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "brief",
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		Limits:       openworker.Limits{MaxModelCalls: openworker.Set(3), MaxOutputTokensPerCall: openworker.Set(2_000)},
	})
	if err != nil {
		panic(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		panic(err)
	}
	result, err := session.Run(ctx, "count to 3", openworker.TurnOptions{
		Limits: openworker.Limits{MaxOutputTokens: openworker.Set(4_000)}, // the rest is the agent's
	})
	if err != nil {
		panic(err)
	}
	if result.Status == openworker.StatusLimitReached {
		fmt.Println("closed early, after", result.ModelCalls, "calls")
	}
	fmt.Println(result.Status, result.Text)

	_, err = session.Send(ctx, "count to 3", openworker.TurnOptions{Limits: openworker.Limits{MaxModelCalls: openworker.Set(0)}})
	fmt.Println(openworker.CodeOf(err))
	// Output:
	// completed 1, 2, 3.
	// invalid_limits
}

// A turn says what it waits for, and goes on by itself once it is there.
func Example_waiting() {
	harness, close := offline() // has no provider but Scripted
	defer close()
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "elsewhere",
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "gpt-5-mini"},
	})
	if err != nil {
		panic(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		panic(err)
	}
	result, err := session.Run(ctx, "hello")
	if err != nil {
		panic(err)
	}
	if result.Status == openworker.StatusInterrupted {
		for _, reason := range result.WaitingFor {
			fmt.Println("waits for", reason)
		}
	}
	// Output: waits for registration_missing OpenAI
}
