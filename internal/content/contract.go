package content

import (
	"io"

	"github.com/openworkerai/openworker/api"
)

// Block is a block of a message that was found to be right: a text, or a file that is here or stored.
type Block struct {
	Text string
	// Name of a file; Image says that it stands in an image block.
	Name  string
	Image bool
	// MediaType is what it is said to be, "" where nothing is said.
	MediaType string
	// ID of a stored file, with Size and SHA256 if they were given. Otherwise Data are its bytes, decoded.
	ID     string
	Size   int64
	SHA256 string
	Data   []byte
}

// IsFile reports whether the block is a file.
func (b Block) IsFile() bool { return b.Name != "" }

// Found is what a file is by its bytes.
type Found struct {
	MediaType     string
	Width, Height int // of an image, in pixels
}

// Blocks checks the blocks of a message (AT1, AT3), each file that is here with Inspect too.
//
// Errors: invalid_request, attachment_too_large, unsupported_media; they name the block by its number from 1.
func Blocks(given []api.ContentBlock) ([]Block, error) { panic("to be written") }

// Inspect finds out what a file is by its bytes (AT2, AT4). name helps to tell kinds of text apart; announced is what it
// is said to be, "" for nothing. It reads r once, in order, and keeps none of it.
//
// Errors: unsupported_media for what is not taken, is damaged, moves, or is not what was announced; errors of r as they are.
func Inspect(name, announced string, size int64, r io.Reader) (Found, error) { panic("to be written") }

// SameKind reports whether what was announced fits what was found, or what was announced before: text is text, whatever
// its kind, and "" fits all.
func SameKind(announced, found string) bool { panic("to be written") }

// IsText reports whether files of a media type are text.
func IsText(mediaType string) bool { panic("to be written") }

// CheckName checks a file's name. Errors are invalid_request.
func CheckName(name string) error { panic("to be written") }

// Import checks a conversation that is to be imported and groups it (IM2, IM3): each group is one user's item, or an answer:
// the assistant's texts, its calls and behind them their results in the order of the calls, whatever the order of the
// results was. guarded bounds each text, argument and output at [api.MaxGuardedBytes] (IM4). Arguments come compact.
//
// Errors are invalid_history, with the details item (from 0), rule and, where there is one, value.
func Import(items []api.HistoryImport, guarded bool) ([][]api.HistoryImport, error) {
	panic("to be written")
}

// DecodeImport reads a conversation from JSON: an array of items. Errors as in Import.
func DecodeImport(data []byte) ([]api.HistoryImport, error) { panic("to be written") }

// EncodeImport is a conversation in JSON, an item a line.
func EncodeImport(items []api.HistoryImport) []byte { panic("to be written") }

// Portable is a history in the form of an import (SE6): each file is one line of text, reasoning and the host's notices are left out.
// A call without a result is an error, and so is each bound that is broken: invalid_history, as in Import.
func Portable(items []api.HistoryItem) ([]api.HistoryImport, error) { panic("to be written") }

// Bound is a row of the table of bounds.
type Bound struct {
	What        string
	Value       int64
	Unit        string // "bytes", "files", "blocks", "items" …
	Code        api.Code
	Requirement string
}

// Bounds are the limits of content.
func Bounds() []Bound { panic("to be written") }
