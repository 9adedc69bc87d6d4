package openaichat

import (
	"bytes"
	"io"
	"sync"
	"testing"
)

// A transport may read a body after it has returned the response: the next request must not write into it.
func TestABodyIsNotUsedAgainWhileItIsRead(t *testing.T) {
	t.Parallel()
	pool := &sync.Pool{New: func() any { return new([]byte) }}
	fill := func(c byte) func([]byte) []byte {
		return func(b []byte) []byte { return append(b, bytes.Repeat([]byte{c}, 1000)...) }
	}
	for range 50 { // a pool may drop what it is given
		first := newPayload(pool, fill('a'))
		early, err := first.reader()
		if err != nil {
			t.Fatal(err)
		}
		late, err := first.reader()
		if err != nil {
			t.Fatal(err)
		}
		first.release()
		if err := early.Close(); err != nil {
			t.Fatal(err)
		}
		second := newPayload(pool, fill('b'))
		got, err := io.ReadAll(late)
		if err != nil || !bytes.Equal(got, bytes.Repeat([]byte("a"), 1000)) {
			t.Fatalf("the first body holds the second's bytes (%v)", err)
		}
		for range 2 { // the second time must not count
			if err := late.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := early.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Fatalf("a closed body gave %d bytes and %v", n, err)
		}
		second.release()
	}
}
