package tool

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

// parse reads one JSON value with numbers kept as written. It refuses what encoding/json lets pass and
// two readers could understand differently: a key that stands twice, invalid UTF-8, anything behind the
// value. Depth counts nested objects and arrays.
func parse(data []byte, maxDepth int) (any, error) {
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
			return nil, fmt.Errorf("the key %q stands twice in one object", bound(name, 100))
		}
		if object[name], err = parseValue(dec, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return object, err
}

// checkNumber refuses numbers that no reader holds and that cost a lot to compare exactly: a few bytes such
// as 1e-999999999 stand for a gigabyte of digits.
func checkNumber(number string) error {
	const maxBytes, maxExponent = 400, 308
	if len(number) > maxBytes {
		return fmt.Errorf("a number has %d digits; at most %d are allowed", len(number), maxBytes)
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(number[i+1:])
		if err != nil || exponent < -maxExponent || exponent > maxExponent {
			return fmt.Errorf("the number %s is out of range", bound(number, 40))
		}
	}
	return nil
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

func kindOf(v any) string {
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
