package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
)

// modelProcess is a running test/modelserver.
type modelProcess struct {
	address string // without a path
	openAI  string

	mu     sync.Mutex // one command at a time
	in     io.WriteCloser
	out    *bufio.Scanner
	wait   func() error
	stderr *bytes.Buffer
}

// startModel starts the program with a script. Its end is looked at by the test's: a faulty request fails it.
func startModel(t *testing.T, script json.RawMessage) *modelProcess {
	t.Helper()
	if script == nil {
		script = json.RawMessage(`{"rules":[{"reply":{"text":"ok"}}]}`)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, script); err != nil {
		t.Fatal(err)
	}
	m := &modelProcess{stderr: &bytes.Buffer{}}
	cmd := exec.Command(modelServer)
	cmd.Stderr = m.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.in, m.wait, m.out = in, cmd.Wait, bufio.NewScanner(out)
	m.out.Buffer(nil, 64<<20)
	t.Cleanup(func() { m.end(t) })
	var hello struct {
		Listening string `json:"listening"`
		OpenAI    string `json:"openai"`
	}
	if err := m.ask(line.String(), &hello); err != nil {
		t.Fatalf("the model server does not start: %v\n%s", err, m.stderr)
	}
	m.address, m.openAI = hello.Listening, hello.OpenAI
	return m
}

// ask writes a line and reads the one that answers it.
func (m *modelProcess) ask(line string, answer any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := fmt.Fprintln(m.in, line); err != nil {
		return err
	}
	if !m.out.Scan() {
		return fmt.Errorf("no answer to %s: %w", line, m.out.Err())
	}
	return json.Unmarshal(m.out.Bytes(), answer)
}

func (m *modelProcess) open(gate string) error {
	var answer struct{ Opened string }
	return m.ask(brief(map[string]string{"open": gate}), &answer)
}

// requests waits until so many have come, and tells all that were answered.
func (m *modelProcess) requests(arrived int) (any, error) {
	if arrived > 0 {
		var answer struct{ Arrived int }
		if err := m.ask(brief(map[string]int{"arrived": arrived}), &answer); err != nil {
			return nil, err
		}
	}
	var answer json.RawMessage
	if err := m.ask(`{"requests":true}`, &answer); err != nil {
		return nil, err
	}
	var list any
	return list, strictly(answer, &list)
}

func (m *modelProcess) end(t *testing.T) {
	_ = m.in.Close() // its end is looked at
	report := ""
	for m.out.Scan() {
		report = m.out.Text()
	}
	if err := m.wait(); err != nil {
		t.Errorf("the model server: %v\n%s%s", err, report, m.stderr)
	}
}
