package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tally is what the model server saw. Results are tool results that are right: each call asks for another
// sum, so a tool that did not run, or an old result, is noticed. History is how many results of tools the newest request held.
type tally struct {
	Requests int `json:"requests"`
	Results  int `json:"results"`
	Wrong    int `json:"wrong"`
	History  int `json:"history"`
}

// check tells whether turns since an earlier tally made both their model calls and ran their tool.
func (t tally) check(before tally, turns int) error {
	requests, results, wrong := t.Requests-before.Requests, t.Results-before.Results, t.Wrong-before.Wrong
	if requests == 2*turns && results == turns && wrong == 0 {
		return nil
	}
	return fmt.Errorf("%d turns should have made %d model calls and run %d tools; they made %d and ran %d, and %d results were not of any call",
		turns, 2*turns, turns, requests, results, wrong)
}

// checkHistory tells whether the newest request, the last of a session's turn, held the whole of the session.
func (t tally) checkHistory(turns int) error {
	if t.History == turns {
		return nil
	}
	return fmt.Errorf("turn %d of a session should have sent %d results of tools; it sent %d", turns, turns, t.History)
}

// modelServer answers a user's message with a call of add and a tool's result with text, at once and without
// reading more than the last message. A model named "paced" answers with text in pieces, each of which says when
// it was sent, in Unix nanoseconds.
type modelServer struct {
	mu   sync.Mutex
	seen tally
	open map[int]bool // sums that were asked for
	next int
}

// serveModel runs until standard input ends, so that it does not outlive its parent.
func serveModel() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() { _ = http.Serve(listener, newModelServer()) }() // ends with the process
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return nil
}

func newModelServer() http.Handler {
	s := &modelServer{open: map[int]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /tally", s.tally)
	return mux
}

func (s *modelServer) tally(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(seen)
}

func (s *modelServer) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	stream := bytes.Contains(body, []byte(`"stream":true`))
	role, sum := lastMessage(body)
	history := bytes.Count(body, []byte(roleKey+`tool"`))
	s.mu.Lock()
	s.seen.Requests++
	s.seen.History = history
	number := s.seen.Requests
	if role == "tool" {
		if s.open[sum] {
			delete(s.open, sum)
			s.seen.Results++
		} else {
			s.seen.Wrong++
		}
	} else {
		s.next++
		sum = s.next + 2
		s.open[sum] = true
	}
	s.mu.Unlock()
	switch {
	case bytes.Contains(body, []byte(`"model":"paced"`)):
		pace(w)
	case role == "tool":
		write(w, stream, number, fmt.Sprintf(`"content":"The sum is %d."`, sum), "stop")
	default:
		call := fmt.Sprintf(`"id":"call_%d","type":"function","function":{"name":"add","arguments":"{\"a\":%d,\"b\":2}"}`, number, sum-2)
		if stream {
			call = `"index":0,` + call
		}
		write(w, stream, number, `"content":null,"tool_calls":[{`+call+`}]`, "tool_calls")
	}
}

const roleKey = `"role":"`

// lastMessage finds the role of the last message, and the number that its content is, without parsing: no
// text that the benchmark sends holds braces or the name of a role.
func lastMessage(body []byte) (role string, number int) {
	i := bytes.LastIndex(body, []byte(roleKey))
	if i < 0 {
		return "", 0
	}
	start := max(bytes.LastIndexByte(body[:i], '{'), 0)
	message, _, _ := bytes.Cut(body[start+1:], []byte("}"))
	name, _, _ := bytes.Cut(body[i+len(roleKey):], []byte(`"`))
	if _, content, ok := bytes.Cut(message, []byte(`"content":"`)); ok {
		text, _, _ := bytes.Cut(content, []byte(`"`))
		number, _ = strconv.Atoi(string(text)) // 0 is no sum
	}
	return string(name), number
}

const usage = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`

func write(w http.ResponseWriter, stream bool, number int, content, finish string) {
	head := fmt.Sprintf(`"id":"c%d","created":1,"model":"bench-model",`, number)
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{%s"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":%q}],%s}`, head, content, finish, usage)
		return
	}
	head += `"object":"chat.completion.chunk",`
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {%s\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",%s},\"finish_reason\":null}]}\n\n"+
		"data: {%s\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: {%s\"choices\":[],%s}\n\ndata: [DONE]\n\n",
		head, content, head, finish, head, usage)
}

// pacedPieces is how many pieces the paced model sends, one each paceOf.
const (
	pacedPieces = 100
	paceOf      = 5 * time.Millisecond
)

func pace(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for range pacedPieces {
		time.Sleep(paceOf)
		if _, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"},\"finish_reason\":null}]}\n\n", time.Now().UnixNano()); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
	}
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],%s}\n\ndata: [DONE]\n\n", usage)
}

// modelProcess is the model server in a process of its own.
type modelProcess struct {
	address string
	stop    func()
}

func startModel() (*modelProcess, error) {
	cmd, in, out, err := startSelf("model")
	if err != nil {
		return nil, err
	}
	line, err := out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the model server did not start: %w", err)
	}
	return &modelProcess{address: strings.TrimSpace(line), stop: func() {
		_ = in.Close()
		_ = cmd.Wait()
	}}, nil
}

// url is what a provider's BaseURL takes.
func (m *modelProcess) url() string { return m.address + "/v1" }

func (m *modelProcess) tally() (seen tally, err error) {
	resp, err := http.Get(m.address + "/tally")
	if err != nil {
		return seen, err
	}
	defer func() { _ = resp.Body.Close() }()
	err = json.NewDecoder(resp.Body).Decode(&seen)
	return seen, err
}
