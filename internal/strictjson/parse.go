package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads one JSON value with numbers kept as written, as json.Number. maxDepth bounds its levels of objects and arrays,
// itself being the first. Errors say what is wrong and where, in a sentence that begins with what is wrong.
func Parse(data []byte, maxDepth int) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("there is nothing; an object is needed, {} for no arguments")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := parseValue(dec, maxDepth)
	if err != nil {
		return nil, describe(err, dec.InputOffset())
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON value at byte %d", dec.InputOffset())
	}
	return v, nil
}

// Object reads one JSON object, as [Parse] does.
func Object(data []byte, maxDepth int) (map[string]any, error) {
	v, err := Parse(data, maxDepth)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it must be a JSON object, not %s", KindOf(v))
	}
	return object, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if number, ok := token.(json.Number); ok {
		return number, checkNumber(string(number))
	}
	open, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == 0 {
		return nil, errTooDeep
	}
	if open == '[' {
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	object := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("an object's key must be a string")
		}
		if _, ok := object[name]; ok {
			return nil, fmt.Errorf("the key %q stands twice in one object", short(name))
		}
		if object[name], err = parseValue(dec, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return object, err
}

// checkNumber refuses numbers that a float64 has no place for. Some readers refuse a text for one, and with it the whole
// conversation; some make it 0 or infinite. A few bytes such as 1e-999999999 also stand for a gigabyte of digits, which
// comparing them exactly costs.
func checkNumber(number string) error {
	const maxBytes, maxExponent = 400, 999
	if len(number) > maxBytes {
		return fmt.Errorf("a number has %d digits; at most %d are allowed", len(number), maxBytes)
	}
	digits, exponent := number, 0
	var exponentErr error
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		digits = number[:i]
		exponent, exponentErr = strconv.Atoi(number[i+1:])
	}
	value, err := strconv.ParseFloat(number, 64)
	vanishes := value == 0 && strings.ContainsAny(digits, "123456789")
	if err != nil || vanishes || exponentErr != nil || exponent < -maxExponent || exponent > maxExponent {
		return fmt.Errorf("the number %s is out of range; a double has at most 1.8e308, and at least 5e-324", short(number))
	}
	return nil
}

// short bounds what is quoted.
func short(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

var errTooDeep = errors.New("it is nested too deeply")

func describe(err error, at int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the JSON ends too early, at byte %d", at)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not valid JSON: %s at byte %d", syntax, syntax.Offset)
	}
	return err
}

// KindOf says what a value that [Parse] gave is, for example "an array".
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}
