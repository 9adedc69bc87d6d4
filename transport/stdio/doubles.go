package stdio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// textNoDouble tells a model of a number that would reach a body as another one.
const textNoDouble = "the call was not run: its arguments are not acceptable: at %.200s: the number %.100s would become another one on its way to the tool, " +
	"whose numbers are doubles. Call again with it as a string, if the tool takes one there; otherwise say that it cannot be given."

// unfit says why a client whose numbers are doubles cannot be given arguments as they are: its body would act on another account
// than the one that a person approved. nil for any other client, and for arguments that survive.
func (c *conn) unfit(arguments json.RawMessage) *api.Error {
	if !c.doubles.Load() {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(arguments))
	in.UseNumber()
	var value any
	if err := in.Decode(&value); err != nil {
		return nil // which a client cannot read either, and refuses
	}
	if at, number, found := noDouble(value, ""); found {
		return api.Errorf(api.CodeArgumentsInvalid, textNoDouble, at, number)
	}
	return nil
}

// noDouble finds the first number of a value that a double does not hold, with its JSON Pointer.
func noDouble(value any, path string) (at string, number json.Number, found bool) {
	switch v := value.(type) {
	case json.Number:
		return path, v, !isDouble(string(v))
	case []any:
		for i, item := range v {
			if at, number, found = noDouble(item, fmt.Sprintf("%s/%d", path, i)); found {
				return at, number, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, number, found = noDouble(v[name], path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)); found {
				return at, number, true
			}
		}
	}
	return "", "", false
}

// isDouble reports whether a number is in the range of doubles and, where its digits say an integer, is one of them or what
// JavaScript writes for one: the arguments that a person changed there come back as they went. Fractions and powers of ten are
// taken for what they mostly are: measures, which are rounded by whoever reads them.
func isDouble(number string) bool {
	double, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	if strings.ContainsAny(number, "eE") {
		return true
	}
	whole, fraction, _ := strings.Cut(number, ".")
	return strings.Trim(fraction, "0") != "" || whole == strconv.FormatFloat(double, 'f', 0, 64) || whole == strconv.FormatFloat(double, 'f', -1, 64)
}
