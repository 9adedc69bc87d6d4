package stdio

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// reply is what a client answers a callback with. It is taken in its own form alone: an object with every field that has to
// be there, and with no other, none of them null. Whatever else would be read as zero values, and those are answers too: an
// output that is empty, no veto, no secret. The error quotes nothing, since it is stored where the answer may not be.
type reply[T any] struct{ value T }

// UnmarshalJSON reads it.
func (r *reply[T]) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return errors.New("it is no object")
	}
	value := reflect.ValueOf(&r.value).Elem()
	for i := range value.NumField() {
		name, options, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		field, given := fields[name]
		delete(fields, name)
		switch {
		case !given && options == "omitempty":
		case !given:
			return fmt.Errorf("its field %s is missing", name)
		case string(field) == "null" || json.Unmarshal(field, value.Field(i).Addr().Interface()) != nil:
			return fmt.Errorf("its field %s is of another form", name)
		}
	}
	if len(fields) > 0 {
		return errors.New("it has a field that is not of this answer")
	}
	return nil
}
