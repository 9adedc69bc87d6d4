package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, args string }{
		{"openworker", "--help"},
		{"chat", "chat --help"},
		{"run", "run --help"},
		{"events", "events --help"},
		{"sessions", "sessions --help"},
		{"sessions-list", "sessions list --help"},
		{"sessions-export", "sessions export --help"},
		{"sessions-show", "sessions show --help"},
		{"sessions-delete", "sessions delete --help"},
		{"sessions-grants", "sessions grants --help"},
		{"sessions-import", "sessions import --help"},
		{"sessions-compact", "sessions compact --help"},
		{"approvals", "approvals --help"},
		{"approvals-list", "approvals list --help"},
		{"approvals-show", "approvals show --help"},
		{"approvals-allow", "approvals allow --help"},
		{"approvals-deny", "approvals deny --help"},
		{"approvals-answer", "approvals answer --help"},
		{"approvals-outcome", "approvals outcome --help"},
		{"export", "export --help"},
		{"backup", "backup --help"},
		{"demo", "demo --help"},
		{"agents", "agents --help"},
		{"agents-list", "agents list --help"},
		{"agents-show", "agents show --help"},
		{"agents-check", "agents check --help"},
		{"config", "config --help"},
		{"config-path", "config path --help"},
		{"config-example", "config example --help"},
		{"config-set-key", "config set-key --help"},
		{"config-unset-key", "config unset-key --help"},
		{"doctor", "doctor --help"},
		{"completion", "completion --help"},
		{"version", "version --help"},
		{"exit-codes", "help exit-codes"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			got := newPlace(t).ok("", strings.Fields(tt.args)...).out
			path := filepath.Join("testdata", "help", tt.file+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run the test with -update if this is meant: %s", diff)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 && tt.file != "exit-codes" && tt.file != "chat" {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if tt.file != "exit-codes" && !strings.Contains(got, "Examples:") {
				t.Error("there is no example")
			}
		})
	}
}

func TestMisuseIsToldApartFromFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		code       int
		says       []string
	}{
		{"an unknown command", "frobnicate", exitUsage, []string{"error: invalid_request: unknown command \"frobnicate\"", "openworker --help"}},
		{"a command that is typed wrong", "sesions", exitUsage, []string{"unknown command \"sesions\"", "did you mean sessions?"}},
		{"a subcommand that is typed wrong", "sessions shwo", exitUsage, []string{"did you mean show?"}},
		{"help about nothing", "help nope", exitUsage, []string{"unknown command \"nope\""}},
		{"an unknown flag", "chat --loud", exitUsage, []string{"unknown flag: --loud", "openworker chat --help"}},
		{"a number that is none", "events s1 --after x", exitUsage, []string{"--after", "openworker events --help"}},
		{"too few arguments", "run", exitUsage, []string{"openworker run needs TEXT", "openworker run --help"}},
		{"too many arguments", "events a b", exitUsage, []string{"openworker events takes no more than SESSION, and 2 are given"}},
		{"an agent's setting for a session that has an agent", "run --session s1 --system x hello", exitUsage, []string{"--system is for a new session"}},
		{"misuse in JSON", "run --json", exitUsage, []string{`{"error":{"code":"invalid_request"`, `"next":"openworker run --help`}},
		{"a value that the flag does not take", "run --approve ask hello", exitUsage, []string{`--approve is "ask"; give always or never`}},
		{"no tokens", "run --max-output-tokens 0 hello", exitUsage, []string{"--max-output-tokens is 0"}},
		{"fewer tokens than none", "chat --max-output-tokens -1", exitUsage, []string{"--max-output-tokens is -1"}},
		{"no session's name", "chat --session=", exitUsage, []string{"--session is empty"}},
		{"a demo with a state directory", "demo --state-dir x", exitUsage, []string{"leave out --state-dir"}},
		{"nothing to delete", "sessions delete", exitUsage, []string{"--idle-for"}},
		{"an agent and a part of one", "run --agent a.yaml --no-tools hello", exitUsage, []string{"--no-tools is part of what --agent gives"}},
		{"no agent's name", "chat --agent=", exitUsage, []string{"--agent is empty"}},
		{"an agent for a session that has one", "run --session s1 --agent a.yaml hello", exitUsage, []string{"--agent is for a new session"}},
		{"an agent file that is not there", "run --agent none.yaml hello", exitFailure, []string{"error: invalid_request: the file cannot be read: ", "none.yaml"}},
		{"an unknown agent", "run --agent nobody hello", exitFailure, []string{"error: agent_not_found: no agent \"nobody\" is in this store", "nobody.yaml, ./nobody", "openworker agents lists"}},
		{"an unknown agent to show", "agents show nobody", exitFailure, []string{"error: agent_not_found:"}},
		{"a negative number of messages", "sessions show s1 --last -1", exitUsage, []string{"--last is -1"}},
		{"an unknown session to show", "sessions show s404", exitFailure, []string{"error: session_not_found:"}},
		{"a key for nobody", "config set-key Nobody", exitFailure, []string{"error: unknown_provider: there is no provider \"Nobody\"; there are OpenAI, Anthropic, Google"}},
		{"a model's name for a key", "config set-key Gemini", exitFailure, []string{"there is no provider \"Gemini\"; did you mean Google?"}},
		{"a provider that is typed wrong for a key", "config set-key antropic", exitFailure, []string{"did you mean Anthropic?"}},
		{"no provider for a key", "config set-key", exitUsage, []string{"openworker config set-key needs PROVIDER"}},
		{"no agent file to check", "agents check", exitUsage, []string{"openworker agents check --help"}},
		{"an unknown shell", "completion tcsh", exitUsage, []string{"tcsh"}},
		{"a model of a provider without a key", "run --model anthropic/claude-sonnet-5 hello", exitFailure, []string{
			"error: credentials_missing: Anthropic needs a key", "set ANTHROPIC_API_KEY, or store a key with openworker config set-key Anthropic",
		}},
		{"both ways to delete", "sessions delete s1 --idle-for 1h", exitUsage, []string{"--idle-for"}},
		{"no age", "sessions delete --idle-for 0s", exitUsage, []string{"more than 0"}},
		{"an unknown session", "events s404", exitFailure, []string{"error: session_not_found:", "openworker sessions lists those in"}},
		{"an unknown session to talk to", "chat --session s404", exitFailure, []string{"error: session_not_found:"}},
		{"a failure in JSON", "events s404 --json", exitFailure, []string{`{"error":{"code":"session_not_found"`, `"retryable":false`, `"next":"openworker sessions`}},
		{"an address that is none", "run hello", exitFailure, []string{"invalid_request: OPENAI_BASE_URL: "}},
		{"a state directory that cannot be", "sessions --state-dir /dev/null/state", exitFailure, []string{"error: store_"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if tt.code == exitFailure && !strings.Contains(tt.args, "/dev/null") {
				p.ok("", "run", "hello") // so that there is a state directory
			}
			if tt.name == "an address that is none" {
				p.env["OPENAI_BASE_URL"] = "not an address"
			}
			got := p.run("", strings.Fields(tt.args)...)
			if got.code != tt.code || got.out != "" {
				t.Errorf("exit code %d, want %d; standard output has %q", got.code, tt.code, got.out)
			}
			for _, text := range tt.says {
				if !strings.Contains(got.err, text) {
					t.Errorf("%q does not say %q", got.err, text)
				}
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if got := p.ok("", "version").out; !strings.HasPrefix(got, "openworker ") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if long, short := p.ok("", "--version").out, p.ok("", "version").out; long != short {
		t.Errorf("--version prints %q and version %q", long, short)
	}
	if got := p.ok("", "version", "--json").out; !strings.HasPrefix(got, `{"version":"`) {
		t.Errorf("%q", got)
	}
}
