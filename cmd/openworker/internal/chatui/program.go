package chatui

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// framesPerSecond is how often the screen is compared with what it should show, also while nothing changes: quick enough
// for typing, and a third of the usual number of wakeups.
const framesPerSecond = 20

// Run is the chat: it takes the terminal and gives it back as it was. Signals that come through interrupts are
// Ctrl-C; the end of ctx leaves, as one does by hand. What is written to notes meanwhile is shown.
func Run(ctx context.Context, opt Options, interrupts <-chan os.Signal, notes *Notes) (Left, error) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	model := newChat(inner, opt)
	program := tea.NewProgram(model, programOptions(opt)...)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		leave := ctx.Done()
		for {
			select {
			case <-leave:
				leave = nil
				program.Send(leaveMsg{})
			case <-interrupts:
				program.Send(controlMsg{})
			case <-inner.Done():
				return
			}
		}
	})
	notes.to(func(line string) { program.Send(logMsg(line)) })
	_, err := program.Run()
	notes.to(nil)
	stop()
	watcher.Wait()
	model.cancel()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil // the terminal went away with the one who sat at it
	}
	if model.err != nil {
		err = model.err
	}
	return model.left, err
}

func programOptions(opt Options) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond)}
	if opt.Input != nil {
		options = append(options, tea.WithInput(opt.Input))
	}
	if opt.Output != nil {
		options = append(options, tea.WithOutput(opt.Output))
	}
	if opt.Environment != nil {
		options = append(options, tea.WithEnvironment(opt.Environment))
	}
	if opt.Width > 0 && opt.Height > 0 {
		options = append(options, tea.WithWindowSize(opt.Width, opt.Height))
	}
	profile := colorprofile.ANSI
	if !opt.Colors {
		profile = colorprofile.ASCII
	}
	return append(options, tea.WithColorProfile(profile))
}

// Notes is where a program writes what is no part of its screen, such as its log: it goes to another writer, and
// while a chat has the terminal, into that.
type Notes struct {
	plain io.Writer

	mu   sync.Mutex
	show func(line string) // nil while no chat is there
	part string            // of a line
}

// NewNotes makes Notes for a writer.
func NewNotes(plain io.Writer) *Notes { return &Notes{plain: plain} }

// Write takes text; a chat shows it a line at a time.
func (n *Notes) Write(text []byte) (int, error) {
	n.mu.Lock()
	show := n.show
	if show == nil {
		defer n.mu.Unlock()
		return n.plain.Write(text)
	}
	lines := strings.Split(n.part+string(text), "\n")
	n.part = lines[len(lines)-1]
	n.mu.Unlock() // showing may wait for the screen
	for _, line := range lines[:len(lines)-1] {
		show(line)
	}
	return len(text), nil
}

func (n *Notes) to(show func(line string)) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.part != "" {
		_, _ = n.plain.Write([]byte(n.part)) // an error of a log is nobody's
	}
	n.show, n.part = show, ""
}
