package stdio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/stdio"
)

// longAnswers is a host whose runs have all ended, and whose answers have 200 KiB.
type longAnswers struct {
	bodies
	made atomic.Int64
}

func (h *longAnswers) text() string {
	h.made.Add(1)
	return strings.Repeat("x", 200<<10)
}

func (h *longAnswers) Submit(_ context.Context, sub api.Submission) (api.RunReference, error) {
	return api.RunReference{Session: sub.Session, Run: "r"}, nil
}

func (h *longAnswers) ResultWhen(ctx context.Context, _, run string, ready func(context.Context) error) (api.Result, error) {
	for range 2 {
		if err := ready(ctx); err != nil {
			return api.Result{}, err
		}
	}
	return api.Result{Run: run, Status: api.StatusCompleted, Text: h.text()}, nil
}

func (h *longAnswers) State(context.Context, string) (api.SessionState, error) {
	return api.SessionState{Session: h.text()}, nil
}

func (h *longAnswers) Sessions(context.Context, api.SessionQuery) (api.SessionPage, error) {
	return api.SessionPage{Next: h.text()}, nil
}

func (h *longAnswers) Follow(context.Context, api.FollowQuery) (api.EventStream, error) {
	return longEvents{h}, nil
}

type longEvents struct{ host *longAnswers }

func (e longEvents) Next(ctx context.Context) (api.Event, error) {
	return api.Event{Type: api.EventModelCallFinished, Data: []byte(`"` + e.host.text() + `"`)}, ctx.Err()
}

func (longEvents) Close() error { return nil }

// What waits for a client that does not read is asked for again, or is in the store: it is made when the client reads.
func TestWhatIsLongIsMadeNoFasterThanItIsRead(t *testing.T) {
	t.Parallel()
	const asked = 1_000
	for name, request := range map[string]string{
		"results":                  `"method":"run/result","params":{"session":"s","run":"r"}`,
		"turns with their results": `"method":"turn/run","params":{"session":"s","text":"hello"}`,
		"states":                   `"method":"session/state","params":{"session":"s"}`,
		"lists":                    `"method":"session/list","params":{}`,
		"events":                   `"method":"event/next","params":{"subscription":"s%d","max":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				host := &longAnswers{bodies: bodies{tools: make(chan tool.Tool, 1)}}
				in, toRuntime := io.Pipe()
				fromRuntime, out := io.Pipe()
				done := make(chan error, 1)
				go func() {
					done <- stdio.Serve(context.Background(), in, out, stdio.Config{Grace: time.Second, Open: func(context.Context, stdio.Setup) (stdio.Host, error) { return host, nil }})
					_ = out.Close()
				}()
				say := func(line string) {
					if _, err := io.WriteString(toRuntime, line+"\n"); err != nil {
						t.Error(err)
					}
				}
				lines := bufio.NewReader(fromRuntime)
				hear := func() string {
					line, err := lines.ReadString('\n')
					if err != nil || strings.Contains(line[:min(len(line), 200)], `"error":`) {
						t.Fatalf("%.300s, %v", line, err)
					}
					return line
				}
				say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersions":[1],"client":{"name":"t","version":"1"}}}`)
				hear()
				for i := range asked {
					if strings.Contains(request, "%d") {
						say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"f%d","method":"event/subscribe","params":{"session":"s"}}`, i))
						hear()
					}
				}
				for i := range asked {
					line := request
					if strings.Contains(request, "%d") {
						line = fmt.Sprintf(request, i+1)
					}
					say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d",%s}`, i, line))
				}
				synctest.Wait()
				if made := host.made.Load(); made < 16 || made > asked/2 {
					t.Errorf("of %d answers of 200 KiB %d were made before one was read", asked, made)
				}
				_ = fromRuntime.Close()
				_ = toRuntime.Close()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
