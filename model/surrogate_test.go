package model_test

import (
	"encoding/json"
	"testing"

	"github.com/openworkerai/openworker/model"
	"pgregory.net/rapid"
)

func TestHalfACharacterIsMended(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{}`:                            `{}`,
		`{"a":"\ud800"}`:                `{"a":"\ufffd"}`,
		`{"a":"\uDC00x"}`:               `{"a":"\ufffdx"}`,
		`{"a":"\ud83d\ude00"}`:          `{"a":"\ud83d\ude00"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:    `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\ude00\ud83d"}`:          `{"a":"\ufffd\ufffd"}`,
		`{"a":"\\ud800"}`:               `{"a":"\\ud800"}`,
		`{"a":"\\\ud800\\"}`:            `{"a":"\\\ufffd\\"}`,
		`{"a":"\ud800\n\udc00"}`:        `{"a":"\ufffd\n\ufffd"}`,
		`{"\ud800":"\u00e9","b":"\ud8"`: `{"\ufffd":"\u00e9","b":"\ud8"`,
		`\`:                             `\`,
		`"\ud800`:                       `"\ufffd`,
	} {
		if got := string(model.MendJSON([]byte(given))); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}

// What is mended means what encoding/json reads, and nothing is left to mend.
func TestAMendedTextMeansTheSame(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", `\\`, `\"`, `\n`, `\ud83d`, `\ude00`, `\uD800`, `\uDFFF`, `\u0041`, "é", "u", "d83d"})
	rapid.Check(t, func(t *rapid.T) {
		text := `"`
		for _, p := range rapid.SliceOf(piece).Draw(t, "pieces") {
			text += p
		}
		text += `"`
		var want, got string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("the generator is wrong: %s: %v", text, err)
		}
		given := []byte(text)
		mended := model.MendJSON(given)
		if err := json.Unmarshal(mended, &got); err != nil || got != want || string(given) != text {
			t.Fatalf("%s became %s: %q, want %q (%v)", text, mended, got, want, err)
		}
		if again := model.MendJSON(mended); string(again) != string(mended) {
			t.Fatalf("%s is mended to %s and then to %s", text, mended, again)
		}
	})
}
