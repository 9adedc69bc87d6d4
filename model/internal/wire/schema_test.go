package wire

import "testing"

func TestASchemaIsOneThatTheStrictestTake(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		``:     `{"type":"object","properties":{}}`,
		`null`: `null`, `{"type":`: `{"type":`,
		`{}`:                                    `{"type":"object"}`,
		` {"type":"object", "b":1,"a":2}`:       ` {"type":"object", "b":1,"a":2}`,
		`{"properties":{"a":{"anyOf":[true]}}}`: `{"properties":{"a":{"anyOf":[true]}},"type":"object"}`,
		`{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{}}}`:        `{"properties":{"a":{}},"type":"object"}`,
		`{"type":"object","oneOf":[],"allOf":[],"not":{},"enum":[],"required":["a"]}`: `{"required":["a"],"type":"object"}`,
		`{"type":["object","null"]}`: `{"type":"object"}`,
	} {
		if got := string(ObjectSchema([]byte(given))); got != want {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
}
