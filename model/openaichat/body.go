package openaichat

import (
	"io"
	"sync"
	"sync/atomic"
)

// maxPooledBody bounds the buffers that are kept: one huge conversation must not hold its size for ever.
const maxPooledBody = 8 << 20

// payload is a request's body in a pooled buffer. The transport may still read a body after it has returned
// the response, so the buffer goes back when the last reader is closed and the attempt has let go of it.
type payload struct {
	buf  *[]byte
	pool *sync.Pool
	refs atomic.Int32
}

// newPayload holds one reference, the attempt's, which release gives back.
func newPayload(pool *sync.Pool, fill func([]byte) []byte) *payload {
	buf := pool.Get().(*[]byte)
	*buf = fill((*buf)[:0])
	p := &payload{buf: buf, pool: pool}
	p.refs.Store(1)
	return p
}

func (p *payload) size() int { return len(*p.buf) }

func (p *payload) release() {
	if p.refs.Add(-1) == 0 && cap(*p.buf) <= maxPooledBody {
		p.pool.Put(p.buf)
	}
}

// reader returns a body, which the transport closes, also when it fails.
func (p *payload) reader() (io.ReadCloser, error) {
	p.refs.Add(1)
	return &payloadReader{rest: *p.buf, payload: p}, nil
}

// payloadReader copies under a lock, since HTTP/2 closes a body while another goroutine reads it: nobody sees
// the buffer after Close.
type payloadReader struct {
	mu      sync.Mutex
	rest    []byte
	payload *payload // nil once closed
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload == nil || len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload != nil {
		r.payload.release()
		r.payload, r.rest = nil, nil
	}
	return nil
}
