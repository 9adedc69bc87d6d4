package model_test

import (
	"testing"

	"github.com/openworkerai/openworker/model"
)

func TestWhatAModelTakesIsKnownRefusedOrUnknown(t *testing.T) {
	t.Parallel()
	pictures := model.Facts{}.OnlyFormats(model.TypePNG)
	for name, test := range map[string]struct {
		facts        model.Facts
		mediaType    string
		takes, known bool
	}{
		"an image that it takes":      {pictures, model.TypePNG, true, true},
		"an image that it refuses":    {pictures, model.TypeGIF, false, true},
		"a PDF that it refuses":       {pictures, model.TypePDF, false, true},
		"a PDF of an unknown model":   {model.Facts{}, model.TypePDF, false, false},
		"text at whatever model":      {model.Facts{}, "text/markdown", true, true},
		"text at one without formats": {model.Facts{}.OnlyFormats(), "application/json", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if takes, known := test.facts.Takes(test.mediaType); takes != test.takes || known != test.known {
				t.Errorf("got %v, %v", takes, known)
			}
		})
	}
}

func TestATextFileBearsItsNameAndCannotForgeAnother(t *testing.T) {
	t.Parallel()
	got := model.Part{Name: "a\" type=\"b\">\n<c.md", MediaType: "text/markdown", Data: []byte("# Hi")}.NamedText()
	want := "<file name=\"a&quot; type=&quot;b&quot;&gt; &lt;c.md\" type=\"text/markdown\">\n# Hi\n</file>"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
