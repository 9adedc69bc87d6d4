package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
)

// maxSecretBytes is more than any key has.
const maxSecretBytes = 64 << 10

func (m *Main) setKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set-key PROVIDER",
		Short: "Store a provider's key for this user",
		Long: `Reads a key from standard input, without showing it on a terminal, and stores it
in credentials.json beside the configuration file, which only this user may read
(0600). A key in the environment goes before it. A turn that waits for the key
goes on.`,
		Example: `  openworker config set-key Anthropic
  pass show openai | openworker config set-key OpenAI`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.providerNames),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			cfg, p, err := m.configured(args[0])
			if err != nil {
				return err
			}
			key, err := m.readSecret(ctx, "Key for "+p.Name+": ")
			if err != nil {
				return err
			}
			if key = strings.TrimSpace(key); key == "" {
				return api.Errorf(api.CodeInvalidRequest, "no key came; openworker config unset-key %s removes one", p.Name)
			}
			if _, err := cfg.SetKey(p, key); err != nil {
				return aboutKeys(cfg, err)
			}
			return m.toldKey(ctx, cfg, p, true, "the key for "+p.Name+" is stored in "+cfg.KeyFile)
		}),
	}
}

func (m *Main) unsetKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "unset-key PROVIDER",
		Short:             "Remove a provider's stored key",
		Long:              `Removes a key that set-key stored. One in the environment stays what it is.`,
		Example:           `  openworker config unset-key Anthropic`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.providerNames),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			cfg, p, err := m.configured(args[0])
			if err != nil {
				return err
			}
			had, err := cfg.SetKey(p, "")
			if err != nil {
				return aboutKeys(cfg, err)
			}
			said := "no key for " + p.Name + " was stored"
			if had {
				said = "the key for " + p.Name + " is removed from " + cfg.KeyFile
			}
			return m.toldKey(ctx, cfg, p, false, said)
		}),
	}
}

// aboutKeys adds to an error about the file of keys what to do.
func aboutKeys(cfg *config.Config, err error) error {
	if api.CodeOf(err) != api.CodeCredentialsMissing {
		return err
	}
	return advised{err, "make " + cfg.KeyFile + " a file of JSON that only you may read (chmod 600), or remove it and store the keys anew with openworker config set-key PROVIDER"}
}

// makerOf is the provider of models that are called so.
func makerOf(name string) string {
	switch strings.ToLower(name) {
	case "gemini":
		return "Google"
	case "claude":
		return "Anthropic"
	case "gpt", "chatgpt":
		return openAI
	}
	return ""
}

// configured finds a provider that a command names.
func (m *Main) configured(name string) (*config.Config, config.Provider, error) {
	cfg, err := m.configuration()
	if err != nil {
		return nil, config.Provider{}, err
	}
	p, ok := cfg.Provider(name)
	if meant := document.Nearest(cmp.Or(makerOf(name), name), cfg.Names()); !ok && meant != "" {
		return nil, p, api.Errorf(api.CodeUnknownProvider, "there is no provider %q; did you mean %s?", name, meant)
	}
	if !ok {
		return nil, p, api.Errorf(api.CodeUnknownProvider, "there is no provider %q; there are %s, and those of the configuration file", name, strings.Join(cfg.Names(), ", "))
	}
	return cfg, p, nil
}

func (m *Main) toldKey(ctx context.Context, cfg *config.Config, p config.Provider, stored bool, said string) error {
	_, from, err := cfg.Key(ctx, p)
	if err != nil {
		return err
	}
	if m.json {
		m.printJSON(m.Stdout, struct {
			Provider string `json:"provider"`
			KeyFile  string `json:"keyFile"`
			Stored   bool   `json:"stored"`
			KeyFrom  string `json:"keyFrom,omitempty"`
		}{p.Name, cfg.KeyFile, stored, from})
		return nil
	}
	fmt.Fprintln(m.Stdout, said)
	if from != "" && from != cfg.KeyFile {
		m.note("%s is set and goes before it", from)
	}
	if cfg.Credentials == config.KeysInEnvironment {
		m.note("%s looks for keys in the environment only", cfg.File)
	}
	return nil
}

// readSecret reads a line from the terminal without showing it, or from another program.
func (m *Main) readSecret(ctx context.Context, prompt string) (string, error) {
	if m.Secret == nil {
		line, err := bufio.NewReader(io.LimitReader(m.Stdin, maxSecretBytes)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	read, restore, err := m.Secret()
	if err != nil {
		return "", err
	}
	defer restore()
	fmt.Fprint(m.Stderr, prompt)
	defer fmt.Fprintln(m.Stderr)
	type typed struct {
		line string
		err  error
	}
	lines := make(chan typed, 1)
	go func() { // a read of a terminal cannot be broken off: it ends with the program
		line, err := read()
		lines <- typed{line, err}
	}()
	select {
	case got := <-lines:
		if errors.Is(got.err, io.EOF) {
			return "", nil
		}
		return got.line, got.err
	case <-m.Interrupts:
		return "", exitStatus(exitInterrupt)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
