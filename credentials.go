package openworker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// Credentials find the secret for a provider (RE5). They are asked before each model call, so a secret
// may change or appear at any time; a turn that meets a missing one waits with credentials_missing and
// goes on once it is there. Secrets are never stored or logged.
//
// [MemoryCredentials], [EnvironmentCredentials], [FileCredentials] and [CredentialFunc] implement it.
type Credentials interface {
	// Credential returns the secret for the provider of that name; ok is false where there is none. It may
	// be called concurrently.
	Credential(ctx context.Context, provider string) (secret string, ok bool, err error)
}

// CredentialFunc asks the program, for example its own secret store.
type CredentialFunc func(ctx context.Context, provider string) (secret string, ok bool, err error)

// Credential calls the function.
func (f CredentialFunc) Credential(ctx context.Context, provider string) (string, bool, error) {
	return f(ctx, provider)
}

// MemoryCredentials live as long as the process; the program sets them anew when it starts. The zero
// value is empty and ready.
type MemoryCredentials struct {
	mu      sync.RWMutex
	secrets map[string]string
}

// NewMemoryCredentials takes secrets by provider, whose names are matched without case.
func NewMemoryCredentials(secrets map[string]string) *MemoryCredentials {
	m := &MemoryCredentials{}
	for provider, secret := range secrets {
		m.Set(provider, secret)
	}
	return m
}

// Set sets or replaces a provider's secret; "" removes it.
func (m *MemoryCredentials) Set(provider, secret string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secrets == nil {
		m.secrets = map[string]string{}
	}
	m.secrets[strings.ToLower(provider)] = secret
}

// Credential returns the secret that was set.
func (m *MemoryCredentials) Credential(_ context.Context, provider string) (string, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	secret := m.secrets[strings.ToLower(provider)]
	return secret, secret != "", nil
}

// EnvironmentCredentials read PROVIDER_API_KEY through lookup, which is os.LookupEnv in a program: the
// name in capitals, with _ for whatever is no letter or digit, so OPENAI_API_KEY for OpenAI.
func EnvironmentCredentials(lookup func(name string) (string, bool)) Credentials {
	return CredentialFunc(func(_ context.Context, provider string) (string, bool, error) {
		secret, _ := lookup(environmentName(provider))
		return secret, secret != "", nil
	})
}

func environmentName(provider string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(provider)) + "_API_KEY"
}

// maxCredentialBytes bounds a file of credentials.
const maxCredentialBytes = 1 << 20

// FileCredentials read a JSON object of secrets by provider, {"OpenAI": "…"}, from a file that only its
// owner may read (0600). The file is read at each call; one that is not there holds no secrets. A file
// that others may read, or that is no such object, is credentials_missing with what to do.
func FileCredentials(path string) Credentials {
	return CredentialFunc(func(_ context.Context, provider string) (string, bool, error) {
		secrets, err := readCredentials(path)
		if err != nil {
			return "", false, err
		}
		for name, secret := range secrets {
			if strings.EqualFold(name, provider) {
				return secret, secret != "", nil
			}
		}
		return "", false, nil
	})
}

func readCredentials(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() { // looked at first: opening a pipe would wait for its writer
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials %s are not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials cannot be read: %w", err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials cannot be read: %w", err)
	}
	// Windows has no such modes; there the file's directory protects it.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials %s have mode %04o, so others may read them; set it to 0600", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxCredentialBytes+1))
	if err != nil {
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials cannot be read: %w", err)
	}
	var secrets map[string]string
	// The decoder's error may quote the file, and with it a secret.
	if len(data) > maxCredentialBytes || json.Unmarshal(data, &secrets) != nil {
		return nil, api.Errorf(api.CodeCredentialsMissing, "the credentials %s are not a JSON object of strings, for example {%q: %q}", path, "OpenAI", "the key")
	}
	return secrets, nil
}
