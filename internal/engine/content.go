package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Block is a block of a message with content: a text, or a file.
type Block struct {
	Text string `json:"text,omitempty"`
	File *File  `json:"file,omitempty"`
}

// File refers to a stored file; its bytes are no part of the journal (AT6).
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name"` // in this message
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
}

// IsImage reports whether it is an image.
func (f *File) IsImage() bool { return api.Block(f.MediaType) == api.BlockImage }

// IsBinary reports whether it is no text.
func (f *File) IsBinary() bool { return f.IsImage() || f.MediaType == typePDF }

const typePDF = "application/pdf"

// What a file counts in a context, in bytes. Of a text that is its size; what an image or a PDF costs, its provider alone
// knows, so this is an estimate which reports and overflows correct.
const (
	imageBytes   = 3_200
	minPDFBytes  = 4_000
	maxPDFBytes  = 40_000
	pdfShare     = 50
	fileOverhead = 100
)

func (f *File) contextBytes() int {
	switch {
	case f.IsImage():
		return fileOverhead + imageBytes
	case f.MediaType == typePDF:
		return fileOverhead + min(max(int(f.Size/pdfShare), minPDFBytes), maxPDFBytes)
	}
	return fileOverhead + len(f.Name) + int(f.Size)
}

// line stands for a file that is not shown.
func (f *File) line() string {
	return fmt.Sprintf("[attached file %q: %s, %d bytes; not shown here]", f.Name, f.MediaType, f.Size)
}

func contentBytes(blocks []Block) (n int) {
	for _, b := range blocks {
		n += len(b.Text)
		if b.File != nil {
			n += b.File.contextBytes()
		}
	}
	return n
}

// largestFile names the file that takes most, for an error.
func largestFile(blocks []Block) string {
	var largest *File
	for _, b := range blocks {
		if b.File != nil && (largest == nil || b.File.contextBytes() > largest.contextBytes()) {
			largest = b.File
		}
	}
	if largest == nil {
		return ""
	}
	return fmt.Sprintf(", of which the file %q is the largest part,", largest.Name)
}

// said are the text blocks, joined; described has a line for each file too.
func said(blocks []Block) string { return join(blocks, func(*File) string { return "" }) }

func described(blocks []Block) string { return join(blocks, (*File).line) }

func join(blocks []Block, file func(*File) string) string {
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		text := b.Text
		if b.File != nil {
			text = file(b.File)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// acceptedBlocks and contentBlocks are the public forms, of an event and of history.
func acceptedBlocks(blocks []Block) []api.AcceptedBlock {
	var out []api.AcceptedBlock
	for _, b := range blocks {
		if f := b.File; f != nil {
			out = append(out, api.AcceptedBlock{Type: api.Block(f.MediaType), Name: f.Name, ID: f.ID, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256})
			continue
		}
		out = append(out, api.AcceptedBlock{Type: api.BlockText, Text: b.Text})
	}
	return out
}

func contentBlocks(blocks []Block) []api.ContentBlock {
	var out []api.ContentBlock
	for _, b := range blocks {
		if f := b.File; f != nil {
			out = append(out, api.ContentBlock{Type: api.Block(f.MediaType), Name: f.Name,
				Source: &api.Source{Type: api.SourceAttachment, ID: f.ID, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256}})
			continue
		}
		out = append(out, api.TextBlock(b.Text))
	}
	return out
}

// HeldFile says that a message has files of a kind; one of them is named.
type HeldFile struct {
	Number    uint64 `json:"number"` // of the message's event
	MediaType string `json:"media_type"`
	Name      string `json:"name"`
	Size      int64  `json:"size"` // of all of them, in bytes
}

func (h HeldFile) binary() bool { return (&File{MediaType: h.MediaType}).IsBinary() }

// heldFiles lists a message's kinds of files, each once.
func heldFiles(number uint64, blocks []Block) (held []HeldFile) {
	for _, b := range blocks {
		f := b.File
		if f == nil {
			continue
		}
		at := slices.IndexFunc(held, func(h HeldFile) bool { return h.MediaType == f.MediaType })
		if at < 0 {
			at, held = len(held), append(held, HeldFile{Number: number, MediaType: f.MediaType, Name: f.Name})
		}
		held[at].Size += f.Size
	}
	return held
}

// olderFiles reports whether messages before the current one have files in the model's context.
func (s *State) olderFiles() bool {
	return slices.ContainsFunc(s.Context.Files, func(h HeldFile) bool { return h.Number != s.Turn.Accepted })
}

// heavier reports whether what is older than the current message may be what makes a request too large in bytes: files, or
// more of other things than the message has of files.
func (s *State) heavier() bool {
	var own int64
	for _, h := range s.Context.Files {
		if h.Number == s.Turn.Accepted {
			own += h.Size
		}
	}
	return s.olderFiles() || int64(s.Context.Bytes-s.Turn.Bytes) > own
}

// unshortened names the files of the current message, where a request was too much (CO3).
func (s *State) unshortened() string {
	for _, h := range s.Context.Files {
		if h.Number == s.Turn.Accepted {
			return fmt.Sprintf(" (the message of run %s has the file %q, and a current message is never shortened: send less of it, or choose another model)", s.Turn.Run, h.Name)
		}
	}
	return ""
}

// fits refuses a message in whose context there will be files that its guardrails cannot look into, or that its model is
// known not to take (AT7, AT8).
func (d *decision) fits(c Message) error {
	held := d.s.Context.Files
	for _, q := range d.s.Queue {
		if c.WhenBusy != api.BusyInterrupt {
			held = slices.Concat(held, q.Files)
			continue
		}
		for _, h := range heldFiles(0, c.Content) { // it goes ahead of turns that were accepted without its files
			switch {
			case q.Inspects != "" && h.binary():
				return api.Errorf(api.CodeUninspectableContent, "guardrail %s of run %s, which is queued, cannot look into the file %q (%s), which would come before it; queue the message too, or leave the file out",
					q.Inspects, q.Run, h.Name, h.MediaType).With("guardrail", q.Inspects).With("file", h.Name).With("run", q.Run)
			case slices.Contains(q.Refuses, h.MediaType):
				return api.Errorf(api.CodeUnsupportedMedia, "the model of run %s, which is queued, takes no %s, and the file %q would come before it; queue the message too, or leave the file out",
					q.Run, h.MediaType, h.Name).With("file", h.Name).With("run", q.Run)
			}
		}
	}
	for _, h := range held {
		switch {
		case c.Inspects != "" && h.binary():
			return api.Errorf(api.CodeUninspectableContent,
				"guardrail %s looks at what a model is sent and cannot look into the file %q (%s) of an earlier message, which is still in the context; leave the guardrail out, compact the session first, or begin a new one",
				c.Inspects, h.Name, h.MediaType).With("guardrail", c.Inspects).With("file", h.Name)
		case slices.Contains(c.Refuses, h.MediaType):
			return api.Errorf(api.CodeUnsupportedMedia,
				"the model takes no %s, and the file %q of an earlier message is still in the context; choose another model, compact the session first, or begin a new one", h.MediaType, h.Name).
				With("file", h.Name)
		}
	}
	return nil
}

// HistoryImported is a part of the conversation that a session begins with: a user's message, or an answer whose calls
// are followed by their results in call order (IM1).
type HistoryImported struct {
	Items []ImportedItem `json:"items"`
}

// ImportedItem is one item of it. CallID is ours; Given is what the call was given with.
type ImportedItem struct {
	Type      string `json:"type"` // as in api.HistoryImport
	Text      string `json:"text,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Given     string `json:"given,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
}

// Imported puts groups of imported items into events of a session. Call IDs become ours: those of a provider's may
// recur, or be of a form that another refuses (RU9).
func Imported(session string, groups [][]api.HistoryImport) []HistoryImported {
	ids := map[string]string{}
	events := make([]HistoryImported, len(groups))
	for i, group := range groups {
		for _, it := range group {
			item := ImportedItem{Type: it.Type, Text: it.Text, Given: it.CallID, Name: it.Name, Arguments: string(it.Arguments), Output: it.Output}
			if it.CallID != "" {
				if ids[it.CallID] == "" {
					ids[it.CallID] = fmt.Sprintf("%s-h%d", session, len(ids)+1)
				}
				item.CallID = ids[it.CallID]
			}
			events[i].Items = append(events[i].Items, item)
		}
	}
	return events
}

// entries are the items as entries of the conversation.
func (e HistoryImported) entries(f Fact) []Entry {
	names := map[string]string{}
	entries := make([]Entry, 0, len(e.Items))
	for _, it := range e.Items {
		entry := Entry{Number: f.Number, Time: f.Time, Text: it.Text, CallID: it.CallID, Given: it.Given, Name: it.Name, Arguments: it.Arguments}
		switch it.Type {
		case api.ImportUser:
			entry.Kind = EntryUser
		case api.ImportAssistant:
			entry.Kind = EntryText
		case api.ImportToolCall:
			entry.Kind, names[it.CallID] = EntryCall, it.Name
		case api.ImportToolResult:
			entry.Kind, entry.Name, entry.Text = EntryResult, names[it.CallID], it.Output
		default:
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

func (e HistoryImported) public() api.HistoryImported {
	out := api.HistoryImported{Items: make([]api.ImportedItem, 0, len(e.Items))}
	for _, it := range e.Items {
		out.Items = append(out.Items, api.ImportedItem{Type: it.Type, Text: it.Text, CallID: it.Given, Name: it.Name, Arguments: it.Arguments, Output: it.Output})
	}
	return out
}

func (HistoryImported) Kind() Kind  { return "history_imported" }
func (HistoryImported) run() string { return "" }
