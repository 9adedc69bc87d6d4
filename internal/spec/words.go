package spec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Comments are written for Go. On the wire a constant is its value, a field has its name in JSON, and what is empty is absent.

var (
	docLink = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)
	goName  = regexp.MustCompile(`[A-Za-z0-9_.]*[A-Za-z0-9_]`)
	// goWords say in Go's words what JSON has others for.
	goWords = strings.NewReplacer(
		"The zero value means", "Left out, it means", "The zero value", "An empty one", "the zero value", "an empty one", "a field's zero value", "a field that is left out",
		"A nil field", "An absent field", "nil:", "Absent:", "nil for", "absent for",
		"zero when there", "absent when there", "Zero once", "Absent once", "unless zero", "unless absent", "have number 0", "have no number",
		" (io.EOF)", "", "until ctx ends", "until its caller stops waiting", " Print it as a whole: String has a word for each.", "",
		"see Codes", "see spec/codes.json", "Capabilities.Options", "`options` of Capabilities",
		"the fields that stand behind it above, and no others", "fields of its own, and no others",
	)
)

// wire puts a comment into the words of the wire. keys are the names in JSON of the fields of the type that it stands in, by
// their names in Go.
func (s *source) wire(comment, typ string, keys map[string]string) string {
	comment = goWords.Replace(docLink.ReplaceAllString(comment, "$1"))
	return goName.ReplaceAllStringFunc(comment, func(word string) string {
		if value, ok := s.names[word]; ok {
			return strconv.Quote(value)
		}
		if key, ok := keys[word]; ok && word != typ {
			return "`" + key + "`"
		}
		return word
	})
}

// ofType is the description of a type.
func (s *source) ofType(typ string, keys map[string]string) string {
	return sentence(s.wire(s.types[typ], typ, keys), typ+" is ", typ+" are ")
}

// ofField is the description of a field. Where it may be absent, that is what an empty text is called.
func (s *source) ofField(typ, field string, keys map[string]string, optional bool) string {
	about := s.wire(s.fields[[2]string{typ, field}], typ, keys)
	if optional {
		about = strings.ReplaceAll(strings.ReplaceAll(about, `. ""`, ". Absent"), `""`, "absent")
	}
	name := "`" + keys[field] + "`"
	return sentence(about, name+" is ", name+" are ", name+": ")
}

// ofValue is the description of a value, which stands in a list of them.
func (s *source) ofValue(v value, keys map[string]string) string {
	about, name := s.wire(v.comment, "", keys), strconv.Quote(v.name)
	for _, prefix := range []string{name + " is ", name + " "} {
		if rest, ok := strings.CutPrefix(about, prefix); ok {
			return rest
		}
	}
	return about
}

// sentence makes a sentence of a comment that may begin with the name of what it is about.
func sentence(comment string, beginnings ...string) string {
	for _, b := range beginnings {
		if rest, ok := strings.CutPrefix(comment, b); ok {
			comment = rest
			break
		}
	}
	if comment == "" {
		return ""
	}
	if !strings.HasSuffix(comment, ".") {
		comment += "."
	}
	return upper(comment)
}

var plainWord = regexp.MustCompile(`^[a-z][a-z'-]*[ ,.:;]`)

// upper begins a sentence with a capital, unless it begins with a name.
func upper(s string) string {
	if !plainWord.MatchString(s + " ") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// lists reports whether a description says nothing but the words.
func lists(description string, words []string) bool {
	for _, said := range goName.FindAllString(strings.ReplaceAll(description, "-", "_"), -1) {
		if !slices.ContainsFunc(append([]string{"or"}, words...), func(w string) bool {
			return strings.EqualFold(strings.ReplaceAll(w, "-", "_"), said)
		}) {
			return false
		}
	}
	return true
}
