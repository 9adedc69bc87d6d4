package servicetest

import "strings"

// summarises reports whether a request is for a summary, which has its sections (CO1).
func summarises(p Prompt) bool { return strings.Contains(p.Instructions, "# Pending actions") }
