package archtest

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

var update = flag.Bool("update", false, "rewrite the generated pages under docs/")

// golden compares a generated page with the one that is committed.
func golden(t *testing.T, page, want string) {
	t.Helper()
	path := filepath.Join(root, page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what the source says; run go test ./internal/archtest -update\n%s", page, diff)
	}
}

// AT3, AT5, IM3: one table of what messages, files, sessions and imports may have.
func TestThePageOfBoundsIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Bounds of content\n\n<!-- Generated from content.Bounds by go test ./internal/archtest -update. -->\n\n" +
		"What messages, files and imported conversations may have at most: the bound itself is taken, one more is refused with the code, and the\n" +
		"error names what it is about and the value that was measured. In its details, where a message or an import itself breaks the bound, are `rule`, `value` and `limit`, and what it is about: `file`, `block`\n" +
		"(from 1, texts counted) or `item` (from 0). A provider may take less ([attachments](guides/attachments.md)).\n\n" +
		"| what | at most | | code | requirement |\n|---|---:|---|---|---|\n")
	for _, r := range content.Bounds() {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s |\n", r.What, thousands(r.Value), r.Unit, r.Code, r.Requirement)
	}
	golden(t, "docs/bounds.md", b.String())
}

// thousands is a number with a comma before each three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// FA8: one table of the closed list of codes.
func TestTheErrorPageIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Errors\n\n<!-- Generated from api.Codes by go test ./internal/archtest -update. -->\n\n" +
		"Every failure that reaches a caller is an `api.Error` with one of these codes; the list is closed (FA8).\n" +
		"Programs branch on the code with `errors.Is`, against `openworker.ErrSessionBusy` and the like; the message is for people and may change. *Again* says whether the\n" +
		"same request may succeed later, unchanged. HTTP and RPC are what those faces answer with.\n\n" +
		"That a turn failed is not a failure of the call that waited for it: the code stands in `Result.Error`, whose `Retryable` says whether\n" +
		"what failed passes by itself; a hook's failure does not, and another turn may do better all the same. Nor is it one that a\n" +
		"turn waits: `credentials_missing` and `registration_missing` stand, with what is missing and what to do, in `WaitingFor` of\n" +
		"the result, whose status is then `interrupted`, and of the session's state.\n\n" +
		"| code | meaning | again | HTTP | RPC |\n|---|---|---|---|---|\n")
	for _, c := range api.Codes() {
		again := "no"
		if c.Retryable {
			again = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %d |\n", c.Code, c.Meaning, again, c.HTTP, c.RPC)
	}
	golden(t, "docs/errors.md", b.String())
}

func TestEveryCodeStandsInTheTableOnce(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	for _, c := range constants(t, "api/errors.go", "Code") {
		declared[c.value] = true
	}
	seen, rpc := map[api.Code]bool{}, map[int]api.Code{}
	for _, c := range api.Codes() {
		if !declared[string(c.Code)] {
			t.Errorf("%s is in the table and is no constant", c.Code)
		}
		if seen[c.Code] {
			t.Errorf("%s stands twice", c.Code)
		}
		if other, taken := rpc[c.RPC]; taken {
			t.Errorf("%s and %s share the RPC code %d", other, c.Code, c.RPC)
		}
		if c.Meaning == "" || c.HTTP < 400 || c.HTTP > 599 || c.RPC >= 0 {
			t.Errorf("%+v is not a row", c)
		}
		seen[c.Code], rpc[c.RPC] = true, c.Code
	}
	for code := range declared {
		if !seen[api.Code(code)] {
			t.Errorf("%s is a constant and not in the table", code)
		}
	}
}

// RU3: one table of the event types.
func TestTheEventPageIsCurrent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Events\n\n<!-- Generated from api/event.go by go test ./internal/archtest -update. -->\n\n" +
		"A session's journal is a list of events. A journalled event has a number, from 1 and gap-free in its session; a live\n" +
		"one has none, is not stored, and carries the attempt that it belongs to (RU3). Programs pass types that they do not\n" +
		"know through: a later version adds to this table and changes nothing in it.\n\n" +
		"| type | data | stored | when |\n|---|---|---|---|\n")
	structs := structTypes(t, "api/event.go", "api/session.go", "api/turn.go", "api/agent.go")
	var used []string
	seen := map[string]bool{}
	for _, c := range constants(t, "api/event.go", "EventType") {
		data, when, _ := strings.Cut(c.comment, ":")
		data, when = strings.TrimSpace(data), strings.TrimSpace(when)
		stored := "yes"
		if strings.HasSuffix(c.value, "_delta") {
			stored = "no"
		}
		if when == "" {
			t.Errorf("%s: the comment does not say when the event is written, as in \"// Data: when\"", c.value)
		}
		link := "none"
		if data != "none" {
			if structs[data] == nil {
				t.Errorf("%s: the comment names %q, which is no type of api/event.go", c.value, data)
				continue
			}
			link = linkTo(data)
			if !seen[data] {
				used, seen[data] = append(used, data), true
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.value, link, stored, when)
	}
	for i := 0; i < len(used); i++ {
		s := structs[used[i]]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| key | type | |\n|---|---|---|\n", used[i], sentence(used[i], s.doc))
		for _, f := range s.fields {
			typ := f.typ
			if structs[f.named] != nil {
				typ = strings.Replace(typ, f.named, linkTo(f.named), 1)
				if !seen[f.named] {
					used, seen[f.named] = append(used, f.named), true
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.key, typ, f.comment)
		}
	}
	golden(t, "docs/events.md", b.String())
}

func linkTo(name string) string { return "[" + name + "](#" + strings.ToLower(name) + ")" }

// sentence turns a type's comment into a sentence of its own.
func sentence(name, doc string) string {
	rest, ok := strings.CutPrefix(doc, name+" is ")
	if !ok {
		return doc
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

type constant struct{ value, comment string }

func sourceFile(t *testing.T, path string) file {
	t.Helper()
	for _, f := range allGoFiles(t) {
		if f.path == path {
			return f
		}
	}
	t.Fatalf("no file %s", path)
	return file{}
}

// constants lists the string constants of a type in the order of the source.
func constants(t *testing.T, path, typ string) []constant {
	t.Helper()
	var found []constant
	for _, decl := range sourceFile(t, path).ast.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				continue
			}
			if id, ok := v.Type.(*ast.Ident); !ok || id.Name != typ {
				continue
			}
			lit, ok := v.Values[0].(*ast.BasicLit)
			if !ok {
				continue
			}
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, constant{value, oneLine(v.Comment)})
		}
	}
	if len(found) == 0 {
		t.Fatalf("no constants of type %s in %s", typ, path)
	}
	return found
}

type structType struct {
	doc    string
	fields []structField
}

// structField is one key; named is the type that it holds, or holds a list of.
type structField struct{ key, typ, named, comment string }

func structTypes(t *testing.T, paths ...string) map[string]*structType {
	t.Helper()
	types := map[string]*structType{}
	var decls []ast.Decl
	for _, path := range paths {
		decls = append(decls, sourceFile(t, path).ast.Decls...)
	}
	for _, decl := range decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			st, ok := ts.Type.(*ast.StructType)
			if !ok {
				continue
			}
			s := &structType{doc: oneLine(gen.Doc)}
			for _, f := range st.Fields.List {
				if f.Tag == nil {
					continue
				}
				key, options, _ := strings.Cut(jsonTag.FindStringSubmatch(f.Tag.Value)[1], ",")
				comment := strings.TrimSpace(oneLine(f.Doc) + " " + oneLine(f.Comment))
				typ := typeName(f.Type)
				named := strings.TrimPrefix(typ, "list of ")
				if strings.Contains(options, "omit") {
					typ += ", optional"
				}
				s.fields = append(s.fields, structField{key, typ, named, comment})
			}
			types[ts.Name.Name] = s
		}
	}
	return types
}

var jsonTag = regexp.MustCompile(`json:"([^"]*)"`)

func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		switch e.Name {
		case "int", "int64", "uint64":
			return "number"
		case "bool":
			return "boolean"
		}
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return "list of " + typeName(e.Elt)
	case *ast.MapType:
		return "map to " + typeName(e.Value)
	case *ast.SelectorExpr:
		if e.Sel.Name == "Time" {
			return "time"
		}
		return e.Sel.Name
	}
	return fmt.Sprintf("%T", expr)
}

func oneLine(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(g.Text()), " "), "|", "\\|")
}
