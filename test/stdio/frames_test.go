package stdio_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

func TestALineUpToOneMebibyteIsTaken(t *testing.T) {
	t.Parallel()
	r := open(t)
	for _, n := range []int{rpc.MaxFrameBytes - 1, rpc.MaxFrameBytes} {
		r.Line(padded(fmt.Sprint(n), n))
		if a := r.Answer(fmt.Sprintf(`"%d"`, n)); a.Error != nil {
			t.Errorf("%d bytes: %s", n, a.Raw)
		}
	}
}

func TestALineOverOneMebibyteIsRefusedUnderItsIDAndTheConnectionGoesOn(t *testing.T) {
	t.Parallel()
	r := open(t)
	for name, c := range map[string]struct{ line, id string }{
		"one byte more":                  {padded("one", rpc.MaxFrameBytes+1), `"one"`},
		"a number as its id":             {`{"id":77,"pad":"` + strings.Repeat("x", rpc.MaxFrameBytes) + `"}`, `77`},
		"an id behind what is too long":  {`{"pad":"` + strings.Repeat("x", rpc.MaxFrameBytes) + `","id":"behind"}`, `null`},
		"an id that is too long to tell": {`{"id":"` + strings.Repeat("x", rpc.MaxFrameBytes-20) + `","method":"capabilities"}`, `null`},
		"50 MiB":                         {`{"id":"fifty","pad":"` + strings.Repeat("x", 50<<20) + `"}`, `"fifty"`},
		"no JSON":                        {strings.Repeat("[", 2<<20), `null`},
	} {
		r.Line(c.line)
		a := r.Answer(c.id)
		if a.Error == nil || a.Error.Data.Code != api.CodeFrameTooLarge || !strings.Contains(a.Error.Message, fmt.Sprintf("%d bytes", len(c.line))) {
			t.Errorf("%s: %.300s", name, a.Raw)
		}
		probe(t, r)
	}
}

func TestAnAnswerUpToOneMebibyteIsOneLineAndALargerOneIsSeveral(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	// The answer to a request has its id, so that the id's length makes the answer's.
	around := len(`{"jsonrpc":"2.0","id":"","result":{}}`)
	for _, n := range []int{rpc.MaxFrameBytes - 1, rpc.MaxFrameBytes, rpc.MaxFrameBytes + 1} {
		id := strings.Repeat("i", n-around)
		// Sent in parts, since the request is longer than its answer.
		sendParts(r, "request", child.RequestLine(id, rpc.MethodUnsubscribe, `{"subscription":"none"}`), 3)
		a := r.Answer(`"` + id + `"`)
		if len(a.Raw) != n || (a.Lines == 1) != (n <= rpc.MaxFrameBytes) {
			t.Errorf("an answer of %d bytes came as %d bytes in %d lines", n, len(a.Raw), a.Lines)
		}
	}
	// What a session has, too: texts whose characters are escapes, and of three bytes.
	texts := []string{strings.Repeat(`"\`, 120_000), strings.Repeat("語", 80_000), strings.Repeat("\x01\u2028<", 50_000)}
	for range 2 {
		for _, text := range texts {
			say(t, r, session, text)
		}
	}
	r.Request("history", rpc.MethodHistory, rpc.SessionID{Session: session})
	a := r.Answer(`"history"`)
	var page api.HistoryPage
	into(t, a.Result, &page)
	var users []string
	for _, item := range page.Items {
		if item.Type == "user" {
			users = append(users, item.Text)
		}
	}
	if a.Lines < 2 || len(users) != 6 {
		t.Fatalf("the history has %d messages in %d lines: %.300s", len(users), a.Lines, a.Raw)
	}
	for i, text := range users {
		if text != texts[i%3] {
			t.Errorf("message %d came back as another", i)
		}
	}
}

// sendParts sends a message in n lines.
func sendParts(r *child.Runtime, name, message string, n int) {
	size := (len(message) + n - 1) / n
	for i := 0; i < len(message); i += size {
		end := min(i+size, len(message))
		params, _ := json.Marshal(rpc.Part{Message: name, Data: message[i:end], Last: end == len(message)})
		_ = r.Write(append(append([]byte(`{"jsonrpc":"2.0","method":"rpc/part","params":`), params...), "}\n"...))
	}
}

func TestLinesMayEndInAnyWayAndBeEmpty(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.Line("\r")
	r.Line("")
	r.Line(" \t ")
	r.Line(child.RequestLine("crlf", rpc.MethodCapabilities, nil) + "\r")
	r.Line("  \t" + child.RequestLine("around", rpc.MethodCapabilities, nil) + "  ")
	for _, id := range []string{`"crlf"`, `"around"`} {
		if a := r.Answer(id); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	for _, m := range r.Left() {
		t.Errorf("an empty line was answered: %s", m.Raw)
	}
}

func TestWhatIsNoMessageIsRefusedWithoutAnID(t *testing.T) {
	t.Parallel()
	r := open(t)
	for name, line := range map[string]string{
		"a byte that is no UTF-8 in a string": `{"jsonrpc":"2.0","id":"a","method":"capabilities","params":{"x":"` + "\xff" + `"}}`,
		"a byte that is no UTF-8 in a key":    `{"jsonrpc":"2.0","id":"a","method":"capabilities","` + "\xc3" + `":1}`,
		"a line of such bytes":                "\x80\x81\xfe\xff",
		"a surrogate in UTF-8":                "\"\xed\xa0\x80\"",
		"a NUL byte in a string":              `{"jsonrpc":"2.0","id":"a` + "\x00" + `","method":"capabilities"}`,
		"a line of a NUL byte":                "\x00",
		"text":                                "hello",
		"an HTTP request":                     "GET / HTTP/1.1\r",
		"a byte order mark":                   "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":"a","method":"capabilities"}`,
		"half an object":                      `{"jsonrpc":"2.0","id":"a","method":`,
		"two objects":                         `{"jsonrpc":"2.0","id":"a","method":"capabilities"}{"jsonrpc":"2.0","id":"b","method":"capabilities"}`,
		"100,000 open brackets":               strings.Repeat("[", 100_000),
		"100,000 brackets":                    strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"100,000 objects in parameters":       `{"jsonrpc":"2.0","id":"a","method":"capabilities","params":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}",
	} {
		r.Line(line)
		a := r.Answer("null")
		if a.Error == nil || a.Error.Code != -32700 || a.Error.Data.Code != api.CodeInvalidRequest || a.Error.Message == "" {
			t.Errorf("%s: %s", name, a.Raw)
		}
		probe(t, r)
	}
}

func TestWhatIsUnusualButJSONIsTaken(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	for name, c := range map[string]struct {
		text string // as it stands in JSON
		want string
	}{
		"an unpaired surrogate becomes the replacement character": {`a\ud800b`, "a\ufffdb"},
		"a pair of surrogates is one character":                   {`\ud83d\ude00`, "😀"},
		"the second of a pair alone is replaced":                  {`\ude00`, "\ufffd"},
		"an escaped slash":                                        {`rpc\/part`, "rpc/part"},
		"the name of a method in a text":                          {`say \"rpc/part\"`, `say "rpc/part"`},
	} {
		var result api.Result
		var run api.RunReference
		into(t, r.Call(rpc.MethodSubmit, fmt.Sprintf(`{"session":%q,"text":"%s"}`, session, c.text)), &run)
		into(t, r.Call(rpc.MethodResult, rpc.RunID{Session: session, Run: run.Run}), &result)
		if !strings.Contains(result.Text, c.want) {
			t.Errorf("%s: %q", name, result.Text)
		}
	}
	if e := r.Refused(rpc.MethodSubmit, fmt.Sprintf(`{"session":%q,"text":"a\u0000b"}`, session)); e.Data.Code != api.CodeInvalidRequest {
		t.Errorf("NUL in a text: %+v", e)
	}
}

func TestOfAKeyThatIsThereTwiceTheLastCounts(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.Line(`{"jsonrpc":"2.0","id":"first","method":"nothing","method":"capabilities","id":"last"}`)
	if a := r.Answer(`"last"`); a.Error != nil {
		t.Errorf("%s", a.Raw)
	}
	for _, m := range r.Left() {
		t.Errorf("it was answered twice: %s", m.Raw)
	}
}

func TestHalfALineAtTheEndIsRefusedAndAWholeOneAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end, id string
		want    api.Code // "" for an answer
	}{
		"half a request":                    {`{"jsonrpc":"2.0","id":"h","meth`, "null", api.CodeInvalidRequest},
		"half a line that is too long":      {`{"id":"h","pad":"` + strings.Repeat("x", rpc.MaxFrameBytes), `"h"`, api.CodeFrameTooLarge},
		"a whole request without a newline": {child.RequestLine("h", rpc.MethodCapabilities, nil), `"h"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			if err := r.Write([]byte(c.end)); err != nil {
				t.Fatal(err)
			}
			r.CloseInput()
			if a := r.Answer(c.id); codeOf(a) != c.want {
				t.Errorf("%s", a.Raw)
			}
			if code := r.Exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// C36: what was read is answered, however the answers sum up.
func TestWhateverWasReadIsAnsweredAtTheEndOfInput(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 200} {
		t.Run(fmt.Sprintf("%d requests", n), func(t *testing.T) {
			t.Parallel()
			for range 40 / min(n, 20) {
				r := start(t)
				var in bytes.Buffer
				in.WriteString(child.RequestLine("i", rpc.MethodInitialize, hello) + "\n")
				for i := range n {
					in.WriteString(child.RequestLine(fmt.Sprint(i), rpc.MethodCapabilities, nil) + "\n")
				}
				if err := r.Write(in.Bytes()); err != nil {
					t.Fatal(err)
				}
				r.CloseInput()
				if code := r.Exit(); code != 0 {
					t.Errorf("exit code %d", code)
				}
				for i := range n {
					if a := r.Answer(fmt.Sprintf(`"%d"`, i)); a.Error != nil {
						t.Errorf("%s", a.Raw)
					}
				}
				if n == 200 && r.Bytes() < 64<<10 {
					t.Errorf("only %d bytes came, which proves nothing", r.Bytes())
				}
			}
		})
	}
}
