package chatui

// ink puts styles on text. Colours are the terminal's own sixteen, which suit its background; without colours
// what is dim or bold stays so.
type ink struct{ colors bool }

func (i ink) with(code, text string) string {
	if text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (i ink) color(code, text string) string {
	if !i.colors {
		return text
	}
	return i.with(code, text)
}

func (i ink) dim(text string) string    { return i.with("2", text) }
func (i ink) bold(text string) string   { return i.with("1", text) }
func (i ink) red(text string) string    { return i.color("31", text) }
func (i ink) green(text string) string  { return i.color("32", text) }
func (i ink) yellow(text string) string { return i.color("33", text) }
func (i ink) cyan(text string) string   { return i.color("36", text) }

// each puts a style on each line.
func each(lines []string, style func(string) string) []string {
	styled := make([]string, len(lines))
	for n, line := range lines {
		styled[n] = style(line)
	}
	return styled
}

// hang puts a first prefix before the first line and another before the rest.
func hang(first, rest string, lines []string) []string {
	out := make([]string, len(lines))
	for n, line := range lines {
		if n == 0 {
			out[n] = first + line
		} else {
			out[n] = rest + line
		}
	}
	return out
}
