package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// open opens the state directory to run sessions with the chosen model.
func (m *Main) open(ctx context.Context, c choice) (*openworker.Harness, error) {
	scratch := m.ScratchDir
	if len(c.providers) > 0 { // else nothing is run
		var err error
		if scratch, err = m.scratch(); err != nil {
			return nil, err
		}
	}
	return openworker.Open(ctx, openworker.Options{
		StateDir:    m.stateDir,
		Providers:   c.providers,
		Credentials: c.credentials,
		ScratchDir:  scratch,
		Guardrails:  guardrails(),
		Logger:      slog.New(slog.NewTextHandler(m.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
}

// scratch is where the workspaces of sessions are, "" for the system's cache directory. Where none can be made there,
// without HOME as in many a container or with one that cannot be written to, it is a private directory among the
// temporary files.
func (m *Main) scratch() (string, error) {
	if m.ScratchDir != "" || cacheable() {
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

// cacheable reports whether this user can make directories in the cache directory.
func cacheable() bool {
	dir, err := os.UserCacheDir()
	if err != nil {
		return false
	}
	if dir = filepath.Join(dir, "openworker"); os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	probe, err := os.MkdirTemp(dir, "probe-")
	return err == nil && os.Remove(probe) == nil
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
