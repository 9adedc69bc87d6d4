package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counted is a peer that does nothing but count.
type counted struct {
	mu              sync.Mutex
	sessions, turns int
	long, closed    int
	failAt          int // turn that fails; 0 is none
	longest         int // most turns of a session
}

func (c *counted) NewSession() (Turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions++
	n := 0
	return func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		n++
		c.longest = max(c.longest, n)
		c.turns++
		if c.turns == c.failAt {
			return errors.New("the disk is full")
		}
		return nil
	}, nil
}

func (c *counted) Long() (Turn, error) {
	c.long++
	return c.NewSession()
}

func (c *counted) Close() error {
	c.closed++
	return nil
}

func serve(t *testing.T, p Peer, input string) ([]Answer, error) {
	t.Helper()
	var out bytes.Buffer
	err := Serve(strings.NewReader(input), &out, p)
	var answers []Answer
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var a Answer
		if err := decoder.Decode(&a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers, err
}

func TestEveryCommandHasOneAnswerAndTheEndOfTheInputCloses(t *testing.T) {
	t.Parallel()
	p := &counted{}
	answers, err := serve(t, p, "load 3 0.01 2\nturns 4\nturns 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != 4 || !answers[0].Ready {
		t.Fatalf("answers %+v", answers)
	}
	if got := answers[1].Turns + answers[2].Turns + answers[3].Turns; got != p.turns || answers[2].Turns != 4 || answers[3].Turns != 1 {
		t.Errorf("told %d turns, ran %d: %+v", got, p.turns, answers)
	}
	if p.closed != 1 || p.long != 2 {
		t.Errorf("closed %d times, long session asked for %d times", p.closed, p.long)
	}
}

func TestASessionIsReplacedAfterItsTurns(t *testing.T) {
	t.Parallel()
	p := &counted{}
	if _, err := serve(t, p, "load 2 0.02 5\n"); err != nil {
		t.Fatal(err)
	}
	if p.longest != 5 || p.sessions < p.turns/5 {
		t.Errorf("%d turns in %d sessions, the longest of %d", p.turns, p.sessions, p.longest)
	}
}

func TestWhatFailsIsToldAndEndsTheProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input  string
		failAt int
		want   string
	}{
		"a turn under load":    {input: "load 2 5 20\nturns 1\n", failAt: 7, want: "the disk is full"},
		"a turn of a session":  {input: "turns 3\nturns 1\n", failAt: 2, want: "the disk is full"},
		"a command not known":  {input: "dance 3\n", want: `unknown command "dance 3"`},
		"a command without it": {input: "load\n", want: `unknown command "load"`},
		"no turn at all":       {input: "turns 0\n", want: "no turn came to an end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &counted{failAt: c.failAt}
			answers, err := serve(t, p, c.input)
			if err == nil || len(answers) != 2 || !strings.Contains(answers[1].Error, c.want) {
				t.Errorf("error %v, answers %+v", err, answers)
			}
			if p.closed != 1 {
				t.Errorf("closed %d times", p.closed)
			}
		})
	}
}

func TestOptionsAreFlags(t *testing.T) {
	t.Parallel()
	got, err := Parse([]string{"--url", "http://x/v1", "--state", "/s", "--mode", "full", "--database", "postgres://"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Options{URL: "http://x/v1", State: "/s", Mode: "full", Database: "postgres://"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Parse([]string{"--speed", "3"}); err == nil {
		t.Error("a flag that is not known is taken")
	}
}

// The peers' modules must not require ours, so they have this package again.
func TestTheCopyForThePeersIsTheSame(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"doc.go", "protocol.go"} {
		own, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := os.ReadFile(filepath.Join("..", "peers", "protocol", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(own, copied) {
			t.Errorf("bench/peers/protocol/%s differs from bench/protocol/%s: copy it", name, name)
		}
	}
}
