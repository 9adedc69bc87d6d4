package policy

// Known is the number of units that a memo remembers.
func Known(m *Memo) int { return len(m.passed) }

// Held is how many bytes of texts and names a memo holds.
func Held(m *Memo) (n int) {
	for key, was := range m.passed {
		n += len(key.text) + len(key.file) + len(was.text)
	}
	return n
}
