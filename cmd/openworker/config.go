package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
)

func (m *Main) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show what is configured, and set keys",
		Long: `Shows what is configured and where each value comes from: the environment goes
before the configuration file, and the file before what is built in. Keys are
shown as set or not, never themselves. No server is asked; openworker doctor
does.`,
		Example: `  openworker config
  openworker config --json
  openworker config set-key Anthropic`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error { return m.showConfig(ctx) }),
	}
	cmd.AddCommand(m.configPathCommand(), m.configExampleCommand(), m.setKeyCommand(), m.unsetKeyCommand())
	return cmd
}

// sourced is a value and where it comes from.
type sourced struct {
	Value string `json:"value,omitempty"`
	From  string `json:"from,omitempty"`
}

// shownConfig is what is configured, as --json prints it.
type shownConfig struct {
	ConfigFile  sourced         `json:"configFile"`
	Present     bool            `json:"present"`
	StateDir    sourced         `json:"stateDir"`
	Model       sourced         `json:"model"`
	Credentials sourced         `json:"credentials"`
	KeyFile     string          `json:"keyFile,omitempty"`
	Providers   []shownProvider `json:"providers"`
}

type shownProvider struct {
	Name        string   `json:"name"`
	Protocol    sourced  `json:"protocol"`
	BaseURL     sourced  `json:"baseURL"`
	KeySet      bool     `json:"keySet"`
	KeyFrom     string   `json:"keyFrom,omitempty"`
	KeyOptional bool     `json:"keyOptional,omitempty"`
	Headers     []string `json:"headers,omitempty"` // their names
	Models      []string `json:"models,omitempty"`
}

func (m *Main) showConfig(ctx context.Context) error {
	cfg, err := m.configuration()
	if err != nil {
		return err
	}
	shown := shownConfig{
		ConfigFile: sourced{cfg.File, cfg.FileFrom}, Present: cfg.Present,
		StateDir: sourced{m.stateDir, m.stateDirFrom()}, Model: sourced{cfg.Model, cfg.ModelFrom},
		Credentials: sourced{string(cfg.Credentials), cfg.CredentialsFrom}, KeyFile: cfg.KeyFile,
	}
	if shown.Credentials.Value == "" {
		shown.Credentials.Value = string(config.KeysInEnvironment) + ", then " + string(config.KeysInFile)
	}
	for _, p := range cfg.Providers {
		key, from, err := cfg.Key(ctx, p)
		if err != nil {
			return aboutKeys(cfg, err)
		}
		one := shownProvider{
			Name: p.Name, Protocol: sourced{string(p.Protocol), p.From["protocol"]}, BaseURL: sourced{p.BaseURL, p.From["baseURL"]},
			KeySet: key != "", KeyFrom: from, KeyOptional: p.KeyOptional, Models: p.Models,
		}
		for name := range p.Headers {
			one.Headers = append(one.Headers, name)
		}
		shown.Providers = append(shown.Providers, one)
	}
	if m.json {
		m.printJSON(m.Stdout, shown)
		return nil
	}
	m.printConfig(shown, cfg)
	return nil
}

func (m *Main) printConfig(shown shownConfig, cfg *config.Config) {
	out := bufio.NewWriter(m.Stdout)
	defer out.Flush()
	p := m.paint()
	line := func(name, value, from string) {
		fmt.Fprintf(out, "%-12s %s  %s\n", name, printable(value), p.dim(printable("("+from+")")))
	}
	switch {
	case shown.ConfigFile.Value == "":
		line("file", "none", "there is no directory for one")
	case !shown.Present:
		line("file", shown.ConfigFile.Value+", which is not there", shown.ConfigFile.From)
	default:
		line("file", shown.ConfigFile.Value, shown.ConfigFile.From)
	}
	line("state", shown.StateDir.Value, shown.StateDir.From)
	if shown.Model.Value == "" {
		line("model", "chosen at each start", "neither OPENWORKER_MODEL nor the file names one")
	} else {
		line("model", shown.Model.Value, shown.Model.From)
	}
	line("keys", shown.Credentials.Value, shown.Credentials.From)
	for i, one := range shown.Providers {
		key := "no key; " + wayToKey(cfg.Providers[i])
		switch {
		case one.KeySet:
			key = "key set by " + one.KeyFrom
		case one.KeyOptional:
			key = "no key, and it may need none"
		}
		fmt.Fprintf(out, "\n%s\n", p.bold(one.Name))
		line("  protocol", one.Protocol.Value, one.Protocol.From)
		line("  address", one.BaseURL.Value, one.BaseURL.From)
		fmt.Fprintf(out, "  %-10s %s\n", "key", key)
		if len(one.Headers) > 0 {
			fmt.Fprintf(out, "  %-10s %s\n", "headers", strings.Join(one.Headers, ", "))
		}
		if len(one.Models) > 0 {
			fmt.Fprintf(out, "  %-10s %s\n", "models", printable(strings.Join(one.Models, ", ")))
		}
	}
}

// stateDirFrom says where the state directory's name comes from.
func (m *Main) stateDirFrom() string {
	switch set, _ := m.Lookup("OPENWORKER_STATE_DIR"); {
	case m.stateDir != m.usualDir:
		return "--state-dir"
	case set != "":
		return "OPENWORKER_STATE_DIR"
	}
	return "the default"
}

func (m *Main) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration file is, or would be",
		Long: `Prints the name of the configuration file, which need not be there:
OPENWORKER_CONFIG, or config.yaml in the directory openworker of the user's
configuration.`,
		Example: `  openworker config path`,
		Args:    cobra.NoArgs,
		RunE: m.begin(func(context.Context, []string) error {
			file, _ := m.Lookup("OPENWORKER_CONFIG")
			if file == "" && m.ConfigDir != "" {
				file = config.FileIn(m.ConfigDir)
			}
			if file == "" {
				return api.Errorf(api.CodeInvalidRequest, "there is no directory for a configuration file; set HOME, or OPENWORKER_CONFIG to the file's name")
			}
			if m.json {
				m.printJSON(m.Stdout, map[string]string{"configFile": file})
				return nil
			}
			fmt.Fprintln(m.Stdout, file)
			return nil
		}),
	}
}

func (m *Main) configExampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "example",
		Short: "Print a configuration file with everything that may stand in it",
		Long: `Prints a configuration file with a comment for everything that may stand in it.
All of it is optional.`,
		Example: `  mkdir -p "$(dirname "$(openworker config path)")"
  openworker config example > "$(openworker config path)"`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(context.Context, []string) error {
			if m.json {
				m.printJSON(m.Stdout, map[string]string{"example": config.Example})
				return nil
			}
			_, err := io.WriteString(m.Stdout, config.Example)
			return err
		}),
	}
}
