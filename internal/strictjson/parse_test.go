package strictjson_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/internal/strictjson"
)

func TestAnObjectIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]any{
		`{}`:              {},
		" {\n} ":          {},
		`{"a":1.50}`:      {"a": json.Number("1.50")},
		`{"a":{"a":[1]}}`: {"a": map[string]any{"a": []any{json.Number("1")}}},
		`{"n":12345678901234567890,"z":-0,"e":1E-7}`: {"n": json.Number("12345678901234567890"), "z": json.Number("-0"), "e": json.Number("1E-7")},
		`{"a":"\u00e9","b":null,"c":[],"A":true}`:    {"a": "é", "b": nil, "c": []any{}, "A": true},
		`{"a":1.7976931348623157e308,"b":5e-324}`:    {"a": json.Number("1.7976931348623157e308"), "b": json.Number("5e-324")},
		`{"a":0e999,"b":0.0}`:                        {"a": json.Number("0e999"), "b": json.Number("0.0")},
	} {
		got, err := strictjson.Object([]byte(text), 3)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestWhatReadersDoNotAgreeOnIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " ", "{} for no arguments"},
		{"a list", `[1]`, "not an array"},
		{"a text", `"{}"`, "not a string"},
		{"null", `null`, "not null"},
		{"a key twice", `{"a":1,"a":1}`, `"a" stands twice`},
		{"a key twice, deep inside", `{"a":[{"c":1,"c":2}]}`, `"c" stands twice`},
		{"a key twice, once escaped", `{"a":1,"\u0061":2}`, `"a" stands twice`},
		{"a long key twice", fmt.Sprintf(`{"%s":1,"%[1]s":2}`, strings.Repeat("é", 100)), `…" stands twice`},
		{"a number above a float64", `{"a":1e999}`, "1e999 is out of range"},
		{"the first number above", `{"a":9e308}`, "9e308 is out of range"},
		{"a number above, in digits", `{"a":` + strings.Repeat("9", 350) + `}`, "out of range"},
		{"a number below", `{"a":-1e999}`, "-1e999 is out of range"},
		{"a number that would become 0", `{"a":1e-999}`, "1e-999 is out of range"},
		{"a number that would become 0, in digits", `{"a":0.` + strings.Repeat("0", 350) + `1}`, "out of range"},
		{"zero with an exponent that no reader reads", `{"a":0e99999999999999999999}`, "out of range"},
		{"a gigabyte of digits", `{"a":1e-999999999}`, "out of range"},
		{"too many digits", `{"a":` + strings.Repeat("1", 401) + `}`, "401 digits"},
		{"not UTF-8", "{\"a\":\"\xff\"}", "not valid UTF-8"},
		{"too deep", `{"a":{"b":[{}]}}`, "too deeply"},
		{"cut off", `{"a":`, "ends too early"},
		{"two values", `{}{}`, "something follows"},
		{"what is no JSON", `{a:1}`, "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := strictjson.Object([]byte(c.text), 3)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
				t.Errorf("%v, %v, want an error that says %q", got, err, c.want)
			}
		})
	}
}

// What passes is the same to a reader that keeps the first of two keys, the last, or all, and each number is a finite one.
func TestWhatPassesHasOneMeaning(t *testing.T) {
	t.Parallel()
	key := rapid.SampledFrom([]string{`"a"`, `"\u0061"`, `"b"`, `"é"`, `""`})
	number := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%s%de%d", rapid.SampledFrom([]string{"", "-", "0.", "1."}).Draw(t, "sign"), rapid.IntRange(1, 9).Draw(t, "digits"), rapid.IntRange(-400, 400).Draw(t, "exponent"))
	})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return number.Draw(t, "number")
			}
			var pairs []string
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				pairs = append(pairs, key.Draw(t, "key")+":"+value(depth-1).Draw(t, "value"))
			}
			return "{" + strings.Join(pairs, ",") + "}"
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		text := `{"top":` + value(3).Draw(t, "value") + `}`
		_, err := strictjson.Object([]byte(text), 8)
		if plain := plainly(text); (err == nil) != plain {
			t.Fatalf("%s: %v, and to other readers it is plain: %v", text, err, plain)
		}
	})
}

// plainly reports by other means whether a text has one meaning: its tokens are counted against those of what one map
// keeps, and encoding/json decodes its numbers.
func plainly(text string) bool {
	var decoded any
	if json.Unmarshal([]byte(text), &decoded) != nil {
		return false
	}
	kept, finite := 0, true
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			kept += len(v)
			for _, each := range v {
				walk(each)
			}
		case float64:
			finite = finite && v != 0 && !math.IsInf(v, 0)
		}
	}
	walk(decoded)
	return finite && kept == strings.Count(text, ":")
}
