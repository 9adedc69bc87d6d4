package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Decode reads parameters, which are an object. A field that is not known is unsupported_option, since a host that passed
// over one would do something else than was asked (FA9); whatever else does not fit is invalid_request. The error quotes no
// more than the beginning of what was sent.
func Decode(method string, params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	if params[0] != '{' {
		return api.Errorf(api.CodeInvalidRequest, "the parameters of %s are no object; give them by name", method)
	}
	in := json.NewDecoder(bytes.NewReader(params))
	in.DisallowUnknownFields()
	err := in.Decode(into)
	if err == nil {
		_, err = in.Token()
	}
	var typed *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &typed) && typed.Field != "":
		return api.Errorf(api.CodeInvalidRequest, "the parameters of %s: %s is a JSON %.80s; it must be %s", method, typed.Field, typed.Value, kindOf(typed))
	case err != nil:
		if field, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
			return api.Errorf(api.CodeUnsupportedOption, "this runtime knows no field %.200s in the parameters of %s; leave it out, correct its name, or use a newer runtime", field, method).With("field", fmt.Sprintf("%.200s", strings.Trim(field, `"`)))
		}
		return api.Errorf(api.CodeInvalidRequest, "the parameters of %s cannot be read: %.300s", method, err)
	}
	return api.Errorf(api.CodeInvalidRequest, "something stands behind the parameters of %s", method)
}

// kindOf says what a field must be, in JSON's words.
func kindOf(e *json.UnmarshalTypeError) string {
	switch name := e.Type.String(); {
	case e.Type.Kind().String() == "slice":
		return "an array"
	case e.Type.Kind().String() == "map", e.Type.Kind().String() == "struct":
		return "an object"
	case e.Type.Kind().String() == "bool":
		return "true or false"
	case strings.HasPrefix(e.Type.Kind().String(), "int"), strings.HasPrefix(e.Type.Kind().String(), "uint"):
		return "a whole number that fits"
	case e.Type.Kind().String() == "string":
		return "a string"
	default:
		return "of another form (" + name + ")"
	}
}
