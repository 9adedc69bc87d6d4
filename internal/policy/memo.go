package policy

import (
	"crypto/sha256"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// Memo remembers what guardrails let pass of a conversation, so that one that only grows is not checked again from its
// beginning at each call. It holds what the last request held: its texts, which it shares, of its files a hash each, and
// what was redacted. A block and a failure are not remembered.
//
// A memo belongs to one session: whatever else a guardrail's verdict depends on must not change within it. The zero
// value is empty; nil is allowed and remembers nothing. Safe for concurrent use.
type Memo struct {
	mu     sync.Mutex
	guards string // the guardrails whose verdicts these are
	passed map[looked]passed
}

// looked is a text as guardrails see it. Of a file there is its name, and the hash of its text in place of that, so that
// the text is not kept in memory for longer than its request.
type looked struct {
	tool, text string
	file       string
	sum        [sha256.Size]byte
}

// passed is what they let pass of it: the text itself, or where it was changed another one.
type passed struct {
	changed  bool
	text     string
	verdicts []api.GuardVerdict
}

// known returns what these guardrails let pass. The caller must not change it.
func (m *Memo) known(guards string) map[looked]passed {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guards != guards {
		return nil
	}
	return m.passed
}

// keep remembers a request's texts in place of the last one's. Those of a request that was not seen to its end are
// kept only if they are more.
func (m *Memo) keep(guards string, seen map[looked]passed, whole bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if whole || m.guards != guards || len(seen) > len(m.passed) {
		m.guards, m.passed = guards, seen
	}
}
