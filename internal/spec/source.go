package spec

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// packages are those whose types cross the wire. No two types of theirs have one name.
var packages = []string{"api", "transport/rpc"}

// source is what the Go source says about the types and reflection does not: comments, and the constants of a type.
type source struct {
	types   map[string]string    // by name
	fields  map[[2]string]string // by type and field
	values  map[string][]value   // of the string types, in the order of the source
	methods map[string]string    // of api.Service, by name
	calls   map[string]call      // methods of the protocol, by their names in it
	names   map[string]string    // values by the name of their constant
}

// value is one value of a type of strings, as JSON has it.
type value struct{ name, comment string }

// call is what the constant of a method says: MethodSubmit has the name Submit.
type call struct{ name, comment string }

// read parses the packages, which lie under root.
func read(root string) (*source, error) {
	s := &source{
		types: map[string]string{}, fields: map[[2]string]string{}, values: map[string][]value{},
		methods: map[string]string{}, calls: map[string]call{}, names: map[string]string{},
	}
	for _, dir := range packages {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("no Go files in %s of %s; root must be the module's directory", dir, root)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, decl := range file.Decls {
				if gen, ok := decl.(*ast.GenDecl); ok {
					if err := s.declaration(gen); err != nil {
						return nil, fmt.Errorf("%s: %w", path, err)
					}
				}
			}
		}
	}
	return s, nil
}

func (s *source) declaration(gen *ast.GenDecl) error {
	for _, spec := range gen.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if err := s.typ(spec, cmp.Or(spec.Doc, gen.Doc)); err != nil {
				return err
			}
		case *ast.ValueSpec:
			if gen.Tok == token.CONST {
				if err := s.constant(spec); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *source) typ(spec *ast.TypeSpec, doc *ast.CommentGroup) error {
	name := spec.Name.Name
	if _, twice := s.types[name]; twice {
		return fmt.Errorf("two types are called %s; in the schema a name is one type's", name)
	}
	s.types[name] = comment(doc)
	switch t := spec.Type.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			for _, id := range f.Names {
				s.fields[[2]string{name, id.Name}] = sentences(comment(f.Doc), comment(f.Comment))
			}
		}
	case *ast.InterfaceType:
		if name != "Service" {
			break
		}
		for _, m := range t.Methods.List {
			for _, id := range m.Names {
				s.methods[id.Name] = comment(m.Doc)
			}
		}
	}
	return nil
}

func (s *source) constant(spec *ast.ValueSpec) error {
	if len(spec.Values) != 1 {
		return nil
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return err
	}
	name, about := spec.Names[0].Name, sentences(comment(spec.Doc), comment(spec.Comment))
	if typ, ok := spec.Type.(*ast.Ident); ok {
		s.values[typ.Name] = append(s.values[typ.Name], value{text, about})
		s.names[name] = text
		return nil
	}
	if method, ok := strings.CutPrefix(name, "Method"); ok {
		s.calls[text] = call{name: method, comment: about}
	}
	return nil
}

// comment is a comment's text, each paragraph on a line of its own.
func comment(group *ast.CommentGroup) string {
	var paragraphs []string
	for p := range strings.SplitSeq(group.Text(), "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// sentences joins two comments about one thing.
func sentences(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	if !strings.HasSuffix(a, ".") {
		a += "."
	}
	return a + " " + b
}

// event splits the comment of a type of event, "Data: when it is written". data is "" for none.
func event(comment string) (data, when string, err error) {
	data, when, ok := strings.Cut(comment, ": ")
	if !ok || when == "" {
		return "", "", fmt.Errorf("the comment %q does not say \"Data: when\"", comment)
	}
	if data == "none" {
		data = ""
	}
	return data, when, nil
}
