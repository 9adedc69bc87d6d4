package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// maxLine bounds a line of standard input: a script may hold long texts.
const maxLine = 64 << 20

// Report is what is told at the end.
type Report struct {
	Requests   int      `json:"requests"`             // refused ones included
	Refusals   []string `json:"refusals,omitempty"`   // requests that break their protocol
	Unscripted []string `json:"unscripted,omitempty"` // requests that met no rule
}

// seen is a request as it is told.
type seen struct {
	Number     int       `json:"number"`
	Protocol   string    `json:"protocol"`
	Model      string    `json:"model"`
	Messages   []message `json:"messages"`
	Tools      []string  `json:"tools,omitempty"`
	ToolChoice string    `json:"toolChoice,omitempty"`
	MaxTokens  int       `json:"maxTokens,omitempty"`
}

type message struct {
	Role    string        `json:"role"`
	Content string        `json:"content,omitempty"`
	Parts   []messagePart `json:"parts,omitempty"`
	Calls   []messageCall `json:"calls,omitempty"`
	Failed  bool          `json:"failed,omitempty"`
}

type messagePart struct {
	MediaType string `json:"mediaType"`
	Name      string `json:"name,omitempty"`
	Size      int    `json:"size"`
}

type messageCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// player plays a script. It is safe for concurrent use.
type player struct {
	script Script
	gates  *gates

	mu         sync.Mutex
	arrival    *sync.Cond
	arrived    int
	ended      bool
	given      map[int]int // replies so far, by rule
	unscripted []string
}

func newPlayer(script Script) *player {
	p := &player{script: script, gates: newGates(), given: map[int]int{}}
	p.arrival = sync.NewCond(&p.mu)
	return p
}

// answer gives the reply to a request.
func (p *player) answer(req modeltestserver.Request) modeltestserver.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived++
	p.arrival.Broadcast()
	for i, rule := range p.script.Rules {
		if !rule.holds(req) {
			continue
		}
		replies := rule.all()
		reply := replies[min(p.given[i], len(replies)-1)]
		p.given[i]++
		return reply.reply(p.gates)
	}
	p.unscripted = append(p.unscripted, fmt.Sprintf("request %d to model %q met no rule: its newest text is %.200q, its last message %s", req.Number, req.Model, req.LastUser(), req.LastRole))
	return modeltestserver.Reply{Status: http.StatusBadRequest, Error: modeltestserver.Error{Message: "the script has no rule for this request"}}
}

// waitFor waits until so many requests have come.
func (p *player) waitFor(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.arrived < n && !p.ended {
		p.arrival.Wait()
	}
}

func (p *player) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.arrival.Broadcast()
}

// command is a line of standard input.
type command struct {
	Open     string `json:"open"`
	Requests bool   `json:"requests"`
	Arrived  int    `json:"arrived"`
}

// errFaults says that the report holds faults.
var errFaults = errors.New("requests were refused or met no rule")

// serve plays the script until in ends. A nil script is read from in's first line.
func serve(script []byte, in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	if script == nil {
		if !lines.Scan() {
			return errors.Join(errors.New("the first line of standard input is to be the script"), lines.Err())
		}
		script = lines.Bytes()
	}
	parsed, err := parseScript(script)
	if err != nil {
		return err
	}
	p := newPlayer(parsed)
	server, err := modeltestserver.New(modeltestserver.Config{Handler: p.answer, Credential: parsed.Credential, Models: parsed.Models})
	if err != nil {
		return err
	}
	told := newTeller(out)
	told.tell(map[string]string{"listening": server.Base(modeltestserver.Messages), "openai": server.URL()})
	var waits sync.WaitGroup
	for err == nil && lines.Scan() {
		err = p.obey(lines.Bytes(), server, told, &waits)
	}
	p.end()
	waits.Wait()
	err = errors.Join(err, lines.Err(), server.Close())
	report := Report{Requests: server.Calls(), Refusals: server.Refusals(), Unscripted: p.unscripted}
	told.tell(map[string]Report{"report": report})
	if len(report.Refusals)+len(report.Unscripted) > 0 {
		err = errors.Join(err, errFaults)
	}
	return errors.Join(err, told.failed)
}

// obey does what a line says. Waiting goes on beside what follows.
func (p *player) obey(line []byte, server *modeltestserver.Server, told *teller, waits *sync.WaitGroup) error {
	var c command
	if err := decode(line, &c); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	switch {
	case c.Open != "":
		p.gates.unlock(c.Open)
		told.tell(map[string]string{"opened": c.Open})
	case c.Requests:
		told.tell(map[string][]seen{"requests": describe(server.Requests())})
	case c.Arrived > 0:
		waits.Go(func() {
			p.waitFor(c.Arrived)
			told.tell(map[string]int{"arrived": c.Arrived})
		})
	default:
		return fmt.Errorf("standard input: %.100q asks for nothing; give open, requests or arrived", line)
	}
	return nil
}

// describe tells requests without their bodies.
func describe(requests []modeltestserver.Request) []seen {
	list := []seen{}
	for _, r := range requests {
		s := seen{Number: r.Number, Protocol: string(r.Protocol), Model: r.Model, Tools: r.Tools, ToolChoice: r.ToolChoice, MaxTokens: r.MaxTokens}
		for _, m := range r.Messages {
			told := message{Role: m.Role, Content: m.Content, Failed: m.Failed}
			for _, part := range m.Parts {
				told.Parts = append(told.Parts, messagePart{MediaType: part.MediaType, Name: part.Name, Size: len(part.Data)})
			}
			for _, call := range m.Calls {
				told.Calls = append(told.Calls, messageCall{Name: call.Name, Arguments: call.Arguments})
			}
			s.Messages = append(s.Messages, told)
		}
		list = append(list, s)
	}
	return list
}

// teller writes a JSON object a line.
type teller struct {
	mu     sync.Mutex
	out    *json.Encoder
	failed error
}

func newTeller(out io.Writer) *teller {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &teller{out: encoder}
}

func (t *teller) tell(value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.out.Encode(value); err != nil && t.failed == nil {
		t.failed = err
	}
}
