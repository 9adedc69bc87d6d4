package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

func user(text string) model.Item { return model.Item{Kind: model.UserItem, Text: text} }
func files(parts ...model.Part) model.Item {
	return model.Item{Kind: model.UserItem, Parts: parts}
}
func assistant(text string) model.Item { return model.Item{Kind: model.AssistantItem, Text: text} }
func reasoning(text string) model.Item { return model.Item{Kind: model.ReasoningItem, Text: text} }
func call(id string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: "look_up", Arguments: json.RawMessage(`{"a":1}`)}
}
func result(id string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: "found"}
}

func TestCheckAcceptsWhatEveryProviderAccepts(t *testing.T) {
	t.Parallel()
	for name, items := range map[string][]model.Item{
		"one user item":                   {user("hi")},
		"two user items in a row":         {user("hi"), user("are you there?")},
		"a call and its result":           {user("hi"), call("c1"), result("c1")},
		"a parallel batch in call order":  {user("hi"), reasoning("hm"), assistant("look"), call("c1"), call("c2"), result("c1"), result("c2")},
		"text between two calls":          {user("hi"), call("c1"), assistant("and"), call("c2"), result("c1"), result("c2")},
		"several rounds and turns":        {user("a"), call("c1"), result("c1"), call("c2"), result("c2"), assistant("b"), user("c")},
		"an empty result":                 {user("a"), call("c1"), {Kind: model.ToolResultItem, CallID: "c1"}},
		"a failed result":                 {user("a"), call("c1"), {Kind: model.ToolResultItem, CallID: "c1", Output: "no", Failed: true}},
		"an answer of reasoning only":     {user("a"), reasoning("hm"), user("b")},
		"reasoning of private data alone": {user("a"), {Kind: model.ReasoningItem, Private: &model.Private{Provider: "P", Model: "m", Data: json.RawMessage(`1`)}}, user("b")},
		"text, an image, a PDF and a text file": {files(
			model.Part{Text: "see"}, model.Part{Name: "a.png", MediaType: model.TypePNG, Data: []byte{1}},
			model.Part{Name: "a.pdf", MediaType: model.TypePDF, Data: []byte{0xff}}, model.Part{Name: "a.md", MediaType: "text/markdown", Data: []byte("# A")},
		)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := model.Check(model.Request{Model: "m", Items: items}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestCheckNamesWhatIsWrongWithTheItems(t *testing.T) {
	t.Parallel()
	with := func(item model.Item, change func(*model.Item)) model.Item {
		change(&item)
		return item
	}
	for name, test := range map[string]struct {
		items []model.Item
		want  string
	}{
		"nothing at all":                {nil, "no items"},
		"an empty part":                 {[]model.Item{files(model.Part{})}, "part 0"},
		"a file without a name":         {[]model.Item{files(model.Part{MediaType: model.TypePDF, Data: []byte{1}})}, "needs a name"},
		"a file without data":           {[]model.Item{files(model.Part{Name: "a", MediaType: model.TypePDF})}, "needs a name and data"},
		"a file without a type":         {[]model.Item{files(model.Part{Text: "a", Name: "a"})}, "without a media type"},
		"a bitmap":                      {[]model.Item{files(model.Part{Name: "a", MediaType: "image/bmp", Data: []byte{1}})}, "image/bmp"},
		"a text file in another coding": {[]model.Item{files(model.Part{Name: "a", MediaType: "text/plain", Data: []byte{0xff}})}, "not UTF-8"},
		"text and parts":                {[]model.Item{{Kind: model.UserItem, Text: "a", Parts: []model.Part{{Text: "b"}}}}, "another field"},
		"parts of the assistant":        {[]model.Item{user("hi"), {Kind: model.AssistantItem, Text: "a", Parts: []model.Part{{Text: "b"}}}, user("x")}, "another kind"},
		"starts with the assistant":     {[]model.Item{assistant("hi"), user("hi")}, "first item"},
		"ends with the assistant":       {[]model.Item{user("hi"), assistant("hi")}, "nothing is left to answer"},
		"C01 a call without a result":   {[]model.Item{user("hi"), call("c1")}, "ends before call c1"},
		"C03 a hole in the middle":      {[]model.Item{user("hi"), call("c1"), user("on"), call("c2"), result("c2")}, "user item comes before call c1"},
		"a hole in a parallel batch":    {[]model.Item{user("hi"), call("c1"), call("c2"), result("c1"), user("on")}, "before call c2"},
		"an answer before the result":   {[]model.Item{user("hi"), call("c1"), call("c2"), result("c1"), assistant("so"), result("c2")}, "an answer begins before call c2"},
		"a call between the results":    {[]model.Item{user("hi"), call("c1"), call("c2"), result("c1"), call("c3"), result("c2"), result("c3")}, "between the results"},
		"C06 a result without a call":   {[]model.Item{user("hi"), result("c1")}, "no call waits"},
		"C07 results out of order":      {[]model.Item{user("hi"), call("c1"), call("c2"), result("c2"), result("c1")}, "where that of c1 is due"},
		"C07 a result twice":            {[]model.Item{user("hi"), call("c1"), result("c1"), result("c1")}, "no call waits"},
		"C05 a call ID that recurs":     {[]model.Item{user("hi"), call("c1"), result("c1"), call("c1"), result("c1")}, "there twice"},
		"C40 cut arguments":             {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = json.RawMessage(`{"a":`) }), result("c1")}, "not a JSON object"},
		"arguments that are an array":   {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = json.RawMessage(`[]`) }), result("c1")}, "not a JSON object"},
		"C40 half a surrogate pair":     {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = json.RawMessage(`{"a":"\ud83d"}`) }), result("c1")}, "not a JSON object"},
		"RU5 a key twice in arguments":  {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = json.RawMessage(`{"a":[{"b":1,"b":2}]}`) }), result("c1")}, `"b" stands twice`},
		"RU5 a number beyond a float64": {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = json.RawMessage(`{"a":1e999}`) }), result("c1")}, "out of range"},
		"arguments of 65 levels": {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) {
			i.Arguments = json.RawMessage(`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`)
		}), result("c1")}, "too deeply"},
		"no arguments":                   {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Arguments = nil }), result("c1")}, "not a JSON object"},
		"a tool name with a dot":         {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Name = "a.b" }), result("c1")}, "tool name"},
		"a call ID of 65 bytes":          {[]model.Item{user("hi"), call(strings.Repeat("x", 65)), result(strings.Repeat("x", 65))}, "call ID"},
		"an empty call ID":               {[]model.Item{user("hi"), call(""), result("")}, "call ID"},
		"an empty user text":             {[]model.Item{user("")}, "empty"},
		"an empty assistant text":        {[]model.Item{user("hi"), assistant(""), user("on")}, "empty"},
		"empty reasoning":                {[]model.Item{user("hi"), reasoning(""), user("on")}, "neither text nor private"},
		"text that is not UTF-8":         {[]model.Item{user("\xff")}, "UTF-8"},
		"output that is not UTF-8":       {[]model.Item{user("hi"), call("c1"), with(result("c1"), func(i *model.Item) { i.Output = "\xff" })}, "UTF-8"},
		"a user item with a call ID":     {[]model.Item{with(user("hi"), func(i *model.Item) { i.CallID = "c1" })}, "another kind"},
		"a result with a name":           {[]model.Item{user("hi"), call("c1"), with(result("c1"), func(i *model.Item) { i.Name = "x" })}, "another kind"},
		"a call with an output":          {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Output = "x" }), result("c1")}, "another kind"},
		"a call with a text":             {[]model.Item{user("hi"), with(call("c1"), func(i *model.Item) { i.Text = "x" }), result("c1")}, "another kind"},
		"private data without its owner": {[]model.Item{with(user("hi"), func(i *model.Item) { i.Private = &model.Private{Data: json.RawMessage(`1`)} })}, "private data"},
		"an unknown kind":                {[]model.Item{user("hi"), {Kind: "notice", Text: "x"}, user("on")}, "no such kind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := model.Check(model.Request{Model: "m", Items: test.items})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error that says %q", err, test.want)
			}
			if !errors.Is(err, &api.Error{Code: api.CodeInternal}) {
				t.Errorf("got code %s, want internal", api.CodeOf(err))
			}
		})
	}
}

func TestCheckNamesWhatIsWrongWithTheHead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*model.Request)
		want   string
	}{
		"no model":                       {func(r *model.Request) { r.Model = "" }, "no model"},
		"a negative output limit":        {func(r *model.Request) { r.MaxOutputTokens = -1 }, "negative"},
		"instructions not UTF-8":         {func(r *model.Request) { r.Instructions = "\xff" }, "UTF-8"},
		"a tool without a name":          {func(r *model.Request) { r.Tools = []model.Tool{{}} }, "is not 1–64"},
		"two tools of one name":          {func(r *model.Request) { r.Tools = []model.Tool{{Name: "a"}, {Name: "a"}} }, "twice"},
		"a schema that is no object":     {func(r *model.Request) { r.Tools = []model.Tool{{Name: "a", InputSchema: json.RawMessage(`true`)}} }, "schema"},
		"a tool description not UTF-8":   {func(r *model.Request) { r.Tools = []model.Tool{{Name: "a", Description: "\xff"}} }, "UTF-8"},
		"a tool name of 65 letters":      {func(r *model.Request) { r.Tools = []model.Tool{{Name: strings.Repeat("a", 65)}} }, "is not 1–64"},
		"a schema that ends in mid-air":  {func(r *model.Request) { r.Tools = []model.Tool{{Name: "a", InputSchema: json.RawMessage(`{`)}} }, "schema"},
		"a schema with text after it":    {func(r *model.Request) { r.Tools = []model.Tool{{Name: "a", InputSchema: json.RawMessage(`{} {}`)}} }, "schema"},
		"a tool name in another writing": {func(r *model.Request) { r.Tools = []model.Tool{{Name: "suché"}} }, "is not 1–64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := model.Request{Model: "m", Items: []model.Item{user("hi")}}
			test.change(&req)
			if err := model.Check(req); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want an error that says %q", err, test.want)
			}
		})
	}
}

func BenchmarkCheck4000Items(b *testing.B) {
	items := []model.Item{user("hi")}
	for i := 0; len(items) < 4000; i++ {
		id := fmt.Sprintf("call_%d", i)
		items = append(items, assistant("let me see"), call(id), result(id))
	}
	req := model.Request{Model: "m", Items: items}
	for b.Loop() {
		if err := model.Check(req); err != nil {
			b.Fatal(err)
		}
	}
}
