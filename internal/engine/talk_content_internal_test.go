package engine

import (
	"fmt"
	"slices"

	"github.com/openworkerai/openworker/api"
)

// What a talk has beside texts: files, and a conversation that it begins with.

// content are blocks in any order, files of every kind among them.
func (k *talk) content() []Block {
	var blocks []Block
	for i := range k.number("blocks", 3) + 1 {
		if k.number("a text", 2) == 0 {
			blocks = append(blocks, Block{Text: "w" + k.text("of a block")})
			continue
		}
		f := &File{ID: fmt.Sprintf("a%d-%d", len(k.facts), i), Name: k.one("name", "a", "notes.md", "naïve\u200b\n.txt"), Size: int64(k.number("size", 2000) + 1)}
		f.MediaType = k.one("type", "image/png", "image/webp", "application/pdf", "text/plain", "application/json")
		if k.number("large", 3) == 0 {
			f.Size = api.MaxFileBytes
		}
		blocks = append(blocks, Block{File: f})
	}
	return blocks
}

// imports begins with groups of items, as many as there may be.
func (k *talk) imports() {
	groups := [][]api.HistoryImport{{{Type: api.ImportUser, Text: "i" + k.text("imported")}}}
	for n := range k.number("groups", 6) {
		if k.number("a message", 2) == 0 {
			groups = append(groups, []api.HistoryImport{{Type: api.ImportUser, Text: "i" + k.text("imported")}})
			continue
		}
		var answer, results []api.HistoryImport
		for c := range k.number("items", 3) + 1 {
			if k.number("a text", 2) == 0 {
				answer = append(answer, api.HistoryImport{Type: api.ImportAssistant, Text: "i" + k.text("imported")})
				continue
			}
			id := fmt.Sprintf("call %d/%d", n, c)
			answer = append(answer, api.HistoryImport{Type: api.ImportToolCall, CallID: id, Name: "do", Arguments: []byte(`{}`)})
			results = append(results, api.HistoryImport{Type: api.ImportToolResult, CallID: id, Output: k.text("imported")})
		}
		groups = append(groups, append(answer, results...))
	}
	for _, e := range Imported("s", groups) {
		k.put(e)
	}
}

// filesOf are the kinds of files that entries show.
func filesOf(entries []Entry) (files []HeldFile) {
	for _, e := range entries {
		files = append(files, heldFiles(e.Number, e.Content)...)
	}
	return files
}

// contentOf are the numbers of the entries that have content.
func contentOf(entries []Entry) (numbers []uint64) {
	for _, e := range entries {
		if e.Content != nil {
			numbers = append(numbers, e.Number)
		}
	}
	return numbers
}

// anyFiles has an arbitrary plan keep the files of some messages of those that it keeps.
func (k *talk) anyFiles(p *Plan, kept []Entry) {
	for _, number := range contentOf(kept) {
		if k.number("keep its files", 1) == 0 {
			p.Files = append(p.Files, number)
		}
	}
	p.Bare = len(p.Files) == 0 && k.number("bare", 1) == 0
}

// inEffect checks what a plan has left of the files of a context.
func (k *talk) inEffect(p Plan, w Window, before []Entry) {
	var want []uint64
	for _, number := range contentOf(before) {
		if kept := number == k.began || slices.Contains(p.Files, number); kept {
			want = append(want, number)
		}
	}
	got := contentOf(k.live.Context(0))
	if diff := differ(want, got); diff != "" {
		k.Fatalf("%+v keeps the files of (-want +got):\n%s\nin\n%s", p, diff, outline(k.live.Context(0)))
	}
	for _, number := range p.Files {
		if number == k.began || !slices.Contains(got, number) {
			k.Fatalf("%+v keeps files of message %d, which is the current one or is not there", p, number)
		}
	}
	if w.Bare && slices.ContainsFunc(got, func(n uint64) bool { return n != k.began }) {
		k.Fatalf("%+v is to leave no older files, and leaves those of %v", p, got)
	}
}
