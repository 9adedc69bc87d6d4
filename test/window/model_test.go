package window

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// task is what a turn's message asks for. The model reads it from the message, wherever the message stands by then.
type task struct {
	Turn     int
	Code     string // to be said in the end
	Rounds   int    // of calls
	Parallel int    // calls of a round; 0 is one
	Bytes    int    // of each result
	Kind     string // of the result and the answer
	Fact     bool   // a fact stands in the first result of the first round
	Say      int    // bytes of the answer
	Think    int    // bytes of reasoning before each answer
	Cut      bool   // the answer ends at its limit
	Broken   bool   // the first stream of the turn breaks
}

// message is a turn's message: the task in its first line, facts in the next ones, then what makes it long.
func (k task) message(facts []string, filler string) string {
	data, _ := json.Marshal(k) // numbers and texts always encode
	return "TASK " + string(data) + "\n" + strings.Join(append(slices.Clone(facts), filler), "\n")
}

// taskOf finds the task of the newest message: some protocols make one message of a summary and what follows it.
func taskOf(r modeltestserver.Request) (k task, ok bool) {
	for _, line := range strings.Split(r.LastUser(), "\n") {
		if data, found := strings.CutPrefix(line, "TASK "); found {
			ok = json.Unmarshal([]byte(data), &k) == nil
		}
	}
	return k, ok
}

// input are a call's arguments.
type input struct {
	Turn  int    `json:"turn"`
	Round int    `json:"round"`
	Part  int    `json:"part"`
	Bytes int    `json:"bytes"`
	Kind  string `json:"kind"`
	Fact  bool   `json:"fact"`
}

// output is what the tool returns: always the same for the same arguments.
func (in input) output() string {
	head := fmt.Sprintf("ROUND %d %d\n", in.Turn, in.Round)
	if in.Fact {
		head += fact(in.Turn, "result") + "\n"
	}
	rng := rand.New(rand.NewPCG(uint64(in.Turn), uint64(in.Round*100+in.Part)))
	return head + text(rng, in.Kind, max(in.Bytes-len(head), 0))
}

// fact is a line that no summary may lose.
func fact(turn int, where string) string {
	return fmt.Sprintf("FACT of the %s in turn %d", where, turn)
}

// said is an item of the history that must be there.
type said struct{ Type, Text string }

// mind is the model. It knows what a request shows; what it keeps beside that is for the test alone.
type mind struct {
	t       testing.TB
	summary int // bytes of a summary beside its facts

	mu        sync.Mutex
	history   []said
	broken    map[int]bool
	before    func(modeltestserver.Request) // called with each request, unless nil
	asSummary func(*modeltestserver.Reply)  // changes a summary's answer, unless nil
	spent     struct{ turns, summaries, turnTokens, summaryTokens int }
	smallest  int // the least that a turn's answer might ask for
}

func (m *mind) answer(r modeltestserver.Request) modeltestserver.Reply {
	if r.Messages == nil {
		return modeltestserver.Reply{Text: "ok"} // a fast server has not read it
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before != nil {
		m.before(r)
	}
	if isSummary(r) {
		m.spent.summaries++
		m.spent.summaryTokens += r.Tokens
		reply := m.summarise(r)
		if m.asSummary != nil {
			m.asSummary(&reply)
		}
		return reply
	}
	m.spent.turns++
	m.spent.turnTokens += r.Tokens
	if m.smallest == 0 || r.MaxTokens < m.smallest {
		m.smallest = r.MaxTokens
	}
	k, ok := taskOf(r)
	if !ok {
		m.t.Errorf("request %d does not show the message of its turn: %.300q", r.Number, r.LastUser())
		return modeltestserver.Reply{Text: "I do not know what to do."}
	}
	return m.turn(r, k)
}

// lines are those of all that a request shows.
func lines(r modeltestserver.Request) []string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, strings.Split(m.Content, "\n")...)
	}
	return all
}

// rounds is how far a turn has come.
func rounds(all []string, turn int) (done int) {
	for _, line := range all {
		var of, round int
		if n, _ := fmt.Sscanf(line, "ROUND %d %d", &of, &round); n == 2 && of == turn {
			done = max(done, round)
		}
	}
	return done
}

// facts are the lines with facts, each once.
func facts(all []string) (found []string) {
	for _, line := range all {
		if strings.HasPrefix(line, "FACT ") && !slices.Contains(found, line) {
			found = append(found, line)
		}
	}
	return found
}

func (m *mind) turn(r modeltestserver.Request, k task) modeltestserver.Reply {
	all := lines(r)
	done := rounds(all, k.Turn)
	rng := rand.New(rand.NewPCG(uint64(k.Turn), uint64(1_000_000+done)))
	reply := modeltestserver.Reply{Chunk: 500, Reasoning: text(rng, "prose", k.Think)}
	if k.Broken && !m.broken[k.Turn] {
		m.broken[k.Turn], reply.Text, reply.Cut = true, "this is n", true
		return reply
	}
	if done < k.Rounds && !slices.Contains([]string{"none"}, r.ToolChoice) {
		for part := range max(k.Parallel, 1) {
			in := input{Turn: k.Turn, Round: done + 1, Part: part, Bytes: k.Bytes, Kind: k.Kind, Fact: k.Fact && done == 0 && part == 0}
			arguments, _ := json.Marshal(in) // numbers and texts always encode
			reply.Calls = append(reply.Calls, modeltestserver.Call{ID: fmt.Sprintf("c%d", part), Name: "look", Arguments: string(arguments)})
		}
	} else {
		reply.Text = answerOf(k, facts(all)) + "\n" + text(rng, k.Kind, k.Say)
		if k.Cut {
			reply.Finish = "length"
		}
	}
	m.say("reasoning", reply.Reasoning)
	m.say("assistant", reply.Text)
	var results []string
	for _, call := range reply.Calls {
		var in input
		_ = json.Unmarshal([]byte(call.Arguments), &in)
		m.say("tool_call", call.Arguments)
		results = append(results, in.output())
	}
	for _, result := range results {
		m.say("tool_result", result)
	}
	return reply
}

// answerOf is the first part of a turn's answer.
func answerOf(k task, facts []string) string {
	return fmt.Sprintf("Turn %d is done. Its code is %s. I know:\n%s", k.Turn, k.Code, strings.Join(facts, "\n"))
}

func (m *mind) say(kind, text string) {
	if text != "" {
		m.history = append(m.history, said{kind, text})
	}
}

// summarise keeps the facts, and how far the newest turn has come.
func (m *mind) summarise(r modeltestserver.Request) modeltestserver.Reply {
	var doc struct {
		Previous     string `json:"previous_summary"`
		Conversation []struct {
			Role, Text, Arguments, End string
			Result                     string `json:"untrusted_result"`
		}
	}
	if err := json.Unmarshal([]byte(r.LastUser()), &doc); err != nil {
		m.t.Errorf("a summary is asked for of no document: %v", err)
	}
	all := strings.Split(doc.Previous, "\n")
	for _, line := range doc.Conversation {
		for _, s := range []string{line.Text, line.Result, line.End} {
			all = append(all, strings.Split(s, "\n")...)
		}
	}
	kept := facts(all)
	newest := ""
	for _, line := range all {
		if strings.HasPrefix(line, "ROUND ") {
			newest = line
		}
	}
	rng := rand.New(rand.NewPCG(uint64(r.Number), 7))
	return modeltestserver.Reply{Text: "# Goal\nnone\n# Decisions\nnone\n# State\n" + strings.Join(append(kept, newest), "\n") +
		"\n" + text(rng, "prose", m.summary) + "\n# Open work\nnone\n# Files\nnone\n# Pending actions\nnone"}
}
