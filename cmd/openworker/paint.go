package main

// paint puts colours on text, or none.
type paint bool

func (m *Main) paint() paint { return paint(m.Color && !m.noColor && !m.json) }

// paintError is [Main.paint] for standard error.
func (m *Main) paintError() paint { return paint(m.ColorError && !m.noColor && !m.json) }

func (p paint) with(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) red(text string) string   { return p.with("31", text) }
func (p paint) green(text string) string { return p.with("32", text) }
func (p paint) bold(text string) string  { return p.with("1", text) }
func (p paint) dim(text string) string   { return p.with("2", text) }
