package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/openworkerai/openworker/api"
)

// Digest is an agent's identity: the hex SHA-256 of the canonical JSON (RFC 8785) of a definition that
// [Normalize] returned (AG2).
func Digest(def api.AgentDefinition) string { return Fingerprint(def) }

// Fingerprint is the hex SHA-256 of a value's canonical JSON (RFC 8785). The value must be plain data, as
// it comes out of JSON; one that has no JSON form is a programming error, and panics.
func Fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err == nil {
		data, err = canonical(data)
	}
	if err != nil {
		panic(fmt.Sprintf("definition: fingerprint of a %T: %v", v, err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func canonical(data []byte) (json.RawMessage, error) {
	out, err := jcs.Transform(data)
	return out, err
}

// Diff names the fields in which two definitions differ, sorted, by their JSON names: "limits.maxModelCalls",
// "tools[app.lookup].description", or "tools" where only their order differs (AG3).
func Diff(a, b api.AgentDefinition) []string {
	var found []string
	x, y := plain(a), plain(b)
	if tools := diffTools(a.Tools, b.Tools); len(tools) > 0 {
		found = tools
	}
	delete(x, "tools")
	delete(y, "tools")
	found = append(found, diffObjects("", x, y)...)
	slices.Sort(found)
	return found
}

func diffObjects(path string, a, b map[string]any) []string {
	var found []string
	keys := map[string]any{}
	maps.Copy(keys, a)
	maps.Copy(keys, b)
	for key := range keys {
		x, inA := a[key]
		y, inB := b[key]
		inner, okX := x.(map[string]any)
		other, okY := y.(map[string]any)
		switch {
		case okX && okY, okX && !inB, okY && !inA:
			found = append(found, diffObjects(path+key+".", inner, other)...)
		case inA != inB || !reflect.DeepEqual(x, y):
			found = append(found, path+key)
		}
	}
	return found
}

func diffTools(a, b []api.ToolDeclaration) []string {
	byName := func(tools []api.ToolDeclaration) (map[string]api.ToolDeclaration, []string) {
		m, order := map[string]api.ToolDeclaration{}, []string{}
		for _, t := range tools {
			m[t.Name], order = t, append(order, t.Name)
		}
		return m, order
	}
	x, orderX := byName(a)
	y, orderY := byName(b)
	var found []string
	all := maps.Clone(x)
	maps.Copy(all, y)
	for name := range all {
		p, inX := x[name]
		q, inY := y[name]
		path := "tools[" + name + "]"
		if !inX || !inY {
			found = append(found, path)
			continue
		}
		before, after := plain(p), plain(q)
		for _, key := range []string{"description", "effect", "inputSchema"} {
			if !reflect.DeepEqual(before[key], after[key]) {
				found = append(found, path+"."+key)
			}
		}
	}
	if len(found) == 0 && !slices.Equal(orderX, orderY) {
		found = append(found, "tools")
	}
	return found
}

// plain is a value as its JSON says it.
func plain(v any) map[string]any {
	data, err := json.Marshal(v)
	m := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		panic(fmt.Sprintf("definition: %T has no JSON form: %v", v, err))
	}
	return m
}
