package modeltestserver

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// checkStruct refuses JSON that google.protobuf.Struct cannot hold: an object with a key twice, or a number that is no double.
// The API refuses the whole request for it.
func checkStruct(data json.RawMessage) error {
	if err := checkStructValue(json.NewDecoder(bytes.NewReader(data))); err != nil {
		return fmt.Errorf("invalid JSON payload received: %w", err)
	}
	return nil
}

func checkStructValue(in *json.Decoder) error {
	token, err := in.Token() // a number becomes a float64, and is refused where it does not
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	keys := map[json.Token]bool{}
	for in.More() {
		if open == '{' {
			key, err := in.Token()
			if err != nil {
				return err
			}
			if keys[key] {
				return fmt.Errorf("repeated map key: %q", key)
			}
			keys[key] = true
		}
		if err := checkStructValue(in); err != nil {
			return err
		}
	}
	_, err = in.Token()
	return err
}
