package model

import (
	"strings"
	"sync"
)

// Encoded keeps a provider's encoding of a conversation that only grows, so that a call encodes what is new
// and not the whole history. The runtime gives the same value with each call of a conversation, and a new one
// when anything but its end has changed. The zero value is empty; nil is allowed and keeps nothing. Safe for
// concurrent use.
type Encoded struct {
	mu    sync.Mutex
	form  string
	items int
	data  []byte
}

// Form names what an encoding depends on beside the items, such as the protocol, the provider and the model: no two
// lists of parts give one name.
func Form(parts ...string) string { return strings.Join(parts, "\x00") }

// Append appends the encoding of items to dst. form is the [Form] of everything else that the encoding depends on.
// encode appends the encoding of some items to dst; it is called with those from the end of what is kept, which is
// always a place where a request ended, and with that as its dst, whose end it may change to go on from there.
// Otherwise its result must not depend on the items before.
func (e *Encoded) Append(dst []byte, form string, items []Item, encode func(dst []byte, items []Item) []byte) []byte {
	if e == nil {
		return encode(dst, items)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.form != form || e.items > len(items) {
		e.form, e.items, e.data = form, 0, nil
	}
	e.data = encode(e.data, items[e.items:])
	e.items = len(items)
	return append(dst, e.data...)
}

// Bytes is the memory that is held.
func (e *Encoded) Bytes() int {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return cap(e.data)
}
