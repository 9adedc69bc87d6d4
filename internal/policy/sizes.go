package policy

// SummaryOverhead is what a request for a summary has beside its guidance and what it summarises, in bytes.
func SummaryOverhead() int { return len(summaryInstructions) + 1_000 }

// Plain is a text as one line of visible characters, cut to at most limit bytes.
func Plain(s string, limit int) string { return plain(s, limit) }
