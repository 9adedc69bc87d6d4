package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

// pieceReader gives bytes in pieces of any length.
type pieceReader struct {
	data   []byte
	chance *rand.Rand
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(r.data), 1+r.chance.IntN(100))
	copy(p, r.data[:n])
	r.data = r.data[n:]
	return n, nil
}

// FuzzLines reads any bytes: whatever comes is a JSON value in UTF-8 within the bounds, what does not is refused, and a line
// behind all of it still comes.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n\r\n \n", `{"jsonrpc":"2.0","id":1,"method":"capabilities"}`, "\xff\xfe", `{"id":"a"`, "[]\n[[]]\n1\nnull\n\"x\"\n",
		`{"method":"rpc/part","params":{"message":"m","data":"{\"id\":"}}` + "\n" + `{"method":"rpc/part","params":{"message":"m","data":"1}","last":true}}`,
		`{"method":"rpc\/part","params":{"message":"","data":1}}`, `{"method":"rpc/part","params":{"message":"m","data":"{\"method\":\"rpc/part\"}","last":true}}`,
		`{"id":"a","pad":"` + strings.Repeat("x", 5_000) + `"}`, strings.Repeat("[", 20_000), "\x00", `"\ud800"`,
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		const last = `{"the":"last"}`
		lines := bytes.Count(data, []byte("\n")) + 1
		in := &pieceReader{data: append(append([]byte{}, data...), "\n"+last...), chance: rand.New(rand.NewPCG(seed, 0))}
		messages, refusals := received(t, in)
		if len(messages) == 0 || messages[len(messages)-1] != last {
			t.Fatalf("the last line did not come; %d messages", len(messages))
		}
		if n := len(messages) - 1 + len(refusals); n > lines {
			t.Errorf("%d messages and refusals of %d lines", n, lines)
		}
		for _, m := range messages {
			if !utf8.ValidString(m) || !json.Valid([]byte(m)) || len(m) > MaxMessageBytes {
				t.Errorf("%q came", m)
			}
		}
		for _, r := range refusals {
			if r.Error.Code == 0 || r.Error.Message == "" || r.Error.Data.Code == "" {
				t.Errorf("a refusal says nothing: %+v", r)
			}
		}
	})
}

// FuzzParts sends a message in lines that are cut anywhere, with other lines between them.
func FuzzParts(f *testing.F) {
	f.Add("text", uint64(1))
	f.Add("\"\\\n語😀\x00<", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		chance := rand.New(rand.NewPCG(seed, 0))
		message, err := encode(map[string]string{"text": strings.ToValidUTF8(text, "?")})
		if err != nil {
			t.Fatal(err)
		}
		var wire bytes.Buffer
		between := 0
		for rest := string(message); rest != ""; {
			n := 1 + chance.IntN(len(rest))
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			line, err := encode(map[string]any{"jsonrpc": "2.0", "method": MethodPart, "params": Part{Message: "m", Data: rest[:n], Last: n == len(rest)}})
			if err != nil {
				t.Fatal(err)
			}
			wire.Write(append(line, '\n'))
			if rest = rest[n:]; rest != "" && chance.IntN(2) == 0 {
				wire.WriteString("{\"between\":1}\r\n")
				between++
			}
		}
		messages, refusals := received(t, &pieceReader{data: wire.Bytes(), chance: chance})
		if len(refusals) > 0 || len(messages) != between+1 || messages[between] != string(message) {
			t.Errorf("%q came, and %v was refused", messages, refusals)
		}
	})
}

// FuzzDecode reads any parameters into those of any method: they are read, or refused with a code that says why.
func FuzzDecode(f *testing.F) {
	methods := Methods()
	for i := range methods {
		f.Add(i, []byte(`{}`))
	}
	for i, seed := range []string{``, `null`, `[]`, `{"session":1}`, `{"x":1}`, `{"session":"s"}}`, `{"options":{"limits":{"maxModelCalls":1e9}}}`, `{"chunk":{"data":"*"}}`, `{"since":"x"}`,
		`{"definition":{"tools":[{"inputSchema":` + strings.Repeat("[", 11_000) + `]}`, `{"session":"a","session":"b"}`, `{"SESSION":"a"}`, "{\"session\":\"\xff\"}"} {
		f.Add(i, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, method int, params []byte) {
		m := methods[(method%len(methods)+len(methods))%len(methods)]
		into := reflect.New(m.Params)
		err := Decode(m.Name, params, into.Interface())
		if err == nil {
			if len(params) > 0 && !json.Valid(params) {
				t.Fatalf("%s took what is no JSON: %q", m.Name, params)
			}
			if _, err := json.Marshal(into.Interface()); err != nil {
				t.Fatalf("%s took what cannot be written: %v", m.Name, err)
			}
			return
		}
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeInvalidRequest && e.Code != api.CodeUnsupportedOption || !strings.Contains(e.Message, m.Name) {
			t.Fatalf("%s: %v", m.Name, err)
		}
		if wire := ToError(err); len(wire.Message)+len(wire.Data) > 4_000 {
			t.Errorf("%s: the refusal has %d bytes", m.Name, len(wire.Message)+len(wire.Data))
		}
	})
}
