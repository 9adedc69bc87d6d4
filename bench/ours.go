package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/bench/protocol"
)

// serveOurs is OpenWorker as a system under measurement. The mode "profile=FILE" writes a CPU profile there.
func serveOurs(args []string) error {
	o, err := protocol.Parse(args)
	if err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(o.Mode, "profile="); ok {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = f.Close()
		}()
	}
	ctx := context.Background()
	sub, err := openSubject(ctx, o.State, o.URL)
	if err != nil {
		return err
	}
	return protocol.Serve(os.Stdin, os.Stdout, ourPeer{ctx: ctx, subject: sub, reference: filepath.Join(o.State, "long.json")})
}

type ourPeer struct {
	ctx       context.Context
	subject   *subject
	reference string // file that holds the long session's
}

func (p ourPeer) Close() error { return p.subject.close(p.ctx) }

func (p ourPeer) NewSession() (protocol.Turn, error) {
	s, err := p.subject.agent.NewSession(p.ctx)
	return func() error { return oneTurn(p.ctx, s) }, err
}

func (p ourPeer) Long() (protocol.Turn, error) {
	var s *openworker.Session
	data, err := os.ReadFile(p.reference)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s, err = p.subject.agent.NewSession(p.ctx); err != nil {
			return nil, err
		}
		if data, err = json.Marshal(s.Reference()); err != nil {
			return nil, err
		}
		err = os.WriteFile(p.reference, data, 0o600)
	case err == nil:
		var ref openworker.SessionReference
		if err = json.Unmarshal(data, &ref); err == nil {
			s, err = p.subject.agent.ResumeSession(p.ctx, ref)
		}
	}
	return func() error { return oneTurn(p.ctx, s) }, err
}

func oneTurn(ctx context.Context, s *openworker.Session) error {
	res, err := s.Run(ctx, "What is one and two?")
	if err != nil {
		return err
	}
	if res.Status != openworker.StatusCompleted || res.ModelCalls != 2 {
		return fmt.Errorf("a turn ended as %s after %d model calls: %+v", res.Status, res.ModelCalls, res.Error)
	}
	return nil
}
