//go:build unix

package openworker

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAPipeInPlaceOfCredentialsIsRefusedAndNotWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "credentials")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, _, err := FileCredentials(path).Credential(context.Background(), "OpenAI")
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for somebody to write")
	}
}
