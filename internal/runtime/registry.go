package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
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
	credentials Credentials
	providers   map[string]model.Provider // by lower-case name

	mu     sync.Mutex
	tools  map[string]tool.Tool // by catalogue name
	agents map[string]*Agent    // by digest
	seen   map[string]credentialSeen
	now    func() time.Time
}

type credentialSeen struct {
	ok    bool
	until time.Time
}

// Agent is a definition as this process runs it.
type Agent struct {
	Reference    api.AgentReference
	Definition   api.AgentDefinition
	Declarations []model.Tool // what the model sees, in order
	names        map[string]string
	schemas      map[string]*tool.Schema // by model name
}

// NewRegistry returns a registry of the providers.
func NewRegistry(providers []model.Provider, credentials Credentials, now func() time.Time) *Registry {
	r := &Registry{credentials: credentials, providers: map[string]model.Provider{}, tools: map[string]tool.Tool{}, agents: map[string]*Agent{},
		seen: map[string]credentialSeen{}, now: now}
	for _, p := range providers {
		r.providers[strings.ToLower(p.Name())] = p
	}
	return r
}

// Bind makes tool bodies available under their catalogue names; a later one replaces an earlier one.
func (r *Registry) Bind(tools ...tool.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tools {
		r.tools[t.Declaration().Name] = t
	}
}

// Register makes a definition runnable here. declarations are its tools and built-ins.
func (r *Registry) Register(ref api.AgentReference, def api.AgentDefinition, declarations []api.ToolDeclaration) error {
	a := &Agent{Reference: ref, Definition: def, names: map[string]string{}, schemas: map[string]*tool.Schema{}}
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
		a.names[name], a.schemas[name] = d.Name, schema
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

// Tool finds a bound tool by catalogue name.
func (r *Registry) Tool(name string) (tool.Tool, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tools[name]
	return t, ok
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
			if code := r.missingProvider(ctx, name); code != "" {
				out = append(out, api.WaitReason{Code: code, Name: name})
			}
		case "rules":
			if n, err := strconv.Atoi(name); err != nil || n > engine.Rules {
				out = append(out, api.WaitReason{Code: api.CodeRegistrationMissing, Name: need})
			}
		default:
			out = append(out, api.WaitReason{Code: api.CodeRegistrationMissing, Name: need})
		}
	}
	return out
}

// Can reports whether this process can run a session with the needs.
func (r *Registry) Can(needs []string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return len(r.Missing(ctx, needs)) == 0
}

// missingOf names the agent, or those of its tools that are not bound as it declares them.
func (r *Registry) missingOf(digest string) []api.WaitReason {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[digest]
	if a == nil {
		return []api.WaitReason{{Code: api.CodeRegistrationMissing, Name: "agent " + digest}}
	}
	var out []api.WaitReason
	for _, d := range a.Definition.Tools {
		if t := r.tools[d.Name]; t == nil || !sameDeclaration(t.Declaration(), d) {
			out = append(out, api.WaitReason{Code: api.CodeRegistrationMissing, Name: "tool " + d.Name})
		}
	}
	return out
}

func sameDeclaration(a, b api.ToolDeclaration) bool {
	effect := func(e api.Effect) api.Effect {
		if e == "" {
			return api.SideEffect
		}
		return e
	}
	return a.Name == b.Name && a.Description == b.Description && effect(a.Effect) == effect(b.Effect) && sameJSON(a.InputSchema, b.InputSchema)
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

func (r *Registry) missingProvider(ctx context.Context, name string) api.Code {
	p, ok := r.Provider(name)
	if !ok {
		return api.CodeRegistrationMissing
	}
	if !p.NeedsCredential() {
		return ""
	}
	r.mu.Lock()
	seen := r.seen[p.Name()]
	r.mu.Unlock()
	if seen.ok && r.now().Before(seen.until) {
		return ""
	}
	// A missing credential is looked for each time: it may have come. One that was there is trusted for a while.
	_, err := r.Credential(ctx, p)
	r.mu.Lock()
	r.seen[p.Name()] = credentialSeen{ok: err == nil, until: r.now().Add(5 * time.Second)}
	r.mu.Unlock()
	if err != nil {
		return api.CodeCredentialsMissing
	}
	return ""
}

// Credential gets the secret for a provider, "" for one that needs none.
func (r *Registry) Credential(ctx context.Context, p model.Provider) (string, error) {
	if !p.NeedsCredential() {
		return "", nil
	}
	if r.credentials == nil {
		return "", api.Errorf(api.CodeCredentialsMissing, "provider %s needs a credential and this process has none; give it at Open", p.Name())
	}
	secret, ok, err := r.credentials.Credential(ctx, p.Name())
	if err != nil {
		return "", api.Errorf(api.CodeCredentialsMissing, "the credential for provider %s could not be read: %w", p.Name(), err)
	}
	if !ok || secret == "" {
		return "", api.Errorf(api.CodeCredentialsMissing, "provider %s needs a credential and this process has none", p.Name())
	}
	return secret, nil
}

func (a *Agent) String() string {
	return fmt.Sprintf("%s (%.8s)", a.Reference.Name, a.Reference.Digest)
}
