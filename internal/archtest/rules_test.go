package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const maxLines = 500

func TestAFileHoldsOneConcept(t *testing.T) {
	t.Parallel()
	for _, f := range allGoFiles(t) {
		if !f.isTest() && !ast.IsGenerated(f.ast) && f.size > maxLines {
			t.Errorf("%s has %d lines; at most %d", f.path, f.size, maxLines)
		}
	}
}

// Each package says in its doc.go what it is and whom it knows, and that is true.
func TestEveryPackageDocumentsItsImports(t *testing.T) {
	t.Parallel()
	docs := map[string]string{}
	for _, f := range allGoFiles(t) {
		if filepath.Base(f.path) == "doc.go" && f.ast.Doc != nil {
			docs[f.dir()] = f.ast.Doc.Text()
		}
	}
	word := regexp.MustCompile(`[A-Za-z0-9_/.-]*[A-Za-z0-9_]`)
	for _, p := range goList(t, "./...") {
		dir := p.rel()
		if dir == "" {
			dir = "."
		}
		_, line, ok := strings.Cut(docs[dir], "\nImports: ")
		if !ok {
			t.Errorf("%s has no doc.go with an Imports: line", dir)
			continue
		}
		line, _, _ = strings.Cut(line, "\n\n")
		if r, _ := ruleFor(p.rel()); slices.Contains(r.own, anything) {
			continue // it may say "everything"
		}
		said := word.FindAllString(line, -1)
		for _, path := range p.Imports {
			rel, inModule := strings.CutPrefix(path, modulePath+"/")
			if inModule && !slices.Contains(said, rel) && !slices.Contains(said, strings.TrimPrefix(rel, "internal/")) {
				t.Errorf("%s imports %s, and its Imports: line does not say so", dir, rel)
			}
		}
	}
}

func TestPackagesAreNamedForWhatTheyHold(t *testing.T) {
	t.Parallel()
	for _, f := range allGoFiles(t) {
		for _, name := range append(strings.Split(f.dir(), "/"), f.ast.Name.Name) {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "pkg", "models", "misc", "shared"}, name) {
				t.Errorf("%s: %q says nothing about what is in it", f.path, name)
			}
		}
	}
}

func TestNothingHappensOnImport(t *testing.T) {
	t.Parallel()
	for _, f := range allGoFiles(t) {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: an init function", fset.Position(fn.Pos()))
			}
		}
	}
}

// Everything is passed explicitly, so that the environment of a server cannot redirect what it does.
func TestOnlyCommandsReadTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, f := range allGoFiles(t) {
		if f.isTest() || f.under("cmd") {
			continue
		}
		for _, call := range append(
			calls(f, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv"),
			calls(f, "syscall", "Getenv", "Environ")...) {
			t.Error(call)
		}
	}
}

func goStatements(f file) []string {
	var found []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok {
			found = append(found, fset.Position(n.Pos()).String())
		}
		return true
	})
	return found
}

// A store or a provider may wrap what it returns, so sentinels are found with errors.Is.
func TestSentinelErrorsAreNotComparedByIdentity(t *testing.T) {
	t.Parallel()
	sentinel := func(f file, e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok || !strings.HasPrefix(sel.Sel.Name, "Err") {
			return false
		}
		x, ok := sel.X.(*ast.Ident)
		return ok && slices.ContainsFunc(f.ast.Imports, func(spec *ast.ImportSpec) bool {
			path := strings.Trim(spec.Path.Value, `"`)
			return strings.HasPrefix(path, modulePath) && filepath.Base(path) == x.Name
		})
	}
	for _, f := range allGoFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if op, ok := n.(*ast.BinaryExpr); ok && (op.Op == token.EQL || op.Op == token.NEQ) && (sentinel(f, op.X) || sentinel(f, op.Y)) {
				t.Errorf("%s: compare with errors.Is", fset.Position(op.Pos()))
			}
			return true
		})
	}
}

// A test that is skipped says nothing and looks like one that passed.
func TestNoTestIsSkipped(t *testing.T) {
	t.Parallel()
	for _, f := range allGoFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
				t.Errorf("%s: a skipped test", fset.Position(call.Pos()))
			}
			return true
		})
	}
}

// What is committed is the same on every machine.
func TestNoFileNamesAMachine(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`/(?:root|home|Users)/[A-Za-z0-9._-]+|/work` + `/(?:main|shared|\.)|C:\\Users`)
	err := walk(func(path string) error {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		if len(data) > 1<<20 || !utf8.Valid(data) {
			return nil
		}
		if strings.HasSuffix(path, "rules_test.go") {
			return nil
		}
		if found := foreign.Find(data); found != nil {
			t.Errorf("%s names %s", path, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
