// Command dbos measures DBOS Transact for Go: a workflow for each turn, a step for each model call and each
// tool call. What a turn added to the conversation is its workflow's result, so a session is rebuilt from the
// results of its workflows; a process that goes on with one keeps it in memory.
//
// Its steps promise at-least-once: one that was under way in a crash runs again. By default it opens SQLite
// with synchronous=NORMAL, which may lose the last commits when the machine loses power.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"bench.local/protocol"
	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := protocol.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	config := dbos.Config{AppName: "bench", ApplicationVersion: "1", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := database(&config, o); err != nil {
		return err
	}
	ctx, err := dbos.NewContext(context.Background(), config)
	if err != nil {
		return err
	}
	s := &system{ctx: ctx, model: newModel(o.URL), run: fmt.Sprint(time.Now().UnixNano())}
	dbos.RegisterWorkflow(ctx, s.turn, dbos.WithWorkflowName("turn"))
	if err := dbos.Launch(ctx); err != nil {
		return err
	}
	return protocol.Serve(os.Stdin, os.Stdout, s)
}

// database chooses where DBOS stores: its default, or SQLite opened as it does but with FULL, or PostgreSQL.
func database(config *dbos.Config, o protocol.Options) error {
	path := filepath.Join(o.State, "dbos.sqlite")
	switch o.Mode {
	case "":
		config.DatabaseURL = "sqlite:" + path
	case "full":
		db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(8) // these two as DBOS sets them
		db.SetMaxIdleConns(4)
		config.SQLiteSystemDB = db
	case "postgres":
		config.DatabaseURL = o.Database
	default:
		return fmt.Errorf("unknown mode %q", o.Mode)
	}
	return nil
}

type system struct {
	ctx      dbos.Context
	model    *model
	run      string // tells this process's sessions from those of others
	number   atomic.Int64
	sessions sync.Map // of their ID: *session
}

// session is used by one turn at a time.
type session struct {
	history []message
	turns   int
}

func (s *system) Close() error {
	dbos.Shutdown(s.ctx, 5*time.Second)
	return nil
}

func (s *system) NewSession() (protocol.Turn, error) {
	return s.start(fmt.Sprintf("s%s-%d", s.run, s.number.Add(1)), &session{history: opening()}), nil
}

// Long rebuilds the conversation from the results of the turns before.
func (s *system) Long() (protocol.Turn, error) {
	const id = "long"
	if own, ok := s.sessions.Load(id); ok {
		return s.start(id, own.(*session)), nil
	}
	done, err := dbos.ListWorkflows(s.ctx, dbos.WithFilterWorkflowIDPrefix(id+"-"), dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(true))
	if err != nil {
		return nil, err
	}
	own := &session{history: opening()}
	for _, w := range done {
		added, err := decode(w.Output)
		if err != nil {
			return nil, err
		}
		own.history = append(own.history, added...)
		own.turns++
	}
	return s.start(id, own), nil
}

func (s *system) start(id string, own *session) protocol.Turn {
	s.sessions.Store(id, own)
	return func() error {
		own.turns++
		handle, err := dbos.RunWorkflow(s.ctx, s.turn, input{Session: id, Text: "What is one and two?"}, dbos.WithWorkflowID(fmt.Sprintf("%s-%06d", id, own.turns)))
		if err != nil {
			return err
		}
		added, err := handle.GetResult()
		if err != nil {
			return err
		}
		own.history = append(own.history, added...)
		return nil
	}
}

type input struct {
	Session string
	Text    string
}

// turn is the workflow.
func (s *system) turn(ctx dbos.Context, in input) ([]message, error) {
	found, ok := s.sessions.Load(in.Session)
	if !ok {
		return nil, fmt.Errorf("session %s is not loaded", in.Session)
	}
	history := found.(*session).history
	added := []message{{Role: "user", Content: in.Text}}
	for range 8 {
		reply, err := dbos.RunAsStep(ctx, func(ctx context.Context) (message, error) {
			return s.model.call(ctx, append(history[:len(history):len(history)], added...))
		}, dbos.WithStepName("model"))
		if err != nil {
			return nil, err
		}
		added = append(added, reply)
		if len(reply.ToolCalls) == 0 {
			return added, nil
		}
		for _, c := range reply.ToolCalls {
			result, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return add(c) }, dbos.WithStepName("add"))
			if err != nil {
				return nil, err
			}
			added = append(added, message{Role: "tool", Content: result, ToolCallID: c.ID})
		}
	}
	return nil, fmt.Errorf("the model did not come to an end")
}
