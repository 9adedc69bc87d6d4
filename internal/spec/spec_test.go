package spec_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/internal/spec"
)

var update = flag.Bool("update", false, "rewrite the generated files")

const root = "../.."

func document(t *testing.T) *spec.Document {
	t.Helper()
	doc, err := spec.Build(root)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestTheGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	doc := document(t)
	for path, generate := range map[string]func() (string, error){
		"spec/rpc.json":   doc.JSON,
		"spec/codes.json": spec.Codes,
		"sdk/typescript/src/generated/protocol.ts": doc.TypeScript,
		"sdk/typescript/src/generated/errors.ts":   func() (string, error) { return spec.Errors(), nil },
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want, err := generate()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, filepath.FromSlash(path))
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
				t.Errorf("it is not what the Go types say; run: go test ./internal/spec -update\n%s", diff)
			}
		})
	}
}
