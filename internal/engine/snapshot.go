package engine

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"sync"
)

// SnapshotSchema identifies the shape of State and the version of its fold. A snapshot of another schema
// is ignored: it is a cache, the journal is the truth.
var SnapshotSchema = sync.OnceValue(func() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "fold %d\n", foldVersion)
	describe(h, reflect.TypeFor[State](), map[reflect.Type]bool{})
	return fmt.Sprintf("%016x", h.Sum64())
})

// foldVersion is raised when Apply comes to fold the same facts into another state of the same shape.
const foldVersion = 2

func describe(w interface{ Write([]byte) (int, error) }, t reflect.Type, seen map[reflect.Type]bool) {
	_, _ = fmt.Fprintf(w, "%s %s\n", t.Kind(), t.Name())
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		if t.Kind() == reflect.Map {
			describe(w, t.Key(), seen)
		}
		describe(w, t.Elem(), seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			_, _ = fmt.Fprintf(w, "%s %q\n", f.Name, f.Tag)
			if f.IsExported() {
				describe(w, f.Type, seen)
			}
		}
	}
}

// Snapshot encodes a state.
func Snapshot(s *State) ([]byte, error) { return marshal(s) }

// Restore decodes a snapshot of this build's schema.
func Restore(data []byte) (*State, error) {
	s := &State{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("engine: restore snapshot: %w", err)
	}
	return s, nil
}
