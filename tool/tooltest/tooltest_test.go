package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/tool/tooltest"
)

type input struct {
	N int `json:"n"`
}

var (
	good    = []json.RawMessage{json.RawMessage(`{"n":1}`), json.RawMessage(`{"n":-2}`)}
	refused = []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{"n":"1"}`), json.RawMessage(`{"n":1,"m":2}`)}
)

func TestTypedToolsPass(t *testing.T) {
	t.Parallel()
	body := func(context.Context, tool.Call, input) (input, error) { return input{}, nil }
	for _, effect := range []api.Effect{api.SideEffect, api.Idempotent, api.ReadOnly} {
		tooltest.Run(t, tooltest.Subject{
			Tool: tool.Must(tool.New("app.t", "", body, tool.Options{Effect: effect})), Arguments: good, Refused: refused,
		})
	}
}

func TestAnInspectedToolPasses(t *testing.T) {
	t.Parallel()
	var done sync.Map
	tooltest.Run(t, tooltest.Subject{
		Tool: tool.Must(tool.New("app.t", "",
			func(_ context.Context, call tool.Call, _ input) (string, error) {
				done.Store(call.ID, true)
				return "done", nil
			},
			tool.Options{Inspect: func(_ context.Context, call tool.Call) (tool.Inspection, error) {
				if _, ok := done.Load(call.ID); ok {
					return tool.Inspection{Outcome: tool.Succeeded, Output: "done"}, nil
				}
				return tool.Inspection{Outcome: tool.NotStarted}, nil
			}})),
		Arguments: good, Refused: refused,
	})
}

// fake is a tool whose every part can be wrong.
type fake struct {
	declaration func() api.ToolDeclaration
	timeout     time.Duration
	run         func(ctx context.Context, call tool.Call) (string, error)
}

func (f fake) Declaration() api.ToolDeclaration { return f.declaration() }
func (f fake) Timeout() time.Duration           { return f.timeout }
func (f fake) Run(ctx context.Context, call tool.Call) (string, error) {
	return f.run(ctx, call)
}

type inspectedFake struct {
	fake
	inspect func(n int) (tool.Inspection, error)
	asked   *int
}

func (f inspectedFake) Inspect(context.Context, tool.Call) (tool.Inspection, error) {
	*f.asked++
	return f.inspect(*f.asked)
}

func TestTheSuiteFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	with := func(change func(*fake)) fake {
		f := fake{
			declaration: func() api.ToolDeclaration {
				return api.ToolDeclaration{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}
			},
			run: func(context.Context, tool.Call) (string, error) { return "", nil },
		}
		change(&f)
		return f
	}
	declared := func(change func(*api.ToolDeclaration)) fake {
		return with(func(f *fake) {
			f.declaration = func() api.ToolDeclaration {
				d := api.ToolDeclaration{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}
				change(&d)
				return d
			}
		})
	}
	schema := json.RawMessage(`{"type":"object"}`)
	inspected := func(inspect func(n int) (tool.Inspection, error)) tool.Tool {
		return inspectedFake{with(func(*fake) {}), inspect, new(int)}
	}
	tests := []struct {
		name    string
		subject tooltest.Subject
		want    string
	}{
		{"a name", tooltest.Subject{Tool: declared(func(d *api.ToolDeclaration) { d.Name = "a b" })}, "the name"},
		{"an effect", tooltest.Subject{Tool: declared(func(d *api.ToolDeclaration) { d.Effect = "x" })}, "the effect"},
		{"a time-out", tooltest.Subject{Tool: with(func(f *fake) { f.timeout = -1 })}, "negative"},
		{"a schema", tooltest.Subject{Tool: declared(func(d *api.ToolDeclaration) { d.InputSchema = nil })}, "the input schema"},
		{"a declaration that can be changed from outside", tooltest.Subject{Tool: declared(func(d *api.ToolDeclaration) { d.InputSchema = schema })}, "changed"},
		{"arguments that the schema refuses", tooltest.Subject{Tool: with(func(*fake) {}), Arguments: []json.RawMessage{json.RawMessage(`[]`)}}, "does not accept"},
		{"arguments that the schema should refuse", tooltest.Subject{Tool: with(func(*fake) {}), Refused: good}, "accepts"},
		{"a subject without arguments", tooltest.Subject{Tool: with(func(*fake) {}), Arguments: []json.RawMessage{}}, "no Arguments"},
		{"a failing body", tooltest.Subject{Tool: with(func(f *fake) {
			f.run = func(context.Context, tool.Call) (string, error) { return "", errors.New("broken") }
		})}, "broken"},
		{"a panic", tooltest.Subject{Tool: with(func(f *fake) {
			f.run = func(context.Context, tool.Call) (string, error) { panic("broken") }
		})}, "panic: broken"},
		{"a panic only when cancelled", tooltest.Subject{Tool: with(func(f *fake) {
			f.run = func(ctx context.Context, _ tool.Call) (string, error) {
				if ctx.Err() != nil {
					panic("broken")
				}
				return "", nil
			}
		})}, "with an ended context: panic"},
		{"an output that is not text", tooltest.Subject{Tool: with(func(f *fake) {
			f.run = func(context.Context, tool.Call) (string, error) { return "\xff", nil }
		})}, "not UTF-8"},
		{"a body that writes into its arguments", tooltest.Subject{Tool: with(func(f *fake) {
			f.run = func(_ context.Context, c tool.Call) (string, error) { c.Arguments[0] = 'x'; return "", nil }
		})}, "changed its arguments"},
		{"a second attempt that fails", tooltest.Subject{Tool: with(func(f *fake) {
			f.declaration = func() api.ToolDeclaration {
				return api.ToolDeclaration{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: api.Idempotent}
			}
			f.run = func(_ context.Context, c tool.Call) (string, error) {
				if c.Attempt > 1 {
					return "", errors.New("exists")
				}
				return "", nil
			}
		})}, "attempt 2"},
		{"a body that ignores its context", tooltest.Subject{Grace: time.Millisecond, Tool: with(func(f *fake) {
			f.run = func(ctx context.Context, _ tool.Call) (string, error) {
				if ctx.Err() != nil {
					<-t.Context().Done() // ends with the test
				}
				return "", nil
			}
		})}, "had not returned"},
		{"an inspection that always says yes", tooltest.Subject{Tool: inspected(func(int) (tool.Inspection, error) {
			return tool.Inspection{Outcome: tool.Succeeded}, nil
		})}, "never ran is said to have succeeded"},
		{"an inspection that always says no", tooltest.Subject{Tool: inspected(func(int) (tool.Inspection, error) {
			return tool.Inspection{Outcome: tool.NotStarted}, nil
		})}, "is said to be not_started"},
		{"an inspection that cannot be repeated", tooltest.Subject{Tool: inspected(func(n int) (tool.Inspection, error) {
			return tool.Inspection{Outcome: tool.Unknown, Output: strings.Repeat("x", n)}, nil
		})}, "answers"},
		{"an inspection that fails", tooltest.Subject{Tool: inspected(func(int) (tool.Inspection, error) {
			return tool.Inspection{}, errors.New("offline")
		})}, "offline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.subject.Arguments == nil {
				tt.subject.Arguments = good[:1]
			}
			problems := errors.Join(tooltest.Check(t.Context(), tt.subject)...)
			if problems == nil || !strings.Contains(problems.Error(), tt.want) {
				t.Errorf("the suite found %v, want %q", problems, tt.want)
			}
		})
	}
}

func TestAGoodFakePasses(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Subject{Arguments: good, Tool: fake{
		declaration: func() api.ToolDeclaration {
			return api.ToolDeclaration{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}
		},
		run: func(context.Context, tool.Call) (string, error) { return "", nil },
	}})
}
