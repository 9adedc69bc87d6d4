package attached

import (
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// Piece is a part of a message as it is shown: a text as it was written, or a line about a file.
type Piece struct {
	Text string
	File bool
}

// Pieces are the parts of an accepted message, in their order.
func Pieces(text string, content []api.AcceptedBlock) []Piece {
	if len(content) == 0 {
		return []Piece{{Text: text}}
	}
	var pieces []Piece
	for _, b := range content {
		if b.Type == api.BlockText {
			pieces = append(pieces, Piece{Text: b.Text})
		} else {
			pieces = append(pieces, Piece{"+ " + stored(b), true})
		}
	}
	return pieces
}

// Files is what stands behind a message's text on one line, " + report.pdf (…)" for each file; "" for none.
func Files(content []api.AcceptedBlock) string {
	var b strings.Builder
	for _, block := range content {
		if block.Type != api.BlockText {
			b.WriteString(" + " + stored(block))
		}
	}
	return b.String()
}

// Reference is a stored file of a message, without its bytes.
type Reference struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`   // in bytes
	SHA256    string `json:"sha256"` // of the bytes, in hex
}

// References are the files of an accepted message, in their order; nil for none.
func References(content []api.AcceptedBlock) (refs []Reference) {
	for _, b := range content {
		if b.Type != api.BlockText {
			refs = append(refs, Reference{b.ID, b.Name, b.MediaType, b.Size, b.SHA256})
		}
	}
	return refs
}

// Brief is a message on one line: how its text begins, and its files.
func Brief(text string, content []api.AcceptedBlock) string {
	return strings.TrimPrefix(plain.Brief(text)+Files(content), " + ")
}

func stored(b api.AcceptedBlock) string { return describe(b.Name, b.MediaType, b.Size, 0, 0) }

// FromHistory is the content of a message in a history as that of the event which accepted it.
func FromHistory(content []api.ContentBlock) []api.AcceptedBlock {
	var blocks []api.AcceptedBlock
	for _, b := range content {
		block := api.AcceptedBlock{Type: b.Type, Text: b.Text, Name: b.Name}
		if b.Source != nil {
			block.ID, block.MediaType, block.Size, block.SHA256 = b.Source.ID, b.Source.MediaType, b.Source.Size, b.Source.SHA256
		}
		blocks = append(blocks, block)
	}
	return blocks
}
