package engine

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const goldenEvents = "testdata/events.jsonl"

// filled returns the event of a kind with every field set, so that its JSON shows every key.
func filled(t *testing.T, kind Kind) Event {
	t.Helper()
	zero, err := decoders[kind]([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(v)
	return v.Interface().(Event)
}

func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(elem)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

func kinds() []Kind { return slices.Sorted(maps.Keys(decoders)) }

func TestEachKindDecodesToItsOwnEventAndBack(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		e := filled(t, kind)
		if e.Kind() != kind {
			t.Errorf("kind %s decodes to an event of kind %s", kind, e.Kind())
			continue
		}
		s, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(s.Kind, s.Version, s.Data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Errorf("%s comes back changed (-stored +read):\n%s", kind, diff)
		}
		if s.Run != e.run() || s.Terminal != (kind == "turn_ended") {
			t.Errorf("%s is stored with run %q, terminal %t", kind, s.Run, s.Terminal)
		}
	}
}

func TestEachKindHasAPublicEventOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]Kind{}
	for _, kind := range kinds() {
		e, err := Public(Fact{Number: 3, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Event: filled(t, kind)})
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == "" {
			t.Errorf("%s has no public event", kind)
		}
		if other, taken := seen[string(e.Type)]; taken {
			t.Errorf("%s and %s are both told as %s", kind, other, e.Type)
		}
		seen[string(e.Type)] = kind
		if e.Number != 3 || e.Run != filled(t, kind).run() {
			t.Errorf("%s is told with number %d and run %q", kind, e.Number, e.Run)
		}
		// A data type is told whole: no field of it stays at its zero value where the fact has a value for it.
		var told map[string]any
		if len(e.Data) > 0 {
			if err := json.Unmarshal(e.Data, &told); err != nil {
				t.Fatal(err)
			}
		}
		for key, v := range told {
			if v == nil || v == "" || v == float64(0) || v == false {
				t.Errorf("%s is told with %q empty: %s", kind, key, e.Data)
			}
		}
	}
}

func TestPrivatePartsAreNotPublic(t *testing.T) {
	t.Parallel()
	created := SessionCreated{Secret: []byte("secret-key"), Agent: Agent{Name: "a"}}
	answer := ModelFinished{Items: []Item{{Kind: ItemReasoning, Text: "secret-thought", Private: []byte("secret-state")}, {Kind: ItemText, Text: "hello"}}}
	accepted := TurnAccepted{Text: "hi", Addendum: "secret-addendum", Fingerprint: map[string]string{"text": "secret-print"}}
	for _, e := range []Event{created, answer, accepted} {
		p, err := Public(Fact{Event: e})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(p.Data, []byte("secret")) || bytes.Contains(p.Data, []byte("c2VjcmV0")) {
			t.Errorf("%s tells %s", e.Kind(), p.Data)
		}
	}
}

// The keys of stored events are on people's disks: none is ever renamed, retyped or dropped. A field may be
// added, if its absence means what it meant before; -update takes it up and refuses anything else.
func TestTheKeysOfStoredEventsStay(t *testing.T) {
	t.Parallel()
	golden := map[Kind]json.RawMessage{}
	data, err := os.ReadFile(goldenEvents)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var l struct {
			Kind Kind            `json:"kind"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		golden[l.Kind] = l.Data
	}
	var out strings.Builder
	for _, kind := range kinds() {
		s, err := Encode(filled(t, kind))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, `{"kind":%q,"data":%s}`+"\n", kind, s.Data)
		old, known := golden[kind]
		if !known {
			if !updating() {
				t.Errorf("kind %s is new; take it up with -update", kind)
			}
			continue
		}
		if gone := lost("", decodeAny(t, old), decodeAny(t, s.Data)); gone != "" {
			t.Errorf("%s: %s", kind, gone)
		}
		delete(golden, kind)
	}
	for kind := range golden {
		if _, still := decoders[kind]; !still {
			t.Errorf("kind %s is read no more, but journals hold it", kind)
		}
	}
	if t.Failed() {
		return
	}
	if updating() {
		if err := os.WriteFile(goldenEvents, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if out.String() != string(data) {
		t.Errorf("fields were added; take them up with -update")
	}
}

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func decodeAny(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func lost(path string, old, now any) string {
	switch o := old.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		if !ok {
			return path + " is of another type"
		}
		for k, v := range o {
			if _, there := n[k]; !there {
				return path + "." + k + " is gone"
			}
			if gone := lost(path+"."+k, v, n[k]); gone != "" {
				return gone
			}
		}
	case []any:
		n, ok := now.([]any)
		if !ok || len(n) != len(o) {
			return path + " is of another type"
		}
		for i := range o {
			if gone := lost(path, o[i], n[i]); gone != "" {
				return gone
			}
		}
	default:
		if old != now {
			return fmt.Sprintf("%s was stored as %v, is now %v", path, old, now)
		}
	}
	return ""
}

func TestTheCorpusHoldsEveryKind(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, kind := range kinds() {
		if !bytes.Contains(all.Bytes(), []byte(`"kind":"`+kind+`"`)) {
			t.Errorf("no journal of the corpus holds %s", kind)
		}
	}
}
