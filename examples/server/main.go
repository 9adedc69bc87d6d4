package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

func main() {
	address := flag.String("address", "127.0.0.1:8080", "where to listen")
	dir := flag.String("dir", "./served", "directory of the state and of the sessions' workspaces")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address, *dir); err != nil {
		slog.Error("the server ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, dir string) error {
	s, err := open(ctx, dir, slog.Default())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		_ = s.harness.Close(ctx) // the address is what is wrong
		return err
	}
	slog.Info("listening", "address", listener.Addr().String())
	return s.serve(ctx, listener)
}

// open opens a harness whose state and workspaces lie side by side in dir, and registers the agent.
func open(ctx context.Context, dir string, logger *slog.Logger) (*server, error) {
	harness, err := openworker.Open(ctx, openworker.Options{
		StateDir:   filepath.Join(dir, "state"),
		ScratchDir: filepath.Join(dir, "workspaces"), // else in the user's cache directory, which a service may not have
		Providers:  []openworker.Provider{scripted.New(scripted.Config{})},
		Logger:     logger,
	})
	if err != nil {
		return nil, err
	}
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "support",
		Instructions: "Help the customer.",
		Tools:        []openworker.Tool{openworker.MustTool(openworker.NewTool("parcels.find", "Finds a parcel.", find, openworker.ToolOptions{Effect: openworker.ReadOnly}))},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	})
	if err != nil {
		_ = harness.Close(ctx) // the definition is what is wrong
		return nil, err
	}
	return &server{harness: harness, agent: agent, log: logger, user: anybody}, nil
}

// anybody believes the name that a request gives. Put your own authentication in its place.
func anybody(r *http.Request) (name string, ok bool) {
	name, _, ok = r.BasicAuth()
	return name, ok && name != ""
}

type parcel struct {
	Number int `json:"number" jsonschema:"as printed on the label"`
}

func find(_ context.Context, _ openworker.ToolCall, in parcel) (string, error) {
	return fmt.Sprintf("parcel %d is in Oslo", in.Number), nil
}
