package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// received reads all messages of an input, and what was answered to the rest of it.
func received(t testing.TB, in io.Reader) (messages []string, refusals []wireRefusal) {
	t.Helper()
	var out bytes.Buffer
	l := NewLines(in, &out)
	for {
		m, err := l.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("Recv: %v", err)
			}
			break
		}
		messages = append(messages, string(m))
	}
	l.Flush(nil)
	for line := range strings.Lines(out.String()) {
		var r wireRefusal
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if len(line)-1 > MaxFrameBytes {
			t.Fatalf("a refusal has %d bytes", len(line)-1)
		}
		refusals = append(refusals, r)
	}
	return messages, refusals
}

type wireRefusal struct {
	ID    json.RawMessage `json:"id"`
	Error struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Data    ErrorData `json:"data"`
	} `json:"error"`
}

// sent is what goes over the wire for messages.
func sent(t testing.TB, messages ...string) string {
	t.Helper()
	var out bytes.Buffer
	l := NewLines(strings.NewReader(""), &out)
	for _, m := range messages {
		if err := l.Send([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	l.Flush(nil)
	return out.String()
}

func TestAMessageOfAnyLengthComesAsItWasSent(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"letters":             "x",
		"escapes":             `\"`,
		"characters of three": "語",
		"characters of four":  "😀",
		"what HTML escapes":   "<&>",
		"line separators":     "\u2028",
		"control characters":  `\u0001`,
	} {
		for _, n := range []int{1, MaxFrameBytes - 40, MaxFrameBytes, MaxFrameBytes + 1, 3 * MaxFrameBytes} {
			message := `{"pad":"` + strings.Repeat(fill, n/len(fill)) + `"}`
			wire := sent(t, message)
			for line := range strings.Lines(wire) {
				if len(line)-1 > MaxFrameBytes {
					t.Errorf("%s: a line of %d bytes", name, len(line)-1)
				}
			}
			messages, refusals := received(t, strings.NewReader(wire))
			if len(messages) != 1 || messages[0] != message || len(refusals) > 0 {
				t.Errorf("%s, %d bytes: %d messages came, %d refusals", name, len(message), len(messages), len(refusals))
			}
		}
	}
}

func TestALineOfExactlyTheBoundIsTakenHoweverItEnds(t *testing.T) {
	t.Parallel()
	pad := func(n int) string { return `{"id":"a"` + strings.Repeat(" ", n-len(`{"id":"a"}`)) + `}` }
	for name, c := range map[string]struct {
		in      string
		taken   bool
		refused string // in the message
	}{
		"the bound":                            {pad(MaxFrameBytes) + "\n", true, ""},
		"the bound at the end of the input":    {pad(MaxFrameBytes), true, ""},
		"one less":                             {pad(MaxFrameBytes-1) + "\n", true, ""},
		"one less and a carriage return":       {pad(MaxFrameBytes-1) + "\r\n", true, ""},
		"one more":                             {pad(MaxFrameBytes+1) + "\n", false, "1048577 bytes"},
		"one more at the end of the input":     {pad(MaxFrameBytes + 1), false, "1048577 bytes"},
		"more than is read at once":            {pad(MaxFrameBytes+100_000) + "\n", false, "1148576 bytes"},
		"the bound, and a line right behind":   {pad(MaxFrameBytes) + "\n" + `{"id":"b"}`, true, ""},
		"one more, and a line right behind it": {pad(MaxFrameBytes+1) + "\n" + `{"id":"b"}`, false, "1048577 bytes"},
	} {
		messages, refusals := received(t, strings.NewReader(c.in))
		if behind := strings.HasSuffix(c.in, `{"id":"b"}`); behind {
			if len(messages) == 0 || messages[len(messages)-1] != `{"id":"b"}` {
				t.Fatalf("%s: what is behind did not come", name)
			}
			messages = messages[:len(messages)-1]
		}
		if (len(messages) == 1) != c.taken || (len(refusals) == 0) != c.taken {
			t.Fatalf("%s: %d messages, %d refusals", name, len(messages), len(refusals))
		}
		if c.refused != "" && (!strings.Contains(refusals[0].Error.Message, c.refused) || refusals[0].Error.Data.Code != api.CodeFrameTooLarge || string(refusals[0].ID) != `"a"`) {
			t.Errorf("%s: %+v", name, refusals[0])
		}
	}
}

func TestPartsOfSeveralMessagesMayStandBetweenEachOther(t *testing.T) {
	t.Parallel()
	part := func(name, data string, last bool) string {
		line, err := encode(map[string]any{"jsonrpc": "2.0", "method": MethodPart, "params": Part{Message: name, Data: data, Last: last}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	in := part("a", `{"a":`, false) + part("b", `{"b"`, false) + `{"between":1}` + "\n" + part("a", `1}`, true) + part("b", ``, false) + part("a", `{"again":1}`, true) + part("b", `:2}`, true)
	messages, refusals := received(t, strings.NewReader(in))
	if diff := cmp.Diff([]string{`{"between":1}`, `{"a":1}`, `{"again":1}`, `{"b":2}`}, messages); diff != "" || len(refusals) > 0 {
		t.Errorf("(-want +got):\n%s\nrefused: %v", diff, refusals)
	}
}

// The messages under way share one bound; the one that goes over it is given up, and the others go on.
func TestMessagesUnderWayAreBoundedTogether(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	var answered bytes.Buffer
	l := NewLines(in, &answered)
	l.limit = 1_000
	go func() {
		line := func(name, data string, last bool) {
			m, _ := encode(map[string]any{"method": MethodPart, "params": Part{Message: name, Data: data, Last: last}})
			_, _ = out.Write(append(m, '\n')) // the reader takes all
		}
		line("first", `{"x":"`+strings.Repeat("x", 600), false)
		line("second", `{"id":"s","y":"`+strings.Repeat("y", 300), false)
		line("second", strings.Repeat("y", 300), false)
		line("first", `"}`, true)
		line("whole", `{"z":"`+strings.Repeat("z", 991)+`"`, false) // the bound is free again
		line("whole", `}`, true)
		line("whole", `{"z":"`+strings.Repeat("z", 993)+`"}`, true) // 1,001
		_ = out.Close()
	}()
	var lengths []int
	for {
		m, err := l.Recv()
		if err != nil {
			break
		}
		lengths = append(lengths, len(m))
	}
	l.Flush(nil)
	if diff := cmp.Diff([]int{608, 999}, lengths); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	refused := strings.Split(strings.TrimSpace(answered.String()), "\n")
	if len(refused) != 2 || !strings.Contains(refused[0], `"id":"s"`) || !strings.Contains(refused[1], `"id":null`) || strings.Count(answered.String(), `"frame_too_large"`) != 2 {
		t.Errorf("refused: %q", refused)
	}
}

func TestAMessageOverAllBoundsGoesAsAnErrorOrWithoutItsParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, want string }{
		"an answer":  {`{"jsonrpc":"2.0","id":"a","result":"`, `"id":"a","error":`},
		"a request":  {`{"jsonrpc":"2.0","id":7,"method":"hook/toolResult","params":"`, `"method":"hook/toolResult"`},
		"of nothing": {`{"jsonrpc":"2.0","result":"`, `"id":null,"error":`},
	} {
		wire := string(tooLong([]byte(c.head + strings.Repeat("x", 2_000) + `"}`)))
		if !strings.Contains(wire, c.want) || len(wire) > 1_000 || !json.Valid([]byte(wire)) {
			t.Errorf("%s: %.1000s", name, wire)
		}
	}
}

func TestWhatManySendAtOnceComesWhole(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	from, to := NewLines(in, io.Discard), NewLines(strings.NewReader(""), out)
	const senders, each = 8, 20
	for s := range senders {
		go func() {
			for i := range each {
				size := 10
				if i%10 == 0 {
					size = MaxFrameBytes
				}
				_ = to.Send(fmt.Appendf(nil, `{"sender":%d,"i":%d,"pad":"%s"}`, s, i, strings.Repeat("x", size))) // a failure is a message that does not come
			}
		}()
	}
	seen := map[[2]int]bool{}
	for range senders * each {
		m, err := from.Recv()
		if err != nil {
			t.Fatal(err)
		}
		var v struct{ Sender, I int }
		if err := json.Unmarshal(m, &v); err != nil {
			t.Fatal(err)
		}
		seen[[2]int{v.Sender, v.I}] = true
	}
	if len(seen) != senders*each {
		t.Errorf("%d different messages came", len(seen))
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is on fire") }

func TestAnErrorOfTheReaderIsRecvs(t *testing.T) {
	t.Parallel()
	l := NewLines(io.MultiReader(strings.NewReader(`{"a":1}`+"\n"+`{"half"`), failing{}), io.Discard)
	if m, err := l.Recv(); err != nil || string(m) != `{"a":1}` {
		t.Fatalf("%q, %v", m, err)
	}
	if m, err := l.Recv(); err == nil || err.Error() != "the disk is on fire" {
		t.Errorf("%q, %v", m, err)
	}
}

// inParts is a message as lines of rpc/part.
func inParts(t testing.TB, message string) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(message); i += 1 << 19 {
		end := min(i+1<<19, len(message))
		line, err := encode(map[string]any{"method": MethodPart, "params": Part{Message: "m", Data: message[i:end], Last: end == len(message)}})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

func TestABatchHasAtMostSoManyMessages(t *testing.T) {
	t.Parallel()
	of := func(n int, one string) string { return "[" + one + strings.Repeat(","+one, n-1) + "]" }
	for name, c := range map[string]struct {
		batch string
		taken bool
	}{
		"none":                             {"[]", true},
		"the bound":                        {of(MaxMembers, "{}"), true},
		"one more":                         {of(MaxMembers+1, "{}"), false},
		"one more, with space around":      {" \t" + of(MaxMembers+1, " { } ") + "\r", false},
		"commas in texts":                  {of(2, `"`+strings.Repeat(`,\"\\`, MaxMembers)+`"`), true},
		"commas inside of members":         {of(1, `{"a":`+of(MaxMembers, "[1,2]")+`}`), true},
		"too many behind what is inside":   {of(MaxMembers+1, `{"a":["]",{"\"}":[]}]}`), false},
		"no batch, with that many in it":   {`{"params":` + of(MaxMembers+1, "{}") + `}`, true},
		"many more than are looked at":     {of(5<<20, "{}"), false},
		"a batch of batches is one of all": {of(MaxMembers+1, "[]"), false},
	} {
		lines := map[string]string{"parts": inParts(t, c.batch)}
		if len(c.batch) <= MaxFrameBytes {
			lines["a line"] = c.batch + "\n"
		}
		for as, in := range lines {
			messages, refusals := received(t, strings.NewReader(in))
			if (len(messages) == 1) != c.taken || (len(refusals) == 0) != c.taken {
				t.Errorf("%s in %s: %d messages, %d refusals", name, as, len(messages), len(refusals))
				continue
			}
			if !c.taken && (refusals[0].Error.Code != -32600 || refusals[0].Error.Data.Code != api.CodeInvalidRequest || !strings.Contains(refusals[0].Error.Message, "16384")) {
				t.Errorf("%s in %s: %+v", name, as, refusals[0])
			}
		}
	}
}

// Somebody waits for an answer, and would wait for ever for one that is refused.
func TestAnAnswerThatCannotBeReadIsReceivedAsAnError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxFrameBytes)
	for name, c := range map[string]struct {
		in   string
		id   string // of what is received, "" for nothing
		why  api.Code
		told string // the id that the refusal is told under
	}{
		"a result that is too long":                {`{"jsonrpc":"2.0","id":7,"result":{"output":"` + long + `"}}` + "\n", "7", api.CodeFrameTooLarge, "null"},
		"an error that is too long":                {`{"id":"a","error":{"message":"` + long + `"}}` + "\n", `"a"`, api.CodeFrameTooLarge, "null"},
		"the id behind what is short":              {`{"result":null,"id":7,"more":"` + long + `"}` + "\n", "7", api.CodeFrameTooLarge, "null"},
		"the id behind what is cut off":            {`{"result":"` + long + `","id":7}` + "\n", "", api.CodeFrameTooLarge, "null"},
		"a request that is too long":               {`{"id":7,"method":"m","params":{"result":"` + long + `"}}` + "\n", "", api.CodeFrameTooLarge, "7"},
		"a request whose method comes late":        {`{"id":7,"params":{"result":"` + long + `"},"method":"m"}` + "\n", "", api.CodeFrameTooLarge, "7"},
		"no UTF-8 in a result":                     {`{"jsonrpc":"2.0","id":7,"result":{"output":"` + "\xff" + `"}}` + "\n", "7", api.CodeInvalidRequest, "null"},
		"a result that is no JSON":                 {`{"jsonrpc":"2.0","id":7,"result":{"output":NaN}}` + "\n", "7", api.CodeInvalidRequest, "null"},
		"no JSON in parts":                         {inParts(t, `{"jsonrpc":"2.0","id":7,"result":{"output":NaN}}`), "7", api.CodeInvalidRequest, "null"},
		"half an answer at the end":                {`{"jsonrpc":"2.0","id":7,"result":{"output":"half`, "", api.CodeInvalidRequest, "null"},
		"half a long answer at the end":            {`{"jsonrpc":"2.0","id":7,"result":{"output":"` + long, "", api.CodeFrameTooLarge, "7"},
		"no JSON in a result before the id":        {`{"jsonrpc":"2.0","result":{"output":NaN, "of": ["a,}", nil]},"id":7}` + "\n", "7", api.CodeInvalidRequest, "null"},
		"behind a byte order mark":                 {"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":7,"result":{"output":"x"}}` + "\n", "7", api.CodeInvalidRequest, "null"},
		"a request of no JSON with a result in it": {`{"id":7,"params":{"result":NaN},"method":"m"}` + "\n", "", api.CodeInvalidRequest, "null"},
		"an id that is none":                       {`{"id":{},"result":"` + long + `"}` + "\n", "", api.CodeFrameTooLarge, "null"},
	} {
		messages, refusals := received(t, strings.NewReader(c.in))
		if len(refusals) != 1 || string(refusals[0].ID) != c.told || refusals[0].Error.Data.Code != c.why {
			t.Errorf("%s: refused: %+v", name, refusals)
		}
		if c.id == "" {
			if len(messages) > 0 {
				t.Errorf("%s: received %.300s", name, messages[0])
			}
			continue
		}
		var got wireRefusal
		if len(messages) != 1 || json.Unmarshal([]byte(messages[0]), &got) != nil || string(got.ID) != c.id || got.Error.Code != Unread || got.Error.Data.Code != c.why {
			t.Errorf("%s: received %.300q", name, messages)
		}
	}
}
