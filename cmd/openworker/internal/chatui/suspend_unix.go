//go:build unix

package chatui

import (
	"context"
	"os"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// wakeAfter is when a suspension that does not come about is given up.
const wakeAfter = 300 * time.Millisecond

// suspend stops the program until the shell goes on with it. Where no shell could, as in a container or a window of
// the program's own, the system does not stop it, and it would wait for ever for the signal that ends a stop: so it
// sends that one itself. While it is stopped it cannot.
func (m *chat) suspend() tea.Cmd {
	ctx, awake := context.WithCancel(m.ctx)
	if m.suspended != nil {
		m.suspended()
	}
	m.suspended = awake
	go func() {
		clock := time.NewTicker(wakeAfter)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
				_ = syscall.Kill(os.Getpid(), syscall.SIGCONT) // to itself it cannot fail
			}
		}
	}()
	return tea.Suspend
}
