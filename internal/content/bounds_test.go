package content_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// tries make something of size n for each bound that is enforced here. It is right in all but that.
var tries = map[string]func(n int) error{
	"a file": func(n int) error {
		_, err := content.Blocks([]api.ContentBlock{api.TextBlock("a"), base64Block("a.txt", "", encoded(bytes.Repeat([]byte("a"), n)))})
		return err
	},
	"the files of a message together": func(n int) error {
		half := strings.Repeat("a", n/2)
		_, err := content.Blocks([]api.ContentBlock{
			api.TextDocument("a", half[:len(half)-1]), api.TextDocument("b", half), api.Upload{ID: "not counted here"}.Block("c"),
			api.TextDocument("d", strings.Repeat("a", n-2*len(half)+1)),
		})
		return err
	},
	"the blocks of a message": func(n int) error {
		given := make([]api.ContentBlock, n)
		for i := range given {
			given[i] = api.TextBlock("a")
		}
		_, err := content.Blocks(given)
		return err
	},
	"the text blocks of a message together": func(n int) error {
		_, err := content.Blocks([]api.ContentBlock{
			api.TextBlock("é"), api.TextDocument("not counted", strings.Repeat("a", 99_000)), api.TextBlock(strings.Repeat("a", n-2)),
		})
		return err
	},
	"a file's name": func(n int) error { return content.CheckName("é" + strings.Repeat("a", n-2)) },
	"a stored file's ID": func(n int) error {
		_, err := content.Blocks([]api.ContentBlock{api.Upload{ID: strings.Repeat("a", n)}.Block("a")})
		return err
	},
	"a file's media type": func(n int) error {
		_, err := inspected("a", "text/"+strings.Repeat("x", n-5), []byte("a"))
		return err
	},
	"an imported conversation": func(n int) error {
		items := make([]api.HistoryImport, n)
		for i := range items {
			items[i] = says("a")
		}
		return imported(false, items...)
	},
	"an imported text, a call's arguments or an output":                               func(n int) error { return anyOf(n, false) },
	"an imported text, a call's arguments or an output under a model_input guardrail": func(n int) error { return anyOf(n, true) },
	"an imported conversation as compact JSON": func(n int) error {
		items := []api.HistoryImport{says(strings.Repeat("<", 250_000)), says("a"), answers(strings.Repeat(">", 250_000)), calls("1", ` { "a" : 1 } `), returns("1", "x")}
		size := len(bytes.ReplaceAll(content.EncodeImport(items), []byte("\n"), nil))
		items[4].Output += strings.Repeat("&", n-size)
		var compact bytes.Buffer
		if err := json.Compact(&compact, content.EncodeImport(items)); err != nil || compact.Len() != n {
			return fmt.Errorf("the test has made %d bytes, not %d: %v", compact.Len(), n, err)
		}
		return imported(false, items...)
	},
	"an imported call's arguments": func(n int) error {
		list := strings.Repeat(`{"a":`, n-2) + "[]" + strings.Repeat("}", n-2)
		if err := imported(false, says("a"), calls("1", `{"a":`+list+"}"), returns("1", "")); err != nil {
			return err
		}
		return imported(false, says("a"), calls("1", strings.Repeat(`{"a":`, n-1)+"{}"+strings.Repeat("}", n-1)), returns("1", ""))
	},
}

// elsewhere are the bounds that the service enforces, with what it knows of the session.
var elsewhere = map[string]bool{
	"a message that is one text": true, "a text file under a guardrail": true, "the files of a session": true, "the files of a session together": true,
	"a chunk of an upload": true, "an upload that no message refers to": true,
}

func imported(guarded bool, items ...api.HistoryImport) error {
	_, err := content.Import(items, guarded)
	return err
}

// anyOf tries a text of a user and of an assistant, arguments and an output. All must be taken, or all refused.
func anyOf(n int, guarded bool) error {
	text := strings.Repeat("a", n)
	arguments := `{"a":"` + strings.Repeat("a", n-8) + `"}`
	errs := []error{
		imported(guarded, says(text)),
		imported(guarded, says("a"), answers(text)),
		imported(guarded, says("a"), calls("1", " "+arguments+"\n"), returns("1", "")), // measured compact
		imported(guarded, says("a"), calls("1", "{}"), returns("1", text)),
	}
	for _, err := range errs {
		if (err == nil) != (errs[0] == nil) {
			return fmt.Errorf("not all fields have the bound: %v", errs)
		}
	}
	return errs[0]
}

func TestEachBoundIsTakenAndOneMoreIsRefused(t *testing.T) {
	t.Parallel()
	for _, b := range content.Bounds() {
		try := tries[b.What]
		if (try == nil) == !elsewhere[b.What] {
			t.Errorf("%q is tried neither here nor elsewhere, or in both", b.What)
		}
		if try == nil {
			continue
		}
		t.Run(b.What, func(t *testing.T) {
			t.Parallel()
			bound := int(b.Value)
			for _, n := range []int{bound - 1, bound} {
				if err := try(n); err != nil {
					t.Errorf("%d %s: %v", n, b.Unit, err)
				}
			}
			e := wantRefusal(t, try(bound+1), b.Code, "")
			value := e.Details["value"]
			if value != fmt.Sprint(bound+1) || e.Details["limit"] != fmt.Sprint(bound) || !strings.Contains(e.Message, fmt.Sprint(bound)) {
				t.Errorf("%d %s: %v, details %v", bound+1, b.Unit, e, e.Details)
			}
		})
	}
}

func TestTheTableOfBoundsIsWhole(t *testing.T) {
	t.Parallel()
	known := map[api.Code]bool{}
	for _, c := range api.Codes() {
		known[c.Code] = true
	}
	seen := map[string]bool{}
	for _, b := range content.Bounds() {
		if seen[b.What] || b.Value <= 0 || b.Unit == "" || b.Requirement == "" || !known[b.Code] {
			t.Errorf("row %+v", b)
		}
		seen[b.What] = true
	}
	for what := range tries {
		if !seen[what] {
			t.Errorf("%q is in no row", what)
		}
	}
	for what := range elsewhere {
		if !seen[what] {
			t.Errorf("%q is in no row", what)
		}
	}
}

func TestNamesAreLabels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "отчёт.pdf", "../../etc/passwd", "a b", `C:\a`, "😀"} {
		if err := content.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a\x00", "a\nb", "\x1b[1m", "a\x7f", "a\u0085", "a\xff"} {
		wantRefusal(t, content.CheckName(name), api.CodeInvalidRequest, "the file's name")
	}
}
