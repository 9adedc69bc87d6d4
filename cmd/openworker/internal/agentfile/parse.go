package agentfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/internal/definition"
)

// Host is what the program has that an agent may name.
type Host struct {
	Tools     []api.ToolDeclaration
	Providers []string // in their one spelling
	// Guardrails and Hooks are the names of those that the program has.
	Guardrails, Hooks []string
}

// Read is [Parse] of a file. Errors: those of Parse, and invalid_request for a file that cannot be read.
func Read(path string, host Host) (api.AgentDefinition, error) {
	data, err := document.Read(path)
	if err != nil {
		return api.AgentDefinition{}, err
	}
	return Parse(path, data, host)
}

// Parse reads an agent. A name that is left out is the file's, without its ending, with the beginning of a digest
// of its content behind it. The error has the code of the
// first fault (invalid_request, invalid_agent, invalid_limits, invalid_guidance, unknown_provider,
// unsupported_option) and *document.Faults as its cause.
func Parse(path string, data []byte, host Host) (api.AgentDefinition, error) {
	d, err := document.Parse(path, data)
	if err != nil {
		return api.AgentDefinition{}, err
	}
	r := reader{Document: d, host: host}
	r.read()
	def := api.AgentDefinition{}
	if d.Root.At("name") == nil {
		r.parts = append(r.parts, part{d.Root, func(def *api.AgentDefinition) { def.Name = ownName(path, data) }})
	}
	for _, p := range r.parts {
		r.check(p)
		p.set(&def)
	}
	if err := d.Err(); err != nil {
		return api.AgentDefinition{}, err
	}
	def, err = definition.Normalize(def, host.Providers)
	if err != nil {
		r.fault(d.Root, err)
	}
	return def, d.Err()
}

// ownName is the name of an agent whose file gives none: another one for each content, so that a file may be changed
// between two runs and the sessions of both keep what they began with.
func ownName(path string, data []byte) string {
	name := filepath.Base(path)
	digest := sha256.Sum256(data)
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-" + hex.EncodeToString(digest[:4])
}

// part is a field that was read: set puts it into a definition.
type part struct {
	value *document.Value
	set   func(*api.AgentDefinition)
}

type reader struct {
	*document.Document
	host  Host
	tools []api.ToolDeclaration
	parts []part
}

func (r *reader) add(v *document.Value, set func(*api.AgentDefinition)) {
	r.parts = append(r.parts, part{v, set})
}

// check asks for one field alone what is wrong with it.
func (r *reader) check(p part) {
	def := api.AgentDefinition{Name: "agent", DefaultModel: api.ModelRef{Provider: "any", Name: "model"}, Tools: r.tools}
	p.set(&def)
	providers := append([]string{"any"}, r.host.Providers...)
	if _, err := definition.Normalize(def, providers); err != nil {
		if api.CodeOf(err) == api.CodeUnknownProvider { // said again without the one that stands in
			model := def.DefaultModel
			if reviewer := def.Approvals.ReviewerModel; reviewer != nil {
				p.value, model = p.value.At("reviewerModel"), *reviewer
			}
			_, err = definition.CheckModel(p.value.Path, model, r.host.Providers)
		}
		r.fault(p.value, err)
	}
}

// fault notes an error of the definition at the value that it speaks of, among v and what is below it.
func (r *reader) fault(v *document.Value, err error) {
	if err == nil {
		return
	}
	said := api.AsError(err)
	r.Fault(spokenOf(v, said.Message), said.Code, "%s", said.Message)
}

// spokenOf is the deepest value whose path the message names first, or the item of it that the message quotes.
func spokenOf(v *document.Value, message string) *document.Value {
	found, first := v, len(message)
	var look func(*document.Value)
	look = func(v *document.Value) {
		if at := strings.Index(message+" ", v.Path+" "); v.Path != "" && at >= 0 && (at < first || at == first && len(v.Path) > len(found.Path)) {
			found, first = v, at
		}
		for _, child := range v.Children() {
			look(child)
		}
	}
	look(v)
	if found.Kind == document.List {
		for _, item := range found.Children() {
			if text, ok := item.IsText(); ok && strings.Contains(message, strconv.Quote(text)) {
				return item
			}
		}
	}
	return found
}

// model reads "Provider/name" or a map of the two.
func (r *reader) model(v *document.Value) (api.ModelRef, bool) {
	if text, ok := v.IsText(); ok {
		provider, name, ok := strings.Cut(text, "/")
		if !ok || provider == "" || name == "" {
			r.Fault(v, api.CodeInvalidAgent, "is %q; write Provider/name, for example OpenAI/gpt-5-mini", text)
			return api.ModelRef{}, false
		}
		return api.ModelRef{Provider: provider, Name: name}, true
	}
	if v.Kind != document.Map {
		r.Fault(v, api.CodeInvalidRequest, "must be Provider/name, for example OpenAI/gpt-5-mini, and is %s", v.Kind)
		return api.ModelRef{}, false
	}
	var m api.ModelRef
	valid := true
	text := func(to *string) func(*document.Value) {
		return func(v *document.Value) {
			var ok bool
			*to, ok = r.Text(v)
			valid = valid && ok
		}
	}
	r.Map(v, map[string]func(*document.Value){"provider": text(&m.Provider), "name": text(&m.Name)})
	return m, valid
}

// selected are the tools that are named.
func (r *reader) selected(v *document.Value) {
	var known []string
	for _, t := range r.host.Tools {
		known = append(known, t.Name)
	}
	for _, name := range r.named(v, "tool", known) {
		r.tools = append(r.tools, r.host.Tools[slices.Index(known, name)])
	}
	r.add(v, func(def *api.AgentDefinition) { def.Tools = r.tools })
}

// named reads a list of names of what the program has, each once.
func (r *reader) named(v *document.Value, what string, known []string) (names []string) {
	for _, item := range r.List(v) {
		name, ok := r.Text(item)
		switch near := document.Nearest(name, known); {
		case !ok:
		case slices.Contains(names, name):
			r.Fault(item, api.CodeInvalidAgent, "the %s %q is selected twice", what, name)
		case slices.Contains(known, name):
			names = append(names, name)
		case near != "":
			r.Fault(item, api.CodeInvalidAgent, "there is no %s %q; did you mean %q?", what, name, near)
		case len(known) == 0:
			r.Fault(item, api.CodeInvalidAgent, "there is no %s %q; this program has none", what, name)
		default:
			r.Fault(item, api.CodeInvalidAgent, "there is no %s %q; there are %s", what, name, strings.Join(known, ", "))
		}
	}
	return names
}

// Faults are what an error of [Parse] is made of, nil for another error.
func Faults(err error) *document.Faults {
	var found *document.Faults
	errors.As(err, &found)
	return found
}
