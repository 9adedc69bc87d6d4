package chatui

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/lipgloss/v2"

	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// widest is how many columns an answer's text takes at most; longer lines are hard to read.
const widest = 120

// markdown renders pieces of answers for one width.
type markdown struct {
	width    int
	colors   bool
	renderer *glamour.TermRenderer // nil where none can be made: text is shown as it is then
}

func newMarkdown(width int, colors bool) *markdown {
	m := &markdown{width: min(max(width, 10), widest), colors: colors}
	// The error is about options, and these are good; should it come all the same, text is shown as it is.
	m.renderer, _ = glamour.NewTermRenderer(glamour.WithStyles(markdownStyle(colors)), glamour.WithWordWrap(m.width),
		glamour.WithPreservedNewLines(), glamour.WithChromaFormatter("terminal16"))
	return m
}

// lines renders a piece, without empty lines around it.
func (m *markdown) lines(text string) []string {
	text = unreferenced(untab(plain.Printable(text)))
	rendered, err := "", error(nil)
	if m.renderer != nil {
		rendered, err = m.renderer.Render(text)
	}
	if m.renderer == nil || err != nil || strings.TrimSpace(rendered) == "" {
		rendered = text
	}
	lines := wrapStyled(onlyStyles(rendered), m.width)
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

var trailing = regexp.MustCompile(`(?:[ \t]|\x1b\[[0-9;]*m)+$`)

// trimRight takes away the spaces that a line is padded with, and leaves its styles closed.
func trimRight(line string) string {
	end := trailing.FindString(line)
	line = line[:len(line)-len(end)]
	if strings.Contains(end, "\x1b[") && strings.Contains(line, "\x1b[") {
		line += "\x1b[0m"
	}
	return line
}

func markdownStyle(colors bool) ansi.StyleConfig {
	yes := true
	two := uint(2)
	bar := "│ "
	color := func(code string) *string {
		if !colors {
			return nil
		}
		return &code
	}
	style := ansi.StyleConfig{
		Heading:        ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: &yes, BlockSuffix: "\n"}},
		Strong:         ansi.StylePrimitive{Bold: &yes},
		Emph:           ansi.StylePrimitive{Italic: &yes},
		Strikethrough:  ansi.StylePrimitive{CrossedOut: &yes},
		HorizontalRule: ansi.StylePrimitive{Format: "\n────────\n"},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		Link:           ansi.StylePrimitive{Underline: &yes},
		Code:           ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: color("6")}},
		BlockQuote:     ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Faint: &yes}},
	}
	style.BlockQuote.Indent, style.BlockQuote.IndentToken = new(uint), &bar
	*style.BlockQuote.Indent = 1
	style.List.LevelIndent = 2
	style.CodeBlock.Margin = &two
	if !colors {
		style.Code.BlockPrefix, style.Code.BlockSuffix = "`", "`"
		return style
	}
	// The formatter takes the nearest of the terminal's sixteen.
	style.CodeBlock.Chroma = &ansi.Chroma{
		Comment:       ansi.StylePrimitive{Color: color("#7f7f7f")},
		Keyword:       ansi.StylePrimitive{Color: color("#007f7f")},
		KeywordType:   ansi.StylePrimitive{Color: color("#007f7f")},
		LiteralString: ansi.StylePrimitive{Color: color("#007f00")},
		LiteralNumber: ansi.StylePrimitive{Color: color("#7f007f")},
		NameTag:       ansi.StylePrimitive{Color: color("#007f7f")},
	}
	return style
}

// wrapStyled breaks a styled text into lines of at most width columns; each line closes the styles that it opens.
func wrapStyled(text string, width int) []string {
	lines := strings.Split(lipgloss.Wrap(text, max(1, width), ""), "\n")
	for n, line := range lines {
		lines[n] = trimRight(line)
	}
	return lines
}
