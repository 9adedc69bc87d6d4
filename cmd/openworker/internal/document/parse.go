package document

import (
	"bytes"
	"errors"
	"io"
	"os"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/openworkerai/openworker/api"
)

// Bounds on a file. The parser's time grows with the square of a map's keys, which MaxTokens bounds.
const (
	MaxBytes  = 1 << 20
	MaxTokens = 20_000
	MaxValues = 10_000
	MaxDepth  = 64
)

// Read reads a file. Errors: invalid_request for one that is not there, is no regular file or is too long; its cause
// tells which.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // looked at first: opening a pipe would wait for its writer
		return nil, api.Errorf(api.CodeInvalidRequest, "%s is not a regular file", path)
	}
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "the file cannot be read: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "the file cannot be read: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "the file cannot be read: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, api.Errorf(api.CodeInvalidRequest, "%s is longer than %d bytes, which is the most that is read", path, MaxBytes)
	}
	return data, nil
}

// Document is a file as it was read, with the faults that were found in it.
type Document struct {
	// File is the file's name, for messages.
	File string
	// Root is what the file holds: of kind Null for an empty one.
	Root   *Value
	faults Faults
}

// Parse takes a file's text apart. What is no YAML ends it with the first fault, as [Document.Err] has it.
func Parse(file string, data []byte) (*Document, error) {
	d := &Document{File: file, Root: &Value{Place: Place{1, 1}, Kind: Null}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at, ok := invalidText(data); !ok {
		return nil, d.refuse(at, "the file is not UTF-8 text")
	}
	if len(data) > MaxBytes {
		return nil, d.refuse(Place{1, 1}, "the file is longer than %d bytes, which is the most that is read", MaxBytes)
	}
	tokens := lexer.Tokenize(string(data))
	if len(tokens) > MaxTokens {
		return nil, d.refuse(place(tokens[MaxTokens].Position), "the file is too long: at most %d words and marks are read", MaxTokens)
	}
	parsed, err := parser.Parse(tokens, 0)
	if err != nil {
		var fault *yaml.SyntaxError
		if errors.As(err, &fault) && fault.Token != nil {
			return nil, d.refuse(place(fault.Token.Position), "%s", fault.Message)
		}
		return nil, d.refuse(Place{1, 1}, "%s", yaml.FormatError(err, false, false))
	}
	var bodies []ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) > 1:
		return nil, d.refuse(placeOf(bodies[1]), "a second document begins here; one file holds one")
	case len(bodies) == 1:
		b := builder{document: d, anchors: map[string]ast.Node{}, open: map[string]bool{}}
		if d.Root, err = b.value(bodies[0], "", 0); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// invalidText finds what no text file holds.
func invalidText(data []byte) (Place, bool) {
	at := Place{1, 1}
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1, r == 0:
			return at, false
		case r == '\n':
			at = Place{at.Line + 1, 1}
		default:
			at.Column++
		}
		rest = rest[size:]
	}
	return at, true
}

func (d *Document) refuse(at Place, format string, args ...any) error {
	d.faults.File = d.File
	d.Fault(&Value{Place: at}, api.CodeInvalidRequest, format, args...)
	return d.Err()
}
