package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readEvents(body io.Reader) (all []string, err error) {
	events := NewEvents(body)
	for {
		data, err := events.Next()
		if err != nil {
			return all, err
		}
		all = append(all, string(data))
	}
}

func TestEventsAreReadAsServersSendThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"nothing":                          {"", nil},
		"comments and other fields":        {": ping\n\nevent: x\nid: 1\nretry: 3\n\n", nil},
		"an event":                         {"data: {\"a\":1}\n\n", []string{`{"a":1}`}},
		"without a space":                  {"data:{\"a\":1}\n\n", []string{`{"a":1}`}},
		"without an end":                   {"data: {\"a\":1}", []string{`{"a":1}`}},
		"lines that end in CR LF":          {"data: {\"a\":1}\r\n\r\ndata: 2\r\n\r\n", []string{`{"a":1}`, "2"}},
		"a byte order mark":                {"\ufeffdata: 1\n\n", []string{"1"}},
		"several data lines":               {"data: {\"a\":\ndata: 1}\n\n", []string{"{\"a\":\n1}"}},
		"no blank line between":            {"data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n", []string{`{"a":1}`, `{"a":2}`, "[DONE]"}},
		"a comment within":                 {"data: {\"a\":1}\n: ping\n\n", []string{`{"a":1}`}},
		"a bare object":                    {"{\"a\":1}\n\n", []string{`{"a":1}`}},
		"bare objects one after the other": {"{\"a\":1}\n{\"a\":2}\n", []string{`{"a":1}`, `{"a":2}`}},
		"a bare object before a comment":   {"{\"a\":1}\n: ping\n\n", []string{`{"a":1}`}},
		"a bare object on several lines":   {"data: 1\n\n{\n  \"error\": {\n    \"code\": 503\n  }\n}\n", []string{"1", "{\n  \"error\": {\n    \"code\": 503\n  }\n}"}},
		"the same right after an event":    {"data: {\"a\":1}\n{\n  \"b\": 2\n}\n\ndata: 3\n\n", []string{`{"a":1}`, "{\n  \"b\": 2\n}", "3"}},
		"a bare object that is torn off":   {"{\n  \"a\": 1\ndata: 2\n\n", []string{"{\n  \"a\": 1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readEvents(strings.NewReader(test.body))
			if diff := cmp.Diff(test.want, got); diff != "" || err != io.EOF {
				t.Errorf("ended with %v (-want +got):\n%s", err, diff)
			}
			piecewise, err := readEvents(iotest.OneByteReader(strings.NewReader(test.body)))
			if diff := cmp.Diff(test.want, piecewise); diff != "" || err != io.EOF {
				t.Errorf("byte by byte it ended with %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEventsHoldABoundedAmount(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"a line without an end":                   "x",
		"an event without an end":                 "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
		"a bare object that goes on for ever":     "{\n" + strings.Repeat(" \"a\": [\n", 1<<15),
		"an event of many lines that are objects": "data: {\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := io.LimitReader(repeat(unit), 64<<20)
			var err error
			for events := NewEvents(body); err == nil; {
				var data []byte
				if data, err = events.Next(); len(data) > MaxLineBytes {
					t.Fatalf("an event of %d bytes was handed out", len(data))
				}
			}
			if !errors.Is(err, ErrLineTooLong) && err != io.EOF {
				t.Errorf("got %v", err)
			}
		})
	}
}

// repeat reads unit for ever.
func repeat(unit string) io.Reader {
	block := []byte(strings.Repeat(unit, max(1, (64<<10)/len(unit))))
	return io.MultiReader(readers(block)...)
}

func readers(block []byte) []io.Reader {
	var all []io.Reader
	for range (65 << 20) / len(block) {
		all = append(all, bytes.NewReader(block))
	}
	return all
}

func TestAStreamThatIsTornOffIsNoEndInOrder(t *testing.T) {
	t.Parallel()
	torn := errors.New("torn")
	_, err := readEvents(io.MultiReader(strings.NewReader("data: 1\n\ndata: {"), iotest.ErrReader(torn)))
	if !errors.Is(err, torn) {
		t.Errorf("got %v", err)
	}
}
