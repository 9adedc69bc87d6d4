package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/model/scripted"
)

const (
	openAI          = "OpenAI" // the provider of openaichat
	officialBaseURL = "https://api.openai.com/v1"
	defaultModel    = "gpt-5-mini"
	offlineModel    = "demo"
	askTimeout      = 5 * time.Second
)

// choice is the model that a command talks to.
type choice struct {
	providers   []openworker.Provider
	credentials openworker.Credentials
	model       openworker.ModelRef
	server      bool   // a model server, not the offline model
	line        string // which was taken, and why
}

// choose goes by the environment: OPENAI_BASE_URL and OPENAI_API_KEY name a server, else the offline model
// answers. The model's name is the flag's, else OPENWORKER_MODEL, else the first that the server lists.
func (m *Main) choose(ctx context.Context, name string) (choice, error) {
	offline := scripted.New(scripted.Config{Pace: m.pace()})
	c := choice{providers: []openworker.Provider{offline}, credentials: openworker.EnvironmentCredentials(m.Lookup)}
	if name == "" {
		name, _ = m.Lookup("OPENWORKER_MODEL")
	}
	base, _ := m.Lookup("OPENAI_BASE_URL")
	key, _ := m.Lookup("OPENAI_API_KEY")
	if base == "" && key == "" {
		if name == "" {
			name = offlineModel
		}
		c.model = openworker.ModelRef{Provider: offline.Name(), Name: name}
		c.line = "the offline model answers, since neither OPENAI_BASE_URL nor OPENAI_API_KEY is set"
		return c, nil
	}
	why := "OPENAI_BASE_URL is set"
	if base == "" {
		base, why = officialBaseURL, "OPENAI_API_KEY is set"
	}
	provider, err := openaichat.New(openaichat.Config{BaseURL: base, KeyOptional: key == ""})
	if err != nil {
		return choice{}, api.Errorf(api.CodeInvalidRequest, "OPENAI_BASE_URL: %s", api.AsError(err).Message)
	}
	switch {
	case name != "":
	case base == officialBaseURL:
		name, why = defaultModel, why+", and OPENWORKER_MODEL is not"
	default:
		listed, err := firstModel(ctx, base, key)
		if err != nil {
			name, why = defaultModel, why+fmt.Sprintf(", but its list of models cannot be read (%v): guessing %s; name one with --model", err, defaultModel)
		} else {
			name, why = listed, why+", and it lists this model first"
		}
	}
	c.providers = append(c.providers, provider)
	c.model = openworker.ModelRef{Provider: provider.Name(), Name: name}
	c.server = true
	c.line = fmt.Sprintf("%s at %s answers, since %s", name, base, why)
	return c, nil
}

// pace is how fast the offline model seems to think: as fast as it can when nobody watches.
func (m *Main) pace() time.Duration {
	if m.Terminal {
		return 25 * time.Millisecond
	}
	return 0
}

// firstModel asks a server for its models.
func firstModel(ctx context.Context, base, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return "", err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // no proxy, like the provider
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", fmt.Errorf("the list is empty")
	}
	return list.Data[0].ID, nil
}

// open opens the state directory to run sessions with the chosen model.
func (m *Main) open(ctx context.Context, c choice) (*openworker.Harness, error) {
	scratch, err := m.scratch()
	if err != nil {
		return nil, err
	}
	return openworker.Open(ctx, openworker.Options{
		StateDir:    m.stateDir,
		Providers:   c.providers,
		Credentials: c.credentials,
		ScratchDir:  scratch,
		Logger:      slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// scratch is where the workspaces of sessions are, "" for the system's cache directory. Where there is none,
// without HOME as in many a container, it is a private directory among the temporary files.
func (m *Main) scratch() (string, error) {
	if _, err := os.UserCacheDir(); m.ScratchDir != "" || err == nil {
		return m.ScratchDir, nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("openworker-scratch-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", api.Errorf(api.CodeInvalidWorkspace, "the sessions' workspaces cannot be made: %w; set HOME, or TMPDIR to a directory that can be written to", err)
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		return "", api.Errorf(api.CodeInvalidWorkspace, "%s is to hold the sessions' workspaces and is no directory of mode 0700; remove it, or set HOME", dir)
	}
	return dir, nil
}

// openToRead opens the state directory for looking: without a provider nothing can run here.
func (m *Main) openToRead(ctx context.Context) (*openworker.Harness, error) {
	if err := m.existing(); err != nil {
		return nil, err
	}
	return m.open(ctx, choice{})
}

// closeAfter closes the harness behind a command, whose own error goes before.
func closeAfter(h *openworker.Harness, err *error) {
	if closing := h.Close(context.Background()); *err == nil && api.CodeOf(closing) != api.CodeClosed {
		*err = closing
	}
}
