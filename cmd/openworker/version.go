package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (m *Main) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print what was built",
		Example: `  openworker version
  openworker version --json`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(context.Context, []string) error {
			v := version()
			if m.json {
				m.printJSON(m.Stdout, v)
				return nil
			}
			_, err := fmt.Fprintln(m.Stdout, v)
			return err
		}),
	}
}

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (b build) String() string {
	commit := ""
	if b.Commit != "" {
		commit = " (" + b.Commit + ")"
	}
	return "openworker " + b.Version + commit + ", " + b.Go + ", " + b.Platform
}

func version() build {
	v := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v.Commit = s.Value[:12]
		}
	}
	return v
}
