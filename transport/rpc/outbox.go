package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// Bounds of what waits for a peer that does not read, in bytes.
const (
	maxUnsent = 2 * MaxMessageBytes // behind it Send waits
	ample     = 16 << 20            // up to it Room does not
)

// Patience is how long a peer may take nothing, while a message waits for room, before it is given up.
const Patience = 30 * time.Second

// ErrNotSent is the error of Send where the connection is closed, or its peer is gone or was given up.
var ErrNotSent = errors.New("the connection is closed")

// outbox is what is on its way to the peer.
type outbox struct {
	mu     sync.Mutex
	wake   *sync.Cond // there is something to write, or will be nothing any more
	room   *sync.Cond // something was written, or will not be any more
	unsent [][]byte
	bytes  int // queued, and not written
	taken  int // bytes that the peer has ever taken
	sent   int // messages of several lines
	closed bool
	failed error         // why nothing is written any more
	stall  error         // of a peer that was given up
	done   chan struct{} // closed when nothing is written any more
	finish func()        // closes done, once
}

func (o *outbox) begin(out io.Writer) {
	o.done = make(chan struct{})
	o.finish = sync.OnceFunc(func() { close(o.done) })
	o.wake, o.room = sync.NewCond(&o.mu), sync.NewCond(&o.mu)
	go o.write(out)
}

// Send queues a message. It waits while [maxUnsent] bytes wait for the peer, until that takes some. One that takes nothing
// for [Patience] meanwhile is given up.
func (o *outbox) Send(message []byte) error {
	if len(message) <= MaxFrameBytes {
		return o.queue(message)
	}
	if len(message) > MaxMessageBytes {
		return o.queue(tooLong(message))
	}
	o.mu.Lock()
	o.sent++
	name := fmt.Sprintf("m%d", o.sent)
	o.mu.Unlock()
	for rest := message; len(rest) > 0; {
		n := min(partBytes, len(rest))
		for n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		line, err := encode(struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  Part   `json:"params"`
		}{jrpc2.Version, MethodPart, Part{Message: name, Data: string(rest[:n]), Last: n == len(rest)}})
		if err != nil {
			return err
		}
		if err := o.queue(line); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// encode writes JSON as it is, without the escapes that HTML wants.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// tooLong is what is sent instead of a message that is over all bounds: an answer is the error, and a request, which nobody
// could answer, goes as one without parameters.
func tooLong(message []byte) []byte {
	id := idOf(message)
	if method := fieldOf(message, "method"); method != nil {
		line, _ := encode(map[string]any{"jsonrpc": jrpc2.Version, "id": id, "method": method})
		return line
	}
	return errorLine(id, wireError(jrpc2.Code(numbers[api.CodeFrameTooLarge]), api.Errorf(api.CodeFrameTooLarge,
		"the answer has %d bytes, and a message at most %d; ask for less at a time", len(message), MaxMessageBytes)))
}

func (o *outbox) queue(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.await(len(line) + 1)
	if err := o.why(); err != nil {
		return err
	}
	o.unsent, o.bytes = append(o.unsent, line), o.bytes+len(line)+1
	o.wake.Signal()
	return nil
}

// why is why nothing can be queued any more. The lock is held.
func (o *outbox) why() error {
	if o.failed == nil && o.closed {
		return ErrNotSent
	}
	return o.failed
}

// await waits until n bytes have room, or nothing is written any more. The lock is held.
func (o *outbox) await(n int) {
	var timer *time.Timer
	for seen := -1; o.why() == nil && o.bytes > 0 && o.bytes+n > maxUnsent; o.room.Wait() {
		if taken := o.taken; taken != seen {
			if timer != nil {
				timer.Stop()
			}
			seen, timer = taken, time.AfterFunc(Patience, func() { o.giveUp(taken) })
		}
	}
	if timer != nil {
		timer.Stop()
	}
}

// giveUp gives the peer up if it has taken nothing more.
func (o *outbox) giveUp(taken int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken != taken || o.why() != nil {
		return
	}
	o.stall = api.Errorf(api.CodeClosed, "the other side of the connection has taken nothing for %v, while %d bytes waited for it; read what comes while you send", Patience, o.bytes)
	o.fail(o.stall)
	o.finish() // the writer may never come back
}

func (o *outbox) fail(err error) {
	o.failed, o.unsent = fmt.Errorf("%w: %w", ErrNotSent, err), nil
	o.wake.Signal()
	o.room.Broadcast()
}

// Room waits until the peer has taken most of what was sent to it, ctx ends or the connection does. Who makes long messages
// waits here before, so that they are made no faster than they are read.
func (o *outbox) Room(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes > ample {
		stop := context.AfterFunc(ctx, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.room.Broadcast()
		})
		defer stop()
	}
	for o.why() == nil && ctx.Err() == nil && o.bytes > ample {
		o.room.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return o.why()
}

// write writes what is queued, and what has come together meanwhile in one go.
func (o *outbox) write(out io.Writer) {
	defer o.finish()
	buffer := bufio.NewWriterSize(taker{o, out}, chunk)
	var lines [][]byte
	for {
		o.mu.Lock()
		for len(o.unsent) == 0 && !o.closed && o.failed == nil {
			o.wake.Wait()
		}
		if o.failed != nil || len(o.unsent) == 0 {
			o.mu.Unlock()
			return
		}
		lines, o.unsent = o.unsent, lines[:0]
		o.mu.Unlock()
		var err error
		for i, line := range lines {
			_, _ = buffer.Write(line) // what fails here fails at Flush
			err = buffer.WriteByte('\n')
			lines[i] = nil
		}
		if err == nil {
			err = buffer.Flush()
		}
		if err != nil {
			o.mu.Lock()
			o.fail(err)
			o.mu.Unlock()
			return
		}
	}
}

// chunk is what is written at once, so that it is seen that a slow peer takes something.
const chunk = 64 << 10

// taker writes and counts what was taken.
type taker struct {
	box *outbox
	out io.Writer
}

func (t taker) Write(data []byte) (written int, err error) {
	for written < len(data) && err == nil {
		var n int
		n, err = t.out.Write(data[written:min(written+chunk, len(data))])
		written += n
		t.box.mu.Lock()
		t.box.taken, t.box.bytes = t.box.taken+n, t.box.bytes-n
		t.box.room.Broadcast()
		t.box.mu.Unlock()
	}
	return written, err
}

// Flush waits until what is queued is written, the connection has failed or stop ends.
func (o *outbox) Flush(stop <-chan struct{}) {
	_ = o.Close() // it cannot fail
	select {
	case <-o.done:
	case <-stop:
	}
}

// Done is closed when nothing is written any more: behind Close, or when the peer is gone or was given up.
func (o *outbox) Done() <-chan struct{} { return o.done }

// Stalled is the error, closed, by which a peer was given up that read nothing. It is nil as long as none was.
func (o *outbox) Stalled() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stall
}

// Close ends the sending, behind what is queued. Who waits to send does so no more.
func (o *outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
	o.room.Broadcast()
	return nil
}
