package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
)

func eventsOf(t *testing.T, lines string) []openworker.Event {
	t.Helper()
	var events []openworker.Event
	for line := range strings.Lines(lines) {
		var e openworker.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func TestEvents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("count to 2\ncount to 3", "chat").session(t)
	all := eventsOf(t, p.ok("", "events", session, "--json").out)
	if len(all) != 9 {
		t.Fatalf("two turns without tools have %d events", len(all))
	}
	for i, e := range all {
		if e.Number != uint64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Number)
		}
		rest := eventsOf(t, p.ok("", "events", session, "--json", "--after", strconv.Itoa(i+1)).out)
		if diff := cmp.Diff(len(all)-i-1, len(rest)); diff != "" {
			t.Errorf("after %d: %s", i+1, diff)
		}
	}
	text := p.ok("", "events", session, "--after", "4").out
	if strings.Count(text, "\n") != 5 || !strings.HasPrefix(text, "    5  ") || !strings.Contains(text, "turn_accepted          “count to 3”") {
		t.Errorf("as text: %s", text)
	}
}

// RU3: what one process does is seen in another as it happens, and a follower that comes back misses and
// repeats nothing.
func TestFollowing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "count to 2").session(t)
	var seen []uint64
	for round := range 2 {
		lines, stop := p.follow(session, len(seen))
		ran := make(chan int, 1)
		go func() {
			m := p.main(strings.NewReader(""), io.Discard, io.Discard)
			ran <- m.Run(context.Background(), []string{"run", "--session", session, "use current_time"})
		}()
		ends := 0
		for wantEnds := 2 - round; ends < wantEnds; {
			var e openworker.Event
			if err := lines.Decode(&e); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, e.Number)
			if e.Type == openworker.EventTurnEnded {
				ends++
			}
		}
		stop()
		if code := <-ran; code != exitOK {
			t.Errorf("the run that was followed ended with exit code %d", code)
		}
	}
	for i, number := range seen {
		if number != uint64(i+1) {
			t.Fatalf("the numbers are %v", seen)
		}
	}
}

// follow starts events --follow and returns its lines. stop leaves it as Ctrl-C does.
func (p *place) follow(session string, after int) (lines *json.Decoder, stop func()) {
	p.t.Helper()
	out, in := io.Pipe()
	interrupts := make(chan os.Signal, 1)
	m := p.main(strings.NewReader(""), in, io.Discard)
	m.Interrupts = interrupts
	exit := make(chan int, 1)
	go func() {
		exit <- m.Run(context.Background(), []string{"events", session, "--follow", "--json", "--after", strconv.Itoa(after)})
	}()
	return json.NewDecoder(out), func() {
		interrupts <- os.Interrupt
		_ = out.Close() // it may be writing what nobody wants any more
		if code := <-exit; code != exitOK {
			p.t.Errorf("following ended with exit code %d", code)
		}
	}
}
