package openworker

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// A field that is added to the contract must be added here, or it cannot be set from Go.
func TestADefinitionHasEveryFieldOfTheContract(t *testing.T) {
	t.Parallel()
	ours, theirs := reflect.TypeFor[AgentDefinition](), reflect.TypeFor[api.AgentDefinition]()
	if ours.NumField() != theirs.NumField() {
		t.Errorf("%d fields, the contract has %d", ours.NumField(), theirs.NumField())
	}
	var def AgentDefinition
	var want api.AgentDefinition
	for i := range theirs.NumField() {
		name := theirs.Field(i).Name
		field := reflect.ValueOf(&def).Elem().FieldByName(name)
		if !field.IsValid() {
			t.Errorf("%s is missing", name)
			continue
		}
		if name == "Tools" {
			continue
		}
		fill(field)
		reflect.ValueOf(&want).Elem().Field(i).Set(field)
	}
	lookup := MustTool(NewTool("app.lookup", "Looks up.", func(_ context.Context, _ ToolCall, _ struct{}) (string, error) { return "", nil }))
	def.Tools = []Tool{lookup}
	want.Tools = []api.ToolDeclaration{lookup.Declaration()}
	if diff := cmp.Diff(want, def.contract()); diff != "" {
		t.Errorf("the contract loses something: %s", diff)
	}
}

// fill sets a value that is not its type's zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint('1')
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("no value for " + v.Kind().String())
	}
}

// What package api exports is here under the same name, but for what only a face needs and for names that say
// too little in this package.
func TestTheContractIsReachedThroughOneImport(t *testing.T) {
	t.Parallel()
	onlyForFaces := []string{
		"AgentDefinition", "ToolDeclaration", // those with bodies are here
		"MessagePart",                              // Part is here
		"Chunks", "UploadChunkBytes", "UploadTime", // of uploads in pieces
		"Service", "EventStream", "Capabilities", "AgentQuery", "AgentPage", "SessionPage", "InteractionPage",
		"EventQuery", "EventPage", "FollowQuery", "UsageQuery", "UsageRow", "Submission", "DeleteOptions",
		"CodeInfo", "Codes", "Errorf", "AsError",
	}
	have := exported(t, ".")
	for _, name := range exported(t, "api") {
		switch {
		case slices.Contains(onlyForFaces, name), strings.HasPrefix(name, "Max"), strings.HasPrefix(name, "Default"):
		case slices.Contains([]string{"Idle", "Running", "Waiting", "Recovering"}, name) && slices.Contains(have, "Activity"+name):
		case !slices.Contains(have, name):
			t.Errorf("api.%s has no counterpart", name)
		}
	}
}

// Whoever reads go doc reads this package: each name says what it is.
func TestEveryNameIsDocumented(t *testing.T) {
	t.Parallel()
	meanings := map[string]string{}
	for _, c := range api.Codes() {
		meanings[string(c.Code)] = c.Meaning
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names, codes := 0, 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		check := func(id *ast.Ident, docs ...*ast.CommentGroup) {
			said := ""
			for _, doc := range docs {
				said += doc.Text()
			}
			if id.IsExported() {
				names++
				if len(strings.Fields(said)) < 3 && !strings.HasPrefix(id.Name, "Err") {
					t.Errorf("%s: %s says only %q", path, id.Name, said)
				}
			}
			if path == "codes.go" && strings.HasPrefix(id.Name, "Code") && id.Name != "CodeOf" {
				codes++
				if !slices.Contains(slices.Collect(maps.Values(meanings)), strings.TrimSpace(said)) {
					t.Errorf("%s says %q, which is no meaning in api.Codes", id.Name, said)
				}
			}
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				check(decl.Name, decl.Doc)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if decl.Lparen == token.NoPos {
							check(spec.Name, decl.Doc)
						} else {
							check(spec.Name, spec.Doc, spec.Comment)
						}
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							check(id, spec.Doc, spec.Comment)
						}
					}
				}
			}
		}
	}
	if names < 150 || codes != len(meanings) {
		t.Errorf("%d names and %d codes of %d were read", names, codes, len(meanings))
	}
}

func exported(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

func TestData(t *testing.T) {
	t.Parallel()
	ended, err := Data[TurnEnded](Event{Type: EventTurnEnded, Data: json.RawMessage(`{"status":"completed","answer":7}`)})
	if err != nil || ended.Answer != 7 || ended.Status != StatusCompleted {
		t.Errorf("%+v, %v", ended, err)
	}
	if none, err := Data[TurnEnded](Event{Type: EventTurnStarted}); err != nil || none.Status != "" {
		t.Errorf("an event without data: %+v, %v", none, err)
	}
	if _, err := Data[TurnEnded](Event{Number: 4, Type: EventTurnEnded, Data: json.RawMessage(`[]`)}); CodeOf(err) != api.CodeInvalidRequest ||
		!strings.Contains(err.Error(), "event 4 (turn_ended)") {
		t.Errorf("data of another shape: %v", err)
	}
}
