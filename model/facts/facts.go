package facts

import (
	_ "embed"
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
// ours or catwalk's ("Google" is "gemini" there); the model's name is matched as it is. ok is false for a
// model that is not in the table. It searches text and costs some ten microseconds.
func Lookup(provider, name string) (facts model.Facts, ok bool) {
	provider = strings.ToLower(provider)
	if provider == "google" {
		provider = "gemini"
	}
	if name == "" || strings.ContainsAny(provider+name, "\t\n") {
		return model.Facts{}, false
	}
	key := "\n" + provider + "\t" + name + "\t"
	i := strings.Index(table, key)
	if i < 0 {
		return model.Facts{}, false
	}
	line, _, _ := strings.Cut(table[i+len(key):], "\n")
	return parse(line), true
}

func parse(line string) model.Facts {
	fields := strings.Split(line, "\t")
	window, _ := strconv.Atoi(fields[0]) // the golden test has checked that each is a number
	output, _ := strconv.Atoi(fields[1])
	facts := model.Facts{Window: window, MaxOutputTokens: output}
	if fields[2] == "image" {
		facts.Formats = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	}
	return facts
}
