package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/openworkerai/openworker/model/internal/wire"
)

// call is a tool call as it is put together.
type call struct {
	index     wire.Number
	id        string
	name      string
	arguments []byte
}

// calls puts fragments together. See the package's text for the rule: join where in doubt.
type calls struct {
	list  []*call
	bytes int // of names and arguments
}

// add takes the fragments of one chunk. It reports false when there are too many calls.
func (c *calls) add(fragments []fragment) bool {
	var touched []*call // by the fragments of this chunk that have no index
	for i := range fragments {
		f := &fragments[i]
		target := c.find(f)
		if target != nil && !f.Index.Given && f.Function.Name != "" {
			for _, t := range touched {
				if t == target {
					target = nil // two names in one list are two calls
					break
				}
			}
		}
		if target == nil || target.isOther(f) {
			if len(c.list) == wire.MaxCalls {
				return false
			}
			target = &call{index: f.Index}
			c.list = append(c.list, target)
		}
		if !f.Index.Given {
			touched = append(touched, target)
		}
		c.bytes += len(f.Function.Name) + len(f.Function.Arguments)
		target.join(f)
	}
	return true
}

// find returns the call that the fragment most likely goes on with: the last of its index, else the last of its
// ID, else the last at all.
func (c *calls) find(f *fragment) *call {
	for i := len(c.list) - 1; i >= 0; i-- {
		have := c.list[i]
		if f.Index.Given && have.index.Given {
			if have.index.Value == f.Index.Value {
				return have
			}
			continue
		}
		if f.ID != "" && have.id == string(f.ID) {
			return have
		}
	}
	if f.Index.Given || len(c.list) == 0 {
		return nil
	}
	return c.list[len(c.list)-1]
}

// isOther reports whether the fragment begins another call than the one that it was found to go on with. Only a
// fragment with a name can: with another ID, with another name once there are arguments, or, where there is
// no index to go by, after arguments that are whole.
func (have *call) isOther(f *fragment) bool {
	name := string(f.Function.Name)
	switch {
	case name == "":
		return false
	case f.ID != "" && have.id != "" && string(f.ID) != have.id:
		return true
	case len(have.arguments) == 0:
		return false
	case name != have.name:
		return true
	}
	return !f.Index.Given && f.Function.Arguments != "" && json.Valid(have.arguments)
}

// join adds the fragment. A name may come whole, again with each fragment, or in pieces.
func (have *call) join(f *fragment) {
	if have.id == "" {
		have.id = string(f.ID)
	}
	switch name := string(f.Function.Name); {
	case name == "" || name == have.name:
	case strings.HasPrefix(name, have.name):
		have.name = name
	default:
		have.name += name
	}
	have.arguments = append(have.arguments, f.Function.Arguments...)
}
