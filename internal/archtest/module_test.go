package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/openworkerai/openworker"

// root is the module's directory, seen from this package's.
const root = "../.."

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	DepOnly      bool
	ForTest      string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
	Module       *struct{ Path string }
	Error        *struct{ Err string }
}

// rel is the package's path in the module, "" for the root package.
func (p pkg) rel() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
}

func (p pkg) own() bool {
	return p.Module != nil && p.Module.Path == modulePath
}

func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, &stderr)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		pkgs = append(pkgs, p)
	}
}

// file is one Go file of the module.
type file struct {
	path string // from the module's root, with slashes
	ast  *ast.File
	size int // lines
}

func (f file) dir() string         { return filepath.ToSlash(filepath.Dir(f.path)) }
func (f file) isTest() bool        { return strings.HasSuffix(f.path, "_test.go") }
func (f file) under(d string) bool { return f.dir() == d || strings.HasPrefix(f.dir(), d+"/") }

var fset = token.NewFileSet()

// goFiles parses every Go file of the module once, whatever its build constraints.
var goFiles = sync.OnceValues(func() ([]file, error) {
	var files []file
	err := walk(func(path string) error {
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{path: path, ast: parsed, size: fset.File(parsed.FileStart).LineCount()})
		return nil
	})
	return files, err
})

func allGoFiles(t *testing.T) []file {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d Go files found", len(files))
	}
	return files
}

// walk visits the module's own files: nothing that is built, installed or kept by a tool.
func walk(visit func(path string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (strings.HasPrefix(name, ".") && name != ".ci" || name == "bin" || name == "node_modules" || name == "target") {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return visit(filepath.ToSlash(rel))
	})
}

// calls reports each call of pkgName.fn in a file, by what the file imports.
func calls(f file, importPath string, names ...string) []string {
	local := ""
	for _, spec := range f.ast.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		local = importPath[strings.LastIndex(importPath, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return nil
	}
	var found []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
			for _, name := range names {
				if sel.Sel.Name == name {
					found = append(found, fset.Position(sel.Pos()).String()+": "+importPath+"."+name)
				}
			}
		}
		return true
	})
	return found
}
