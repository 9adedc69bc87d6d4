package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// values are what a scenario's steps may refer to: results by their names, and the directories that they use.
type values struct {
	named map[string]any
	dir   string // of the scenario's own
	state string
}

// eval puts values for references and generators. What does not begin with $ stays as it is, and so do the matchers of
// expectations, with their operands evaluated.
func (v values) eval(in any) (any, error) {
	switch x := in.(type) {
	case string:
		if strings.HasPrefix(x, "$") {
			return v.refer(x[1:])
		}
	case []any:
		out := make([]any, len(x))
		for i := range x {
			var err error
			if out[i], err = v.eval(x[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(x))
		for key, value := range x {
			evaluated, err := v.eval(value)
			if err != nil {
				return nil, err
			}
			if made, is, err := v.generate(key, evaluated); is || err != nil {
				return made, err
			}
			out[key] = evaluated
		}
		return out, nil
	}
	return in, nil
}

// refer finds "name.field.0.field".
func (v values) refer(path string) (any, error) {
	name, rest, deeper := strings.Cut(path, ".")
	value, ok := v.named[name]
	if !ok {
		return nil, fmt.Errorf("nothing is called $%s", name)
	}
	for deeper {
		var key string
		key, rest, deeper = strings.Cut(rest, ".")
		switch x := value.(type) {
		case map[string]any:
			if value, ok = x[key]; !ok {
				return nil, fmt.Errorf("$%s: there is no %q in %s", path, key, brief(x))
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("$%s: there is no %q in a list of %d", path, key, len(x))
			}
			value = x[i]
		default:
			return nil, fmt.Errorf("$%s: %q is asked of %s", path, key, brief(x))
		}
	}
	return value, nil
}

// generate makes a value of {"$generator": operand}. is is false for a key that names none.
func (v values) generate(key string, operand any) (made any, is bool, err error) {
	text, isText := operand.(string)
	list, _ := operand.([]any)
	fail := func() (any, bool, error) { return nil, true, fmt.Errorf("%s does not take %s", key, brief(operand)) }
	switch key {
	case "$repeat": // [text, times]
		if len(list) != 2 {
			return fail()
		}
		piece, ok := list[0].(string)
		times, err := strconv.Atoi(fmt.Sprint(list[1]))
		if !ok || err != nil {
			return fail()
		}
		return strings.Repeat(piece, times), true, nil
	case "$join":
		var out strings.Builder
		for _, part := range list {
			fmt.Fprint(&out, part)
		}
		return out.String(), list != nil, nil
	case "$nest": // a JSON object of so many levels
		levels, err := strconv.Atoi(fmt.Sprint(operand))
		if err != nil || levels < 1 {
			return fail()
		}
		made := map[string]any{}
		for range levels - 1 {
			made = map[string]any{"a": made}
		}
		return made, true, nil
	case "$base64":
		if !isText {
			return fail()
		}
		return base64.StdEncoding.EncodeToString([]byte(text)), true, nil
	case "$file":
		data, err := os.ReadFile(filepath.Join(directory, "files", filepath.Base(text)))
		return base64.StdEncoding.EncodeToString(data), true, err
	case "$dir": // one that is there
		dir := filepath.Join(v.dir, filepath.Base(text))
		return dir, true, os.MkdirAll(dir, 0o700)
	case "$missing": // one that is not
		return filepath.Join(v.dir, "missing", filepath.Base(text)), true, nil
	case "$state": // within the state directory
		return filepath.Join(v.state, filepath.Base(text)), true, nil
	}
	return nil, false, nil
}

// generic is a value in the form that JSON has when it is decoded without a type.
func generic(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var out any
	return out, strictly(data, &out)
}

// into decodes a generic value strictly.
func into[T any](value any) (T, error) {
	var out T
	data, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	return out, strictly(data, &out)
}

// brief shows a value in an error.
func brief(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(data) > 2000 {
		return string(data[:2000]) + "…"
	}
	return string(data)
}
