package document

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// builder makes values of the parser's nodes.
type builder struct {
	document *Document
	anchors  map[string]ast.Node
	open     map[string]bool // anchors whose value is being built
	values   int
}

func place(p *token.Position) Place {
	if p == nil {
		return Place{1, 1}
	}
	return Place{p.Line, p.Column}
}

// placeOf is where a node begins. A map's own token is its first colon.
func placeOf(n ast.Node) Place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return placeOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	}
	if t := n.GetToken(); t != nil {
		return place(t.Position)
	}
	return Place{1, 1}
}

func (b *builder) value(n ast.Node, path string, depth int) (*Value, error) {
	at := placeOf(n)
	if b.values++; b.values > MaxValues {
		return nil, b.document.refuse(at, "the file holds more than %d values, with those that aliases repeat", MaxValues)
	}
	if depth > MaxDepth {
		return nil, b.document.refuse(at, "values are nested more than %d deep", MaxDepth)
	}
	v := &Value{Place: at, Path: path}
	switch n := n.(type) {
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		b.open[name] = true
		v, err := b.value(n.Value, path, depth+1)
		delete(b.open, name)
		b.anchors[name] = n.Value
		return v, err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := b.anchors[name]
		if !ok || b.open[name] {
			return nil, b.document.refuse(at, "the alias *%s names no value that stands before it", name)
		}
		return b.value(target, path, depth+1)
	case *ast.TagNode:
		if tag := n.Start.Value; tag != "!!str" {
			return nil, b.document.refuse(at, "the tag %s is not read; leave it out", tag)
		}
		scalar, ok := n.Value.(ast.ScalarNode)
		if !ok {
			return nil, b.document.refuse(at, "the tag !!str belongs to a single value")
		}
		v.Kind, v.text = Text, scalar.GetToken().Value
		return v, nil
	case *ast.MappingNode:
		v.Kind = Map
		return v, b.fields(v, n.Values, depth)
	case *ast.MappingValueNode:
		v.Kind = Map
		return v, b.fields(v, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		v.Kind = List
		for i, item := range n.Values {
			child, err := b.value(item, path+"["+strconv.Itoa(i)+"]", depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, child)
		}
		return v, nil
	case *ast.NullNode:
		return v, nil
	case *ast.StringNode:
		v.Kind, v.text = Text, n.Value
		return v, nil
	case *ast.LiteralNode:
		v.Kind, v.text = Text, n.Value.Value
		return v, nil
	case *ast.BoolNode:
		v.Kind, v.flag, v.text = Bool, n.Value, n.GetToken().Value
		return v, nil
	case *ast.IntegerNode:
		v.Kind, v.text = Number, n.GetToken().Value
		return v, nil
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		v.Kind, v.text = Number, n.GetToken().Value
		return v, nil
	}
	return nil, b.document.refuse(at, "what stands here is not read")
}

// fields adds a map's fields. What a merge key brings yields to what stands in the map itself.
func (b *builder) fields(v *Value, pairs []*ast.MappingValueNode, depth int) error {
	var merged []Field
	for _, pair := range pairs {
		if _, ok := pair.Key.(*ast.MergeKeyNode); ok {
			from, err := b.value(pair.Value, v.Path, depth+1)
			if err != nil {
				return err
			}
			sources := []*Value{from}
			if from.Kind == List {
				sources = from.items
			}
			for _, source := range sources {
				if source.Kind != Map {
					return b.document.refuse(placeOf(pair.Key), "<< takes a map, or a list of maps")
				}
				merged = append(merged, source.fields...)
			}
			continue
		}
		key, ok := pair.Key.(ast.ScalarNode)
		if !ok {
			return b.document.refuse(placeOf(pair.Key), "a key must be text")
		}
		name := key.GetToken().Value
		if v.field(name) != nil {
			return b.document.refuse(placeOf(pair.Key), "the key %q stands twice", name)
		}
		child, err := b.value(pair.Value, strings.TrimPrefix(v.Path+"."+name, "."), depth+1)
		if err != nil {
			return err
		}
		v.fields = append(v.fields, Field{Name: name, Place: placeOf(pair.Key), Value: child})
	}
	for _, f := range merged {
		if v.field(f.Name) == nil {
			v.fields = append(v.fields, f)
		}
	}
	return nil
}
