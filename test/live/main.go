package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	cache, _ := os.UserCacheDir()
	dir := flag.String("dir", filepath.Join(cache, "openworker-live"), "directory to install the server and the model in")
	flag.Parse()
	if err := live(context.Background(), *dir); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func live(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	server, model, err := install(ctx, dir)
	if err != nil {
		return err
	}
	up, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	address, stop, err := startServer(up, server, model, filepath.Join(dir, "server.log"))
	if err != nil {
		return err
	}
	defer stop()
	t, err := newTap(address)
	if err != nil {
		return err
	}
	defer t.close()
	work, err := os.MkdirTemp("", "openworker-live-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, "openworker")
	if err := run(ctx, exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/openworker")); err != nil {
		return err
	}
	return check(ctx, &bench{tap: t, binary: binary, dir: work})
}

// check runs every check and fails if one failed.
func check(ctx context.Context, b *bench) error {
	checks := []struct {
		name string
		run  func(context.Context, *bench) (string, error)
	}{
		{"a conversation through openworker chat", conversation},
		{"a streamed turn through the SDK, with its usage", streamed},
		{"a conversation that outgrows a window of 2,048 tokens, through the SDK", summarised},
		{"a turn cancelled in the middle of its answer, through the SDK", cancelled},
		{"a turn interrupted in the middle of its answer, in openworker chat", interrupted},
		{"a process killed in the middle of its answer, and gone on with by openworker chat", killedChat},
		{"a process killed in the middle of its answer, and gone on with by the SDK", killedSDK},
	}
	failed := 0
	for _, c := range checks {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
		detail, err := c.run(limited, b)
		cancel()
		took := time.Since(began).Round(100 * time.Millisecond)
		if err != nil {
			failed++
			fmt.Printf("FAIL  %s (%s): %v\n", c.name, took, err)
			continue
		}
		fmt.Printf("ok    %s (%s): %s\n", c.name, took, detail)
	}
	fmt.Printf("%d passed, %d failed\n", len(checks)-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
