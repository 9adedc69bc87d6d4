package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program is a running server, as a test in another language sees it.
type program struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Reader
	url   string
	ended chan error
}

func start(t *testing.T, script string) *program {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &program{t: t, in: inWrite, out: bufio.NewReader(outRead), ended: make(chan error, 1)}
	go func() {
		p.ended <- serve(nil, inRead, outWrite)
		_ = inRead.Close() // of a pipe
		_ = outWrite.Close()
	}()
	p.say(strings.ReplaceAll(script, "\n", " ")) // a script is one line
	var hello struct {
		OpenAI string `json:"openai"`
	}
	p.hear(&hello)
	p.url = hello.OpenAI
	return p
}

func (p *program) say(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) hear(into any) {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		p.t.Fatalf("%v in %q", err, line)
	}
}

// ask sends a chat request and returns the whole answer.
func (p *program) ask(messages string) (int, string) {
	response, err := http.Post(p.url+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[`+messages+`]}`))
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// end ends the program and returns its report.
func (p *program) end() (Report, error) {
	p.t.Helper()
	_ = p.in.Close() // of a pipe
	var last struct {
		Report Report `json:"report"`
	}
	p.hear(&last)
	return last.Report, <-p.ended
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func TestTheFirstRuleThatHoldsReplies(t *testing.T) {
	t.Parallel()
	p := start(t, `{"rules":[
		{"user":"exact","reply":{"text":"by the text"}},
		{"contains":"part","round":0,"reply":{"calls":[{"name":"look","arguments":{ "at": 1 }}]}},
		{"contains":"part","round":1,"result":"found","reply":{"text":"after the call"}},
		{"system":"rules of the house","reply":{"text":"by the instructions"}},
		{"user":"twice","replies":[{"status":429,"error":{"message":"slow down"}},{"text":"now"}]}]}`)
	called := `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"it was found"}`
	for _, tt := range []struct {
		name, messages string
		status         int
		want           string
	}{
		{"by the whole text", user("exact"), 200, "by the text"},
		{"by a part of it, with a call", user("a part of it"), 200, `"{\"at\":1}"`},
		{"by the round and the result", user("a part of it") + called, 200, "after the call"},
		{"by the instructions", `{"role":"system","content":"The rules of the house."},` + user("x"), 200, "by the instructions"},
		{"the first of two replies", user("twice"), 429, "slow down"},
		{"the second", user("twice"), 200, "now"},
		{"the last one again", user("twice"), 200, "now"},
	} {
		status, body := p.ask(tt.messages)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: status %d, want %d with %q: %s", tt.name, status, tt.status, tt.want, body)
		}
	}
	report, err := p.end()
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(Report{Requests: 7}, report); diff != "" {
		t.Error(diff)
	}
}

func TestAReplyWaitsForItsGate(t *testing.T) {
	t.Parallel()
	p := start(t, `{"rules":[{"reply":{"text":"late","wait":"gate"}}]}`)
	answered := make(chan string, 1)
	go func() {
		_, body := p.ask(user("x"))
		answered <- body
	}()
	p.say(`{"arrived":1}`)
	var came struct{ Arrived int }
	p.hear(&came)
	select {
	case body := <-answered:
		t.Fatalf("answered before its gate was open: %s", body)
	default:
	}
	p.say(`{"open":"gate"}`)
	var opened struct{ Opened string }
	p.hear(&opened)
	if body := <-answered; !strings.Contains(body, "late") {
		t.Errorf("answered %s", body)
	}
	p.say(`{"requests":true}`)
	var list struct{ Requests []seen }
	p.hear(&list)
	want := []seen{{Number: 1, Protocol: "chat", Model: "m", Messages: []message{{Role: "user", Content: "x"}}}}
	if diff := cmp.Diff(want, list.Requests); diff != "" {
		t.Error(diff)
	}
	if _, err := p.end(); err != nil {
		t.Error(err)
	}
}

func TestAFaultyRequestFailsTheRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, messages, want string }{
		{"one that breaks the protocol", `{"role":"assistant","content":"hello"}`, "refusals"},
		{"one that meets no rule", user("something else"), "unscripted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, `{"rules":[{"user":"x","reply":{"text":"ok"}}]}`)
			if status, body := p.ask(tt.messages); status != http.StatusBadRequest {
				t.Errorf("status %d: %s", status, body)
			}
			report, err := p.end()
			if !errors.Is(err, errFaults) {
				t.Errorf("it ended with %v", err)
			}
			if told, _ := json.Marshal(report); !strings.Contains(string(told), tt.want) {
				t.Errorf("the report %s has no %s", told, tt.want)
			}
		})
	}
}

func TestWhatIsNoScriptIsRefused(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nothing":               ``,
		"no JSON":               `rules`,
		"an unknown field":      `{"rules":[{"usr":"x","reply":{}}]}`,
		"a rule without reply":  `{"rules":[{"user":"x"}]}`,
		"a rule with two forms": `{"rules":[{"reply":{},"replies":[{}]}]}`,
		"arguments of no kind":  `{"rules":[{"reply":{"calls":[{"name":"t","arguments":7}]}}]}`,
		"something behind it":   `{"rules":[{"reply":{}}]} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := serve([]byte(script), strings.NewReader(""), io.Discard); err == nil || errors.Is(err, errFaults) {
				t.Errorf("it was taken: %v", err)
			}
		})
	}
}

func TestAWrongCommandEndsIt(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{}`, `open`, `{"close":"gate"}`} {
		if err := serve([]byte(`{"rules":[]}`), strings.NewReader(line+"\n"), io.Discard); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}
