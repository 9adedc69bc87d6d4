package openworker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
)

// RE5
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) Credentials {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		return FileCredentials(path)
	}
	environment := func(name string) (string, bool) {
		value, ok := map[string]string{"OPENAI_API_KEY": "sk-1", "MY_GATEWAY_2_API_KEY": "sk-2", "EMPTY_API_KEY": ""}[name]
		return value, ok
	}
	changed := NewMemoryCredentials(map[string]string{"openai": "old", "google": "sk"})
	changed.Set("OpenAI", "new")
	changed.Set("Google", "")
	tests := []struct {
		name        string
		credentials Credentials
		provider    string
		want        string
		message     string // of the error; "" for none
	}{
		{"memory matches without case", NewMemoryCredentials(map[string]string{"openai": "sk-1"}), "OpenAI", "sk-1", ""},
		{"memory lacks what was not set", NewMemoryCredentials(nil), "OpenAI", "", ""},
		{"memory's zero value is empty", &MemoryCredentials{}, "OpenAI", "", ""},
		{"memory takes what is set later", changed, "OPENAI", "new", ""},
		{"memory forgets what is set to nothing", changed, "Google", "", ""},
		{"the environment names a provider in capitals", EnvironmentCredentials(environment), "OpenAI", "sk-1", ""},
		{"the environment's names have no other signs", EnvironmentCredentials(environment), "my-gateway.2", "sk-2", ""},
		{"an empty variable is no credential", EnvironmentCredentials(environment), "empty", "", ""},
		{"a private file is read", write("good", `{"openai":"sk-1"}`, 0o600), "OpenAI", "sk-1", ""},
		{"a file may be read-only", write("read-only", `{"openai":"sk-1"}`, 0o400), "OpenAI", "sk-1", ""},
		{"a file lacks what is not in it", write("other", `{"Google":"sk-1"}`, 0o600), "OpenAI", "", ""},
		{"a missing file has nothing", FileCredentials(filepath.Join(dir, "none")), "OpenAI", "", ""},
		{"a file that others may read is refused", write("open", `{"openai":"sk-1"}`, 0o644), "OpenAI", "", "set it to 0600"},
		{"a file that a group may write is refused", write("group", `{"openai":"sk-1"}`, 0o620), "OpenAI", "", "mode 0620"},
		{"a file of another shape is refused", write("broken", `{"openai":sk-1}`, 0o600), "OpenAI", "", "JSON object of strings"},
		{"a directory is refused", FileCredentials(dir), "OpenAI", "", "regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			secret, ok, err := tt.credentials.Credential(context.Background(), tt.provider)
			if secret != tt.want || ok != (tt.want != "") {
				t.Errorf("secret %q, %v; want %q", secret, ok, tt.want)
			}
			if tt.message == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if CodeOf(err) != api.CodeCredentialsMissing || !strings.Contains(err.Error(), tt.message) || strings.Contains(err.Error(), "sk-1") {
				t.Errorf("error %v", err)
			}
		})
	}
}
