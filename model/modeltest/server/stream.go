package modeltestserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// errCut makes net/http tear the connection down in mid-answer.
var errCut = errors.New("cut")

// stream writes server-sent events. Once a write has failed it does nothing, and err tells why.
type stream struct {
	ctx   context.Context
	w     io.Writer
	sync  func() error // hands what was written to the client
	pace  time.Duration
	named bool // an event's type stands on a line of its own as well
	err   error
}

// send writes an event. Without a pace all of them go out in as few writes as the buffer allows.
func (s *stream) send(event object) {
	if s.err != nil {
		return
	}
	encoded, err := json.Marshal(event)
	if err != nil {
		s.err = err
		return
	}
	if s.named {
		_, s.err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event["type"], encoded)
	} else {
		_, s.err = fmt.Fprintf(s.w, "data: %s\n\n", encoded)
	}
}

// chunk writes an event that holds a piece of the content, at the pace.
func (s *stream) chunk(event object) {
	if s.err == nil {
		s.err = wait(s.ctx, s.pace)
	}
	s.send(event)
	if s.pace > 0 {
		s.flush()
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.sync()
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
