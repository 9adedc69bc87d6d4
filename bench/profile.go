package main

import (
	"context"
	"path/filepath"
	"slices"
)

// profile runs OpenWorker at the most sessions and leaves a CPU profile of it.
func profile(ctx context.Context, p plan, model *modelProcess) error {
	path, err := filepath.Abs(p.profile)
	if err != nil {
		return err
	}
	one := allPeers()[0]
	if one.command, err = one.build(ctx, p.out); err != nil {
		return err
	}
	one.mode = "profile=" + path
	sessions := slices.Max(p.sessions)
	m, err := measure(ctx, p, one, model, sessions)
	if err != nil {
		return err
	}
	say("%d sessions: %.0f turns a second; the profile is in %s", sessions, m.PerSecond, path)
	return nil
}
