package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// Credentials give secrets for providers (RE5). The answer is asked for at each model call, so it may change.
type Credentials interface {
	Credential(ctx context.Context, provider string) (secret string, ok bool, err error)
}

// Registry is what this process can run: providers, registered agents and bound tools. Safe for concurrent use.
type Registry struct {
	credentials credentials
	providers   map[string]guarded // by lower-case name
	guards      atomic.Pointer[Guards]

	mu     sync.Mutex
	tools  map[string][]bound // by catalogue name
	agents map[string]*Agent  // by digest
}

// bound is a tool with its declaration. One name may have several: agents keep the tools that they were
// registered with.
type bound struct {
	declaration api.ToolDeclaration
	body        tool.Tool
}

// Agent is a definition as this process runs it.
type Agent struct {
	Reference    api.AgentReference
	Definition   api.AgentDefinition
	Declarations []model.Tool                   // what the model sees, in order
	fixed        int                            // bytes of a request beside the conversation
	catalogue    map[string]string              // catalogue names by model name
	declared     map[string]api.ToolDeclaration // by model name
	schemas      map[string]*tool.Schema        // by model name
}

// NewRegistry returns a registry of the providers and of the application's guards.
func NewRegistry(providers []model.Provider, source Credentials, guards Guards, now func() time.Time) *Registry {
	r := &Registry{
		credentials: credentials{source: source, now: now, seen: map[string]*seen{}},
		providers:   map[string]guarded{}, tools: map[string][]bound{}, agents: map[string]*Agent{},
	}
	r.guards.Store(&guards)
	for _, p := range providers {
		r.providers[strings.ToLower(p.Name())] = shield(p)
	}
	return r
}

// OnCredential has f called when a provider's credential is found to have come, to be missing, or to be
// unreadable for another reason. f is called from a goroutine of its own.
func (r *Registry) OnCredential(f func(provider string, err error)) {
	r.credentials.mu.Lock()
	defer r.credentials.mu.Unlock()
	r.credentials.changed = f
}

// Bind makes tool bodies available under their catalogue names; a later one replaces an earlier one that
// declares the same, and stands beside one that declares something else.
func (r *Registry) Bind(tools ...tool.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tools {
		d := t.Declaration()
		same := slices.DeleteFunc(slices.Clone(r.tools[d.Name]), func(b bound) bool { return sameDeclaration(b.declaration, d) })
		r.tools[d.Name] = append(same, bound{declaration: d, body: t})
	}
}

// Register makes a definition runnable here. declarations are its tools and built-ins.
func (r *Registry) Register(ref api.AgentReference, def api.AgentDefinition, declarations []api.ToolDeclaration) error {
	a := &Agent{Reference: ref, Definition: def, fixed: len(def.Instructions), catalogue: map[string]string{}, declared: map[string]api.ToolDeclaration{}, schemas: map[string]*tool.Schema{}}
	for _, d := range declarations {
		name, err := tool.ModelName(d.Name)
		if err != nil {
			return err
		}
		schema, err := tool.Compile(d.InputSchema)
		if err != nil {
			return err
		}
		a.Declarations = append(a.Declarations, model.Tool{Name: name, Description: d.Description, InputSchema: d.InputSchema})
		a.declared[name], a.schemas[name], a.catalogue[name] = d, schema, d.Name
		a.fixed += len(name) + len(d.Description) + len(d.InputSchema) + declarationBytes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents[ref.Digest] = a
	return nil
}

// Agent finds a registered definition.
func (r *Registry) Agent(digest string) (*Agent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.agents[digest]
	return a, ok
}

// Tool finds the bound tool of a declaration.
func (r *Registry) Tool(d api.ToolDeclaration) (tool.Tool, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tool(d)
}

func (r *Registry) tool(d api.ToolDeclaration) (tool.Tool, bool) {
	for _, b := range r.tools[d.Name] {
		if sameDeclaration(b.declaration, d) {
			return b.body, true
		}
	}
	return nil, false
}

// Provider finds a provider by name, without case.
func (r *Registry) Provider(name string) (model.Provider, bool) {
	p, ok := r.providers[strings.ToLower(name)]
	return p, ok
}

// Providers lists the providers' names.
func (r *Registry) Providers() []string {
	var out []string
	for _, p := range r.providers {
		out = append(out, p.Name())
	}
	return out
}

// Missing lists what this process lacks of the needs.
func (r *Registry) Missing(ctx context.Context, needs []string) []api.WaitReason {
	var out []api.WaitReason
	for _, need := range needs {
		kind, name, _ := strings.Cut(need, ":")
		switch kind {
		case "agent":
			out = append(out, r.missingOf(name)...)
		case "provider":
			if w := r.missingProvider(ctx, name); w.Code != "" {
				out = append(out, w)
			}
		case "guardrail":
			if _, missing := r.guards.Load().guardrails([]string{name}); len(missing) > 0 {
				out = append(out, missingGuard("guardrail", name))
			}
		case "hook":
			if _, missing := r.guards.Load().hooks([]string{name}); len(missing) > 0 {
				out = append(out, missingGuard("hook", name))
			}
		case "rules":
			if n, err := strconv.Atoi(name); err != nil || n > engine.Rules {
				out = append(out, newerBuild(need))
			}
		default:
			if need == engine.NeedContent {
				continue
			}
			out = append(out, newerBuild(need))
		}
	}
	return out
}

// declarationBytes is about what a tool's declaration has beside its texts.
const declarationBytes = 64

func missingGuard(kind, name string) api.WaitReason {
	return api.WaitReason{Code: api.CodeRegistrationMissing, Name: kind + " " + name,
		Message: fmt.Sprintf("the %s %q is not registered in this process; register it here, or let a program go on that has it", kind, name)}
}

func newerBuild(need string) api.WaitReason {
	return api.WaitReason{Code: api.CodeRegistrationMissing, Name: need, Message: fmt.Sprintf("the turn needs %q, which this build does not know; a newer one goes on with it", need)}
}

// Can reports whether this process can run a session with the needs.
func (r *Registry) Can(needs []string) bool { return len(r.Missing(context.Background(), needs)) == 0 }

// missingOf names the agent, or those of its tools that are not bound as it declares them.
func (r *Registry) missingOf(digest string) []api.WaitReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[digest]
	if a == nil {
		return []api.WaitReason{{Code: api.CodeRegistrationMissing, Name: "agent " + digest, Message: "the session's agent is not registered in this process; register the same definition"}}
	}
	var out []api.WaitReason
	for _, d := range a.Definition.Tools {
		if _, ok := r.tool(d); !ok {
			out = append(out, api.WaitReason{Code: api.CodeRegistrationMissing, Name: "tool " + d.Name,
				Message: fmt.Sprintf("the tool %q is not bound in this process as the agent declares it; bind it, or let a program go on that has it", d.Name)})
		}
	}
	return out
}

func sameDeclaration(a, b api.ToolDeclaration) bool {
	return a.Name == b.Name && a.Description == b.Description && effectOf(a) == effectOf(b) && sameJSON(a.InputSchema, b.InputSchema)
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	ax, _ := json.Marshal(x)
	by, _ := json.Marshal(y)
	return bytes.Equal(ax, by)
}

func (r *Registry) missingProvider(ctx context.Context, name string) api.WaitReason {
	p, ok := r.providers[strings.ToLower(name)]
	switch {
	case !ok:
		return api.WaitReason{Code: api.CodeRegistrationMissing, Name: name, Message: fmt.Sprintf("no provider %q is configured in this process; configure it, or let a program go on that has it", name)}
	case !p.needs && !r.credentials.failed(p.name), r.credentials.there(ctx, p):
		return api.WaitReason{}
	}
	return api.WaitReason{Code: api.CodeCredentialsMissing, Name: name, Message: r.credentials.why(p.name)}
}

// Credential gets the secret for a provider, "" for one that takes none, or does without where there is none.
func (r *Registry) Credential(ctx context.Context, provider string) (string, error) {
	p := r.providers[strings.ToLower(provider)]
	if !p.takes {
		return "", nil
	}
	return r.credentials.secret(ctx, p)
}

func (a *Agent) String() string {
	return fmt.Sprintf("%s (%.8s)", a.Reference.Name, a.Reference.Digest)
}
