package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
)

// CL2: a build that knows no content would take such a message for one without.
func TestOnlyAMessageWithContentIsOfVersionTwo(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		e := filled(t, kind)
		s, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 2, false: 1}[kind == "turn_accepted"]; s.Version != want {
			t.Errorf("%s is stored as version %d, want %d", kind, s.Version, want)
		}
		for version, known := range map[int]bool{0: false, 1: true, 2: kind == "turn_accepted", 3: false} {
			_, err := Decode(kind, version, s.Data)
			unknown := (*UnknownEventError)(nil)
			if known != (err == nil) || !known && (!errors.As(err, &unknown) || unknown.Kind != kind || unknown.Version != version) {
				t.Errorf("version %d of %s is read with %v", version, kind, err)
			}
		}
	}
	plain, err := Encode(TurnAccepted{Run: "r", Text: "hi"})
	if err != nil || plain.Version != 1 || strings.Contains(string(plain.Data), "content") {
		t.Errorf("a message without content is stored as version %d %s, %v", plain.Version, plain.Data, err)
	}
}

func TestWhatAFileCountsInAContext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file File
		want int
	}{
		"a text counts its size and its name":      {File{Name: "notes", MediaType: "text/plain", Size: 400}, 100 + 5 + 400},
		"an image counts the same however large":   {File{Name: "photo", MediaType: "image/png", Size: 8 << 20}, 100 + 3200},
		"a short PDF counts a page or two":         {File{Name: "paper", MediaType: "application/pdf", Size: 900}, 100 + 4000},
		"a PDF counts a part of its size":          {File{Name: "paper", MediaType: "application/pdf", Size: 1_000_000}, 100 + 20_000},
		"and not more than some dozen pages of it": {File{Name: "paper", MediaType: "application/pdf", Size: 8 << 20}, 100 + 40_000},
	} {
		if got := test.file.contextBytes(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestEstimatesOfAllTheFilesThatThereMayBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Context
		var entries []Entry
		for range rapid.IntRange(1, 64).Draw(t, "messages") {
			e := Entry{Kind: EntryUser, Run: "r", Number: uint64(len(entries)) + 1}
			f := &File{Name: strings.Repeat("n", api.MaxFileNameBytes), Size: rapid.Int64Range(0, api.MaxFileBytes).Draw(t, "size"),
				MediaType: rapid.SampledFrom([]string{"image/png", "application/pdf", "text/plain"}).Draw(t, "type")}
			for range api.MaxBlocks {
				e.Content = append(e.Content, Block{File: f})
			}
			entries = append(entries, e)
			before := c.Bytes
			c.add(EntryBytes(e))
			if c.Bytes <= before || EntryBytes(e) != contextBytes(TurnAccepted{Content: e.Content}) {
				t.Fatalf("a message of %d bytes takes the context from %d to %d", EntryBytes(e), before, c.Bytes)
			}
		}
		c.started(c.Bytes)
		if n, least := c.Tokens(c.Bytes), c.Least(c.Bytes); n <= 0 || least < 0 || least > n {
			t.Fatalf("%d bytes are %d to %d tokens", c.Bytes, least, n)
		}
		l := layoutOf(entries, Window{Run: "r", Room: 10_000, Source: 10_000, Summary: 100})
		if l.size(0, 0) != c.Bytes || l.size(0, minItemBytes) <= 0 {
			t.Fatalf("a plan counts %d and shortened %d bytes of %d", l.size(0, 0), l.size(0, minItemBytes), c.Bytes)
		}
		(&Transcript{context: entries}).Plan(Window{Run: "other", Room: 10_000, Source: 10_000, Summary: 100})
	})
}

func TestWhatAMessageWithContentSays(t *testing.T) {
	t.Parallel()
	e := Entry{Kind: EntryUser, Content: []Block{{Text: "look"}, {File: &File{ID: "a1", Name: "a \"cat\".png", MediaType: "image/png", Size: 7, SHA256: "h"}}, {Text: "and tell"}}}
	if got := e.Said(); got != "look\n\nand tell" {
		t.Errorf("it says %q", got)
	}
	if got := e.Described(); got != "look\n\n[attached file \"a \\\"cat\\\".png\": image/png, 7 bytes; not shown here]\n\nand tell" {
		t.Errorf("it is described as %q", got)
	}
	h := e.History()
	want := []api.ContentBlock{api.TextBlock("look"), {Type: api.BlockImage, Name: "a \"cat\".png",
		Source: &api.Source{Type: api.SourceAttachment, ID: "a1", MediaType: "image/png", Size: 7, SHA256: "h"}}, api.TextBlock("and tell")}
	if diff := cmp.Diff(want, h.Content); diff != "" || h.Text != e.Said() {
		t.Errorf("the history says %q with (-want +got):\n%s", h.Text, diff)
	}
	public, err := Public(Fact{Event: TurnAccepted{Content: e.Content}})
	if err != nil || !strings.Contains(string(public.Data), `"id":"a1"`) || !strings.Contains(string(public.Data), `"text":"look\n\nand tell"`) {
		t.Errorf("it is told as %s, %v", public.Data, err)
	}
	if got := largestFile([]Block{{Text: "a"}}); got != "" {
		t.Errorf("of a text, %q is the largest file", got)
	}
}
