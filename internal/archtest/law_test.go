package archtest

import (
	"slices"
	"strings"
	"testing"
)

// rule is what a package may import besides the standard library: packages of the module by their path in
// it ("" is the root package), and third-party modules.
type rule struct {
	own     []string
	modules []string
}

// anything lets a package import every package of the module.
const anything = "*"

// law is the import law: each package of the module, and whom it may know. An entry that ends with "/"
// holds for all packages below it.
var law = map[string]rule{
	"api": {},

	"internal/strictjson": {},
	"internal/definition": {own: []string{"api", "tool"}, modules: []string{"github.com/gowebpki/jcs"}},
	"internal/content":    {own: []string{"api", "internal/strictjson"}},
	"internal/engine":     {own: []string{"api"}},
	"internal/policy":     {own: []string{"api", "guard", "model"}},
	"internal/runtime":    {own: []string{"api", "guard", "internal/engine", "internal/policy", "internal/definition", "internal/strictjson", "store", "model", "tool"}, modules: []string{"github.com/google/uuid", "golang.org/x/sys"}},
	"internal/service":    {own: []string{"api", "guard", "internal/content", "internal/definition", "internal/engine", "internal/policy", "internal/runtime", "store", "model", "tool"}, modules: []string{"github.com/google/uuid"}},
	"internal/sim":        {own: []string{anything}},
	"internal/suitehost":  {own: []string{"api", "guard", "internal/runtime", "internal/service", "model", "model/scripted", "store", "store/memstore", "store/sqlite", "tool", "transport/servicetest"}},
	"internal/archtest":   {own: []string{"api", "internal/content"}},

	"store":           {own: []string{"api"}},
	"store/memstore":  {own: []string{"api", "store"}},
	"store/sqlite":    {own: []string{"api", "store"}, modules: []string{"modernc.org/sqlite", "golang.org/x/sys"}},
	"store/storetest": {own: []string{"api", "store"}, modules: []string{"github.com/google/go-cmp", "pgregory.net/rapid", "github.com/anishathalye/porcupine"}},

	"model":                  {own: []string{"api", "internal/strictjson"}},
	"model/facts":            {own: []string{"model"}},
	"model/modeltest":        {own: []string{"api", "model"}, modules: []string{"github.com/google/go-cmp"}},
	"model/internal/wire":    {own: []string{"api", "model"}},
	"model/openaichat":       {own: []string{"api", "model", "model/facts", "model/internal/wire"}},
	"model/openai":           {own: []string{"api", "model", "model/facts", "model/internal/wire"}, modules: []string{"github.com/openai/openai-go/v3"}},
	"model/anthropic":        {own: []string{"api", "model", "model/facts", "model/internal/wire"}, modules: []string{"github.com/anthropics/anthropic-sdk-go/v2"}},
	"model/google":           {own: []string{"api", "model", "model/facts", "model/internal/wire"}, modules: []string{"google.golang.org/genai"}},
	"model/modeltest/server": {},
	"model/scripted":         {own: []string{"api", "model"}},

	"tool/tooltest": {own: []string{"api", "tool"}},
	"tool":          {own: []string{"api", "internal/strictjson"}, modules: []string{"github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text"}},

	"guard":           {own: []string{"api", "model"}},
	"guard/sensitive": {own: []string{"api", "guard"}, modules: []string{"github.com/zricethezav/gitleaks/v8", "github.com/spf13/viper", "github.com/nyaruka/phonenumbers", "mvdan.cc/xurls/v2"}},

	"transport/rpc":         {own: []string{"api"}, modules: []string{"github.com/creachadair/jrpc2"}},
	"transport/stdio":       {own: []string{"api", "guard", "model", "tool", "transport/rpc"}, modules: []string{"github.com/creachadair/jrpc2"}},
	"transport/client":      {own: []string{"api", "guard", "model", "tool", "transport/rpc"}, modules: []string{"github.com/creachadair/jrpc2"}},
	"internal/spec":         {own: []string{"api", "transport/rpc"}, modules: []string{"github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6"}},
	"transport/servicetest": {own: []string{"api", "guard", "model"}},

	// The root package opens the default store, so it knows SQLite; it knows no provider but by interface.
	"": {own: []string{"api", "guard", "internal/content", "internal/definition", "internal/runtime", "internal/service", "store", "store/sqlite", "model", "tool"}, modules: []string{"github.com/google/uuid"}},
	// What a program of somebody else's may look like: the root package, a provider, the standard library.
	"examples/": {own: []string{"", "api", "guard", "guard/sensitive", "model", "model/scripted", "model/openaichat", "examples/internal/output"}},

	"cmd/": {own: []string{anything}, modules: []string{
		"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "golang.org/x/sys", "github.com/goccy/go-yaml",
		"charm.land/bubbletea/v2", "charm.land/bubbles/v2", "charm.land/lipgloss/v2", "charm.land/glamour/v2", "github.com/charmbracelet/x/ansi",
		"github.com/charmbracelet/colorprofile",
	}},
	"test/":          {own: []string{anything}, modules: []string{"golang.org/x/sys", "github.com/creack/pty", "github.com/charmbracelet/x/vt", "github.com/charmbracelet/ultraviolet"}},
	"bench":          {own: []string{anything}, modules: []string{"golang.org/x/sys", "modernc.org/sqlite"}},
	"bench/protocol": {},
}

// providerSDKs are modules that take minutes to compile: only their adapter and the binary may link one.
var providerSDKs = []string{
	"github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go", "google.golang.org/genai", "charm.land/catwalk",
}

func ruleFor(rel string) (rule, bool) {
	if r, ok := law[rel]; ok {
		return r, true
	}
	for prefix, r := range law {
		if strings.HasSuffix(prefix, "/") && strings.HasPrefix(rel, prefix) {
			return r, true
		}
	}
	return rule{}, false
}

func TestImportLaw(t *testing.T) {
	t.Parallel()
	packages := map[string]pkg{}
	for _, p := range goList(t, "-deps", "./...") {
		packages[p.ImportPath] = p
	}
	checked := 0
	for _, p := range packages {
		if !p.own() {
			continue
		}
		checked++
		r, ok := ruleFor(p.rel())
		if !ok {
			t.Errorf("%q has no rule: say in the law, and in docs/architecture.md, what it may import", p.rel())
			continue
		}
		for _, path := range p.Imports {
			to, known := packages[path]
			switch {
			case !known || to.Standard || to.Module == nil: // the last is reported above
			case to.own():
				if !slices.Contains(r.own, to.rel()) && !slices.Contains(r.own, anything) {
					t.Errorf("%q imports %q, which the law does not allow", p.rel(), to.rel())
				}
			case !slices.Contains(r.modules, to.Module.Path):
				t.Errorf("%q imports %s of %s, which the law does not allow", p.rel(), path, to.Module.Path)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d packages of the module were found", checked)
	}
}

// The engine is a function of its arguments: it reaches no clock, no context, no network, no file, no chance.
func TestTheEngineIsPure(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "./internal/engine/...") {
		for _, path := range p.Imports {
			first, _, _ := strings.Cut(path, "/")
			if slices.Contains([]string{"context", "net", "os", "io", "log", "runtime", "syscall", "unsafe", "plugin"}, first) ||
				slices.Contains([]string{"math/rand", "math/rand/v2", "crypto/rand", "sync/atomic"}, path) {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	for _, f := range allGoFiles(t) {
		if f.isTest() || !f.under("internal/engine") {
			continue
		}
		for _, call := range calls(f, "time", "Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTicker", "NewTimer", "Local") {
			t.Error(call)
		}
		for _, at := range goStatements(f) {
			t.Errorf("%s: a goroutine", at)
		}
	}
}

// Who may link a provider's SDK: its adapter, the binary, and the tests of both. Everybody else's tests compile
// without one, and so does a program that uses another provider.
var linksSDKs = []string{"model/openai", "model/anthropic", "model/google", "model/facts", "cmd/openworker", "test/providers", "test/window", "test/chaos/victim"}

func TestNoCoreTestLinksAProviderSDK(t *testing.T) {
	t.Parallel()
	linked := map[string]bool{}
	for _, p := range goList(t, "-test", "./...") {
		rel, _, _ := strings.Cut(p.rel(), " ") // behind it stands the test that it is compiled for
		rel = strings.TrimSuffix(strings.TrimSuffix(rel, ".test"), "_test")
		for _, dep := range p.Deps {
			for _, sdk := range providerSDKs {
				if !strings.HasPrefix(dep, sdk) {
					continue
				}
				linked[sdk] = true
				if !slices.ContainsFunc(linksSDKs, func(may string) bool { return rel == may || strings.HasPrefix(rel, may+"/") }) {
					t.Errorf("%s links %s", p.ImportPath, dep)
				}
			}
		}
	}
	for _, sdk := range providerSDKs {
		if !linked[sdk] {
			t.Errorf("nobody links %s, so this test shows nothing of it", sdk)
		}
	}
}
