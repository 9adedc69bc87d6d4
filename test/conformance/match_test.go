package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// match holds a value against what is expected of it, and says where it is otherwise; "" if it fits. Of an object each
// field that is expected must fit, a list must fit as a whole. {"$matcher": operand} says it otherwise.
func match(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		if len(w) == 1 {
			for key, operand := range w {
				if strings.HasPrefix(key, "$") {
					return matcher(key, operand, got, at)
				}
			}
		}
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, not an object", at, brief(got))
		}
		for key, value := range w {
			field, there := g[key]
			if operand, is := absent(value); is {
				if there == operand {
					return fmt.Sprintf("%s.%s is %s", at, key, brief(field))
				}
				continue
			}
			if !there {
				return fmt.Sprintf("%s has no %s: %s", at, key, brief(g))
			}
			if fault := match(value, field, at+"."+key); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %s, not a list of %d", at, brief(got), len(w))
		}
		for i := range w {
			if fault := match(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); fault != "" {
				return fault
			}
		}
		return ""
	}
	if brief(want) != brief(got) {
		return fmt.Sprintf("%s is %s, not %s", at, brief(got), brief(want))
	}
	return ""
}

func absent(value any) (operand, is bool) {
	m, ok := value.(map[string]any)
	if !ok || len(m) != 1 {
		return false, false
	}
	operand, is = m["$absent"].(bool)
	return operand, is
}

func matcher(name string, operand, got any, at string) string {
	text, isText := got.(string)
	list, isList := got.([]any)
	part, _ := operand.(string)
	switch name {
	case "$contains": // a text has a part
		if !isText || part == "" || !strings.Contains(text, part) {
			return fmt.Sprintf("%s is %s, without %s", at, brief(got), brief(operand))
		}
		return ""
	case "$lacks": // the value's JSON has no such text
		if data, err := json.Marshal(got); err != nil || part == "" || strings.Contains(string(data), part) {
			return fmt.Sprintf("%s has %s: %s", at, brief(operand), brief(got))
		}
		return ""
	case "$length":
		if brief(operand) != fmt.Sprint(len(list)) || !isList && got != nil {
			return fmt.Sprintf("%s has not %s items: %s", at, brief(operand), brief(got))
		}
		return ""
	case "$some": // a list has these, in this order, among others
		wanted, ok := operand.([]any)
		if !ok || !isList {
			return fmt.Sprintf("%s: $some takes lists, and it is %s", at, brief(got))
		}
		next := 0
		for _, item := range list {
			if next < len(wanted) && match(wanted[next], item, "") == "" {
				next++
			}
		}
		if next < len(wanted) {
			return fmt.Sprintf("%s has nothing like %s (number %d that is looked for): %s", at, brief(wanted[next]), next+1, brief(got))
		}
		return ""
	case "$all": // each of a list
		for i, item := range list {
			if fault := match(operand, item, fmt.Sprintf("%s[%d]", at, i)); fault != "" {
				return fault
			}
		}
		if !isList {
			return fmt.Sprintf("%s is no list: %s", at, brief(got))
		}
		return ""
	}
	return fmt.Sprintf("%s: there is no matcher %s", at, name)
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const value = `{"text":"hello there","n":7,"list":[{"a":1},{"a":2},{"a":3}],"none":null}`
	for _, tt := range []struct {
		name, want string
		fits       bool
	}{
		{"a part of an object", `{"n":7}`, true},
		{"nothing", `{}`, true},
		{"another value", `{"n":8}`, false},
		{"a number as a text", `{"n":"7"}`, false},
		{"a field that is not there", `{"m":7}`, false},
		{"a field that must not be there", `{"m":{"$absent":true}}`, true},
		{"a field that is there and must not be", `{"n":{"$absent":true}}`, false},
		{"a field that must be there", `{"n":{"$absent":false}}`, true},
		{"a field that must be there and is not", `{"m":{"$absent":false}}`, false},
		{"a whole list", `{"list":[{"a":1},{"a":2},{"a":3}]}`, true},
		{"a list that is longer", `{"list":[{"a":1},{"a":2}]}`, false},
		{"a list that is shorter", `{"list":[{"a":1},{"a":2},{"a":3},{"a":4}]}`, false},
		{"some of a list", `{"list":{"$some":[{"a":1},{"a":3}]}}`, true},
		{"some of a list in another order", `{"list":{"$some":[{"a":3},{"a":1}]}}`, false},
		{"some that are not there", `{"list":{"$some":[{"a":4}]}}`, false},
		{"some of what is no list", `{"n":{"$some":[]}}`, false},
		{"all of a list", `{"list":{"$all":{"a":{"$absent":false}}}}`, true},
		{"not all of a list", `{"list":{"$all":{"a":1}}}`, false},
		{"a length", `{"list":{"$length":3}}`, true},
		{"another length", `{"list":{"$length":2}}`, false},
		{"the length of a text", `{"text":{"$length":0}}`, false},
		{"a part of a text", `{"text":{"$contains":"there"}}`, true},
		{"no part of a text", `{"text":{"$contains":"here?"}}`, false},
		{"a part of no text", `{"n":{"$contains":"7"}}`, false},
		{"a text that is nowhere", `{"list":{"$lacks":"hello"}}`, true},
		{"a text that is somewhere", `{"$lacks":"hello"}`, false},
		{"an unknown matcher", `{"n":{"$near":7}}`, false},
	} {
		var want, got any
		if err := strictly([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := strictly([]byte(value), &got); err != nil {
			t.Fatal(err)
		}
		if fault := match(want, got, "it"); (fault == "") != tt.fits {
			t.Errorf("%s: it fits %v, want %v: %s", tt.name, fault == "", tt.fits, fault)
		}
	}
}
