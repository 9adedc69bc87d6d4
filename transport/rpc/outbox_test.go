package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
)

// slow is a peer that takes something now and then: once it was told to, or the time has passed.
type slow struct {
	every time.Duration
	free  chan struct{}
	got   int
}

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-s.free:
	case <-time.After(s.every):
	}
	s.got += len(p)
	return len(p), nil
}

const never = 1000 * time.Hour

// mebibyte is a message; the same bytes each time, so that nothing is copied.
var mebibyte = bytes.Repeat([]byte("x"), MaxFrameBytes)

func TestAPeerThatTakesNothingIsGivenUpAndOnlyAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := NewLines(strings.NewReader(""), &slow{every: never, free: free})
		began := time.Now()
		n := 0
		for (n+1)*(len(mebibyte)+1) <= maxUnsent {
			if err := l.Send(mebibyte); err != nil {
				t.Fatalf("message %d: %v", n, err)
			}
			n++
		}
		time.Sleep(100 * Patience) // a debugger's, say: nothing has to wait
		if took := time.Since(began); took != 100*Patience || l.Stalled() != nil {
			t.Fatalf("%d messages took %v, and it is given up: %v", n, took, l.Stalled())
		}
		began = time.Now()
		err := l.Send(mebibyte)
		if took := time.Since(began); !errors.Is(err, ErrNotSent) || api.CodeOf(l.Stalled()) != api.CodeClosed || took != Patience {
			t.Errorf("after %v: %v, %v", took, err, l.Stalled())
		}
		<-l.Done()
		if err := l.Send([]byte("{}")); !errors.Is(err, ErrNotSent) {
			t.Errorf("behind it: %v", err)
		}
		if err := l.Room(t.Context()); !errors.Is(err, ErrNotSent) {
			t.Errorf("room behind it: %v", err)
		}
		l.Flush(nil) // does not wait for the peer
		close(free)
	})
}

func TestASlowPeerIsWaitedForHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		peer := &slow{every: Patience - time.Second}
		l := NewLines(strings.NewReader(""), peer)
		const senders, each = 4, 160
		for range senders {
			go func() {
				for range each {
					if err := l.Send(mebibyte); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		synctest.Wait()
		for l.queued() > maxUnsent/2 {
			if q := l.queued(); q > maxUnsent {
				t.Fatalf("%d bytes wait", q)
			}
			time.Sleep(time.Hour)
		}
		l.Flush(nil)
		if want := senders * each * (len(mebibyte) + 1); peer.got != want || l.Stalled() != nil {
			t.Errorf("the peer has %d bytes of %d; %v", peer.got, want, l.Stalled())
		}
	})
}

func (o *outbox) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func TestTheEndOfTheConnectionFreesWhoWaitsToSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := NewLines(strings.NewReader(""), &slow{every: never, free: free})
		ended := make(chan error, 1)
		go func() {
			for {
				if err := l.Send(mebibyte); err != nil {
					ended <- err
					return
				}
			}
		}()
		synctest.Wait()
		_ = l.Close() // it cannot fail
		if err := <-ended; !errors.Is(err, ErrNotSent) || l.Stalled() != nil {
			t.Errorf("%v; %v", err, l.Stalled())
		}
		close(free)
		<-l.Done()
	})
}

func TestRoomIsWaitedForUntilThePeerHasTakenMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := NewLines(strings.NewReader(""), &slow{every: never, free: free})
		if err := l.Room(t.Context()); err != nil {
			t.Fatalf("of an empty connection: %v", err)
		}
		for range 2 * ample / MaxFrameBytes {
			_ = l.Send(mebibyte)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Room(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it is full: %v", err)
		}
		room := make(chan error)
		go func() { room <- l.Room(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-room:
			t.Errorf("while it is full: %v", err)
		default:
		}
		close(free)
		if err := <-room; err != nil || l.queued() > ample {
			t.Errorf("%v, with %d bytes", err, l.queued())
		}
		l.Flush(nil)
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no pipe") }

func TestAPeerThatIsGoneIsToldToSenders(t *testing.T) {
	t.Parallel()
	l := NewLines(strings.NewReader(""), broken{})
	if err := l.Send([]byte("{}")); err != nil {
		t.Fatalf("the first is only queued: %v", err)
	}
	<-l.Done()
	if err := l.Send([]byte("{}")); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "no pipe") {
		t.Errorf("the second: %v", err)
	}
	closed := NewLines(strings.NewReader(""), io.Discard)
	_ = closed.Close()
	if err := closed.Send([]byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("behind Close: %v", err)
	}
}
