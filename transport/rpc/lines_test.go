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

// blocked is a peer that takes nothing.
type blocked struct{ free chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.free
	return len(p), nil
}

func TestAPeerThatReadsNothingIsGivenUpAtABound(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	l := NewLines(strings.NewReader(""), blocked{free})
	message := bytes.Repeat([]byte("x"), MaxFrameBytes) // the same bytes each time: nothing is copied
	var err error
	n := 0
	for ; err == nil && n < 2_000; n++ {
		err = l.Send(message)
	}
	if !errors.Is(err, ErrNotSent) || n*MaxFrameBytes < maxUnsent {
		t.Fatalf("message %d: %v", n, err)
	}
	<-l.Done()
	if err := l.Send([]byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("behind it: %v", err)
	}
	l.Flush(nil) // does not wait for the peer
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no pipe") }

func TestAPeerThatIsGoneIsToldToSenders(t *testing.T) {
	t.Parallel()
	l := NewLines(strings.NewReader(""), broken{})
	if err := l.Send([]byte("{}")); err != nil {
		t.Fatalf("the first is only queued: %v", err)
	}
	<-l.Done()
	if err := l.Send([]byte("{}")); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "no pipe") {
		t.Errorf("the second: %v", err)
	}
	closed := NewLines(strings.NewReader(""), io.Discard)
	_ = closed.Close()
	if err := closed.Send([]byte("{}")); !errors.Is(err, ErrNotSent) {
		t.Errorf("behind Close: %v", err)
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
