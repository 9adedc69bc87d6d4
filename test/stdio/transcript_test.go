package stdio_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// exchange is a line of a recorded session: what the client sent (>) or what the runtime did (<). Strings that begin with a
// dollar sign stand for values that differ from run to run: the first time that one comes from the runtime it is bound, and
// from then on it must be the same.
type exchange struct {
	Client  json.RawMessage `json:">,omitempty"`
	Runtime json.RawMessage `json:"<,omitempty"`
}

// What differs each time and is not bound: a time must be one, a text must say something, a count must be a number.
const (
	anyTime  = "$time"
	anyText  = "$text"
	anyCount = "$count"
)

var placeholder = regexp.MustCompile(`\$[a-zA-Z]+[0-9]*`)

// bindings are the values that placeholders stand for.
type bindings map[string]any

// fill puts values in the place of placeholders.
func (b bindings) fill(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = b.fill(v[key])
		}
	case []any:
		for i := range v {
			v[i] = b.fill(v[i])
		}
	case string:
		if bound, ok := b[v]; ok {
			return bound
		}
		return placeholder.ReplaceAllStringFunc(v, func(name string) string {
			if bound, ok := b[name].(string); ok {
				return bound
			}
			return name
		})
	}
	return value
}

// match holds what came against what was recorded: every field and element that was recorded must be there, and may have
// others beside it, which a client of that version passes over. It returns the first difference, "" if there is none.
func (b bindings) match(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, and was an object", path, got)
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			value, there := g[key]
			if !there {
				return fmt.Sprintf("%s.%s is missing; it was %v", path, key, w[key])
			}
			if fault := b.match(path+"."+key, w[key], value); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Sprintf("%s is %v, and was an array", path, got)
		}
		from := 0
		for i, one := range w {
			fault := fmt.Sprintf("%s[%d] is missing; it was %v", path, i, one)
			for ; fault != "" && from < len(g); from++ {
				try := maps.Clone(b)
				if f := try.match(fmt.Sprintf("%s[%d]", path, i), one, g[from]); f == "" {
					fault = ""
					maps.Copy(b, try)
				} else if len(g) == len(w) {
					return f // the same number of them: this is the one
				}
			}
			if fault != "" {
				return fault
			}
		}
		return ""
	case string:
		return b.matchText(path, w, got)
	}
	if want != got {
		return fmt.Sprintf("%s is %v, and was %v", path, got, want)
	}
	return ""
}

func (b bindings) matchText(path, want string, got any) string {
	text, isText := got.(string)
	switch {
	case want == anyTime:
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return fmt.Sprintf("%s is %v, and was a time", path, got)
		}
		return ""
	case want == anyText:
		if text == "" {
			return fmt.Sprintf("%s is %v, and was a text", path, got)
		}
		return ""
	case want == anyCount:
		if _, isNumber := got.(json.Number); !isNumber {
			return fmt.Sprintf("%s is %v, and was a number", path, got)
		}
		return ""
	case placeholder.FindString(want) == want && want != "":
		if _, bound := b[want]; !bound {
			b[want] = got
			return ""
		}
	}
	if filled := b.fill(want); filled != got || !isText && want == filled {
		return fmt.Sprintf("%s is %v, and was %v (%s)", path, got, filled, want)
	}
	return ""
}

// decoded is JSON with its numbers as they are written.
func decoded(data []byte) (any, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var value any
	err := in.Decode(&value)
	return value, err
}

// transcript is a session that is being recorded.
type transcript struct {
	exchanges []exchange
	bound     bindings
	names     map[any]string // of values
	scope     string         // in which numbers are the same ones
	client    bool           // the line is the client's: it names nothing new
}

// The fields whose values differ from run to run, by what their placeholders are called.
var differing = map[string]string{
	"store": "store", "session": "session", "holder": "holder", "workspace": "workspace", "version": "version", "callId": "call", "call_id": "call", "subscription": "subscription",
	"callback": "callback", "interaction": "interaction", "run": "run", "number": "number", "accepted": "number", "event": "number", "after": "number", "answer": "number", "epoch": "epoch",
}

var (
	aTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	anID  = regexp.MustCompile(`^[A-Za-z0-9_-]{15,}$`)
)

// record adds a line, with placeholders for what differs.
func (t *transcript) record(fromClient bool, message []byte) error {
	value, err := decoded(message)
	if err != nil {
		return err
	}
	t.client = fromClient
	data, err := encoded(t.general("", value))
	if err != nil {
		return err
	}
	if fromClient {
		t.exchanges = append(t.exchanges, exchange{Client: data})
	} else {
		t.exchanges = append(t.exchanges, exchange{Runtime: data})
	}
	return nil
}

func encoded(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}

func (t *transcript) general(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		_, isCallback := v["method"]
		_, isError := v["code"]
		for _, k := range slices.Sorted(maps.Keys(v)) {
			inside := k
			switch number, isNumber := v[k].(json.Number); {
			case isError && (k == "message" || k == "output"): // our own words, which may be put better
				v[k] = anyText
				continue
			case k == "id" && isNumber: // of a callback: of its request, or of its answer
				if isCallback || t.names["id "+number.String()] != "" {
					v[k] = t.name("id ", "id", number)
				}
				continue
			case k == "id" && key == "interactions":
				inside = "interaction"
			}
			v[k] = t.general(inside, v[k])
		}
	case []any:
		for i := range v {
			v[i] = t.general(key, v[i])
		}
	case json.Number:
		switch kind := differing[key]; {
		case key == "lastEvent":
			return anyCount
		case kind == "number", kind == "epoch":
			return t.name(t.scope+kind+" ", kind, v)
		}
	case string:
		kind, ok := differing[key]
		switch {
		case aTime.MatchString(v):
			return anyTime
		case t.names[v] != "":
			return t.names[v]
		case ok && v != "" && kind != "number" && kind != "epoch":
			return t.name("", kind, v)
		case key == "id" && anID.MatchString(v):
			return t.name("", "id", v)
		}
		for known, name := range t.names { // none of them is in another
			if text, ok := known.(string); ok && strings.HasPrefix(name, "$session") {
				v = strings.ReplaceAll(v, text, name)
			}
		}
		return v
	}
	return value
}

// name is the placeholder of a value, a new one for one that is new.
func (t *transcript) name(space, kind string, value any) any {
	key := value
	if space != "" {
		key = space + fmt.Sprint(value)
	}
	if t.names[key] == "" && t.client {
		return value
	}
	if t.names[key] == "" {
		n := 1
		for t.bound[fmt.Sprintf("$%s%d", kind, n)] != nil {
			n++
		}
		name := fmt.Sprintf("$%s%d", kind, n)
		t.names[key], t.bound[name] = name, value
	}
	return t.names[key]
}
