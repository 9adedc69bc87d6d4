package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
)

// answer streams words as a Chat Completions server does, with the last chunk and the end mark.
func answer(w http.ResponseWriter, words ...string) {
	speak(w, words...)
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\ndata: [DONE]\n\n")
}

func speak(w http.ResponseWriter, words ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range words {
		text, _ := json.Marshal(word)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
		w.(http.Flusher).Flush()
	}
}

// serve is a model server on loopback that lists the models and answers with chat.
func serve(t *testing.T, models string, chat http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if models == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, models)
	})
	mux.HandleFunc("POST /v1/chat/completions", chat)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

func TestTheChoiceOfAModel(t *testing.T) {
	t.Parallel()
	list := `{"data":[{"id":"tiny"},{"id":"large"}]}`
	listing := serve(t, list, http.NotFound)
	silent := serve(t, "", http.NotFound)
	tests := []struct {
		name  string
		env   map[string]string
		flag  string
		model string
		says  string
	}{
		{"nothing set", nil, "", "Scripted/demo", "the offline model answers, since no provider has a key and no local server was found"},
		{"empty is not set", map[string]string{"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}, "", "Scripted/demo", "offline model"},
		{"a server that lists its models", map[string]string{"OPENAI_BASE_URL": listing}, "", "OpenAI/tiny", "since OPENAI_BASE_URL is set, and it lists this model first"},
		{"a server that lists none", map[string]string{"OPENAI_BASE_URL": silent}, "", "OpenAI/gpt-5-mini", "its list of models cannot be read (HTTP 404): guessing gpt-5-mini; name one with --model"},
		{"a name in the environment", map[string]string{"OPENAI_BASE_URL": listing, "OPENWORKER_MODEL": "large"}, "", "OpenAI/large", "since OPENAI_BASE_URL is set"},
		{"a name given goes before", map[string]string{"OPENAI_BASE_URL": listing, "OPENWORKER_MODEL": "large"}, "mine", "OpenAI/mine", "mine at"},
		{"a key alone is for OpenAI", map[string]string{"OPENAI_API_KEY": "sk-1"}, "", "OpenAI/gpt-5-mini", "at https://api.openai.com/v1 answers, since OPENAI_API_KEY is set"},
		{"a name for the offline model", map[string]string{"OPENWORKER_MODEL": "Scripted/mine"}, "", "Scripted/mine", "the offline model answers, since OPENWORKER_MODEL names it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &Main{Lookup: func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }}
			got, err := m.choose(t.Context(), tt.flag)
			if err != nil {
				t.Fatal(err)
			}
			if got.model.String() != tt.model || !strings.Contains(lineOf(got), tt.says) || strings.Contains(lineOf(got), "sk-1") {
				t.Errorf("%s: %s", got.model, lineOf(got))
			}
		})
	}
}

func TestAServersAnswerAndItsUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"] = "sk-1"
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"tiny"}]}`, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, "It is ", "noon.")
	})
	got := p.ok("", "run", "what time is it", "--json")
	var result openworker.Result
	if err := json.Unmarshal([]byte(got.out), &result); err != nil {
		t.Fatal(err)
	}
	if result.Text != "It is noon." || result.Usage.InputTokens != 7 || result.Usage.OutputTokens != 3 {
		t.Errorf("%+v", result)
	}
}

func TestAFailedTurnIsAFailedProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var calls atomic.Int32
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"tiny"}]}`, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"I take no questions"}}`)
	})
	got := p.run("first\nsecond\n", "chat")
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "error: provider_error: ") || !strings.Contains(got.err, "I take no questions") {
		t.Errorf("%+v", got)
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls: the message after the failed one was sent", calls.Load())
	}
}

// RE1, RE7: killed in the middle of an answer, found again, and finished by asking once more.
func TestAKilledChatIsGoneOnWith(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var calls atomic.Int32
	streaming := make(chan struct{})
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"tiny"}]}`, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			answer(w, "The whole ", "answer.")
			return
		}
		speak(w, "The whole ")
		close(streaming)
		<-r.Context().Done()
	})
	cmd, err := p.command("chat")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader("tell me\n")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	made := make(chan string, 1)
	go func() {
		for said := bufio.NewScanner(errs); said.Scan(); {
			if id, ok := strings.CutPrefix(said.Text(), "openworker: session "); ok {
				made <- id
			}
		}
	}()
	select {
	case <-streaming:
	case <-time.After(patience):
		t.Error("no model call came")
	}
	// The call may stream before the message is acknowledged: until then nothing was promised.
	session := <-made
	lines, stop := p.follow(session, 0)
	for accepted := false; !accepted; {
		var e openworker.Event
		if err := lines.Decode(&e); err != nil {
			t.Fatal(err)
		}
		accepted = e.Type == openworker.EventTurnAccepted
	}
	stop()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed process ended well")
	}
	got := p.ok("", "chat", "--session", session)
	if got.out != "The whole answer.\n" {
		t.Errorf("the answer is %q", got.out)
	}
	if events := p.ok("", "events", session).out; strings.Count(events, "turn_ended") != 1 || !strings.Contains(events, "session_taken_over") {
		t.Errorf("the journal is\n%s", events)
	}
	if calls.Load() != 2 {
		t.Errorf("%d model calls", calls.Load())
	}
}
