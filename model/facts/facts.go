package facts

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/model"
)

// table has a line for each model: provider, model, window, maximum output, "image" or nothing. It begins and
// ends with a line break, so that a line can be found by what stands before and after it.
//
//go:embed facts.tsv
var table string

// Lookup tells what is known of a provider's model. The provider's name is matched without case and may be
// ours or catwalk's ("Google" is "gemini" there); the model's name is matched as it is, and where that is not there,
// without the date at its end or with any: claude-opus-4-5 is claude-opus-4-5-20251101. ok is false for a model that is
// not in the table: of it no more is known than its maker's bounds for files. It searches text and costs some ten
// microseconds.
func Lookup(provider, name string) (facts model.Facts, ok bool) {
	provider = strings.ToLower(provider)
	if provider == "google" {
		provider = "gemini"
	}
	if name == "" || strings.ContainsAny(provider+name, "\t\n") {
		return model.Facts{}, false
	}
	line, ok := find(provider, name)
	if undated := date.ReplaceAllString(name, ""); !ok && undated != name {
		name = undated
		line, ok = find(provider, name)
	}
	if !ok {
		line, ok = findRelease(provider, name)
	}
	if !ok {
		return bounds(provider), false
	}
	return parse(provider, line), true
}

// date is how makers mark a release of a model: gpt-4o-2024-08-06, claude-opus-4-5-20251101, claude-opus-4-5-latest.
var date = regexp.MustCompile(`-(20\d\d-?[01]\d-?[0-3]\d|latest)$`)

func find(provider, name string) (line string, ok bool) {
	_, rest, ok := strings.Cut(table, "\n"+provider+"\t"+name+"\t")
	line, _, _ = strings.Cut(rest, "\n")
	return line, ok
}

// findRelease finds a model by its name without the date that it has in the table.
func findRelease(provider, name string) (line string, ok bool) {
	_, rest, ok := strings.Cut(table, "\n"+provider+"\t"+name+"-20")
	for ; ok; _, rest, ok = strings.Cut(rest, "\n"+provider+"\t"+name+"-20") {
		line, _, _ = strings.Cut(rest, "\n")
		release, facts, _ := strings.Cut(line, "\t")
		if suffix := "-20" + release; date.FindString(suffix) == suffix {
			return facts, true
		}
	}
	return "", false
}

// readsPDFs are the makers whose models that see images read PDFs as well. Of others that is not known: a gateway
// may convert them.
var readsPDFs = map[string]bool{"openai": true, "anthropic": true, "gemini": true}

func parse(provider, line string) model.Facts {
	fields := strings.Split(line, "\t")
	window, _ := strconv.Atoi(fields[0]) // the golden test has checked that each is a number
	output, _ := strconv.Atoi(fields[1])
	facts := bounds(provider)
	refused := facts.Refused
	facts.Window, facts.MaxOutputTokens = window, output
	images := slices.DeleteFunc([]string{model.TypePNG, model.TypeJPEG, model.TypeGIF, model.TypeWebP}, func(t string) bool { return slices.Contains(refused, t) })
	switch sees, maker := fields[2] == "image", readsPDFs[provider]; {
	case sees && maker:
		return facts.OnlyFormats(append(images, model.TypePDF)...)
	case sees:
		facts.Formats = images
	case maker:
		return facts.OnlyFormats()
	default:
		facts.Refused = images
	}
	return facts
}
