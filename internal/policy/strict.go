package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unambiguous reports what keeps a JSON text from meaning one thing to all who read it, nil if nothing does: it is
// one value in UTF-8, and no object in it has two keys that are alike but for their case, of which some readers take
// the first and others the last.
func unambiguous(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("the JSON text is not UTF-8")
	}
	if !json.Valid([]byte(text)) {
		return errors.New("the text is not one JSON value")
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return walk(decoder)
}

// walk reads one value of a text that is valid.
func walk(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	keys := map[string]bool{}
	for decoder.More() {
		if open == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if folded := strings.Map(fold, key); keys[folded] {
				return fmt.Errorf("the key %q is there twice in one object", Plain(key, 80))
			} else {
				keys[folded] = true
			}
		}
		if err := walk(decoder); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// fold gives all that are one letter but for their case the same form.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// stringsIn are the strings of a JSON text, keys among them; none of a text that is not JSON.
func stringsIn(text string) (found []string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return nil
		}
		if s, ok := token.(string); ok {
			found = append(found, s)
		}
	}
}
