package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
)

func FuzzStringsAreEncodedAsJSONHasThem(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "žluťoučký 🌧️", "\xff\xc3", "\u2028</script>", "\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, encoded, err)
		}
		// One replacement character for each byte that is not UTF-8, as encoding/json does.
		reference, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(reference, &want); err != nil || got != want {
			t.Errorf("%q became %q, want %q (%v)", s, got, want, err)
		}
		if fromBytes := AppendString(nil, []byte(s)); string(fromBytes) != string(encoded) {
			t.Errorf("as bytes it became %s, as a string %s", fromBytes, encoded)
		}
	})
}

// Whatever a text file is called and holds, it reads as its named text does.
func TestATextFileReadsAsItsNamedText(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]model.Part{
		"a plain text":             {Text: "a \"b\"\n"},
		"a file":                   {Name: "n.md", MediaType: "text/markdown", Data: []byte("# \"Hi\"\n\x00\u2028</file>")},
		"a name with markup":       {Name: "<a> & \"b\"\n.txt", MediaType: "text/plain", Data: []byte("x")},
		"bytes that are not UTF-8": {Name: "n", MediaType: "text/plain", Data: []byte("a\xffb")},
		"a type that has a quote":  {Name: "n", MediaType: `text/x"y`, Data: []byte("x")},
		"an empty file":            {Name: "n", MediaType: "text/plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			if err := json.Unmarshal(AppendText(nil, &part), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ToValidUTF8(part.NamedText(), "\ufffd"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoomIsThatOfTheFilesAndALittleMore(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, test := range map[string]struct {
		part    model.Part
		encoded int
	}{
		"an image":               {model.Part{Name: "a", MediaType: model.TypePNG, Data: make([]byte, size)}, (size + 2) / 3 * 4},
		"a PDF":                  {model.Part{Name: "a", MediaType: model.TypePDF, Data: make([]byte, size+1)}, (size + 3) / 3 * 4},
		"a text file":            {model.Part{Name: "a", MediaType: "text/plain", Data: []byte(strings.Repeat("a", size))}, size},
		"a text file of quotes":  {model.Part{Name: "a", MediaType: "text/plain", Data: []byte(strings.Repeat("\"", size))}, 2 * size},
		"a text file of control": {model.Part{Name: "a", MediaType: "text/plain", Data: []byte(strings.Repeat("\x01", size))}, 6 * size},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items := []model.Item{
				{Kind: model.UserItem, Parts: []model.Part{{Text: "see"}, test.part}},
				{Kind: model.ReasoningItem, Private: &model.Private{Provider: "p", Model: "m", Data: json.RawMessage(`{}`)}},
				{Kind: model.ToolCallItem, CallID: "c", Name: "n", Arguments: json.RawMessage(`{}`)}, {Kind: model.ToolResultItem, CallID: "c", Output: "o"},
			}
			if got := Room(items); got < test.encoded || got > test.encoded+8<<10 {
				t.Errorf("got %d, want a little more than %d", got, test.encoded)
			}
		})
	}
	if got := Room([]model.Item{{Kind: model.UserItem, Text: strings.Repeat("a", size)}, {Kind: model.UserItem, Parts: []model.Part{{Text: "a"}}}}); got != 0 {
		t.Errorf("a conversation without files has room for %d", got)
	}
}

func TestAPDFIsSentUnderANameThatSaysSo(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"a.pdf": `"a.pdf"`, "A.PDF": `"A.PDF"`, "report": `"report.pdf"`, "a.pdf.bin": `"a.pdf.bin.pdf"`, `say "pdf"`: `"say \"pdf\".pdf"`,
	} {
		if got := string(AppendPDFName(nil, &model.Part{Name: label})); got != want {
			t.Errorf("%s is sent as %s, want %s", label, got, want)
		}
	}
}
