package content

import (
	"time"

	"github.com/openworkerai/openworker/api"
)

// Bound is a row of the table of bounds. Value is the most that is taken; one more is refused with Code.
type Bound struct {
	What        string
	Value       int64
	Unit        string // "bytes", "files", "blocks", "items" …
	Code        api.Code
	Requirement string
}

// Bounds are the limits of content, of a message first, then of a session, then of an imported conversation.
func Bounds() []Bound {
	return []Bound{
		{"a file", api.MaxFileBytes, "bytes", api.CodeAttachmentTooLarge, "AT3"},
		{"the files of a message together", api.MaxMessageFileBytes, "bytes", api.CodeAttachmentTooLarge, "AT3"},
		{"the blocks of a message", api.MaxBlocks, "blocks", api.CodeInvalidRequest, "AT3"},
		{"the text blocks of a message together", api.MaxBlockTextBytes, "bytes", api.CodeInvalidRequest, "AT3"},
		{"a message that is one text", api.MaxMessageBytes, "bytes", api.CodeInvalidRequest, "AT3"},
		{"a file's name", api.MaxFileNameBytes, "bytes", api.CodeInvalidRequest, "AT1"},
		{"a stored file's ID", maxIDBytes, "bytes", api.CodeInvalidRequest, "AT1"},
		{"a file's media type", maxTypeBytes, "bytes", api.CodeUnsupportedMedia, "AT1"},
		{"a text file under a guardrail", api.MaxGuardedBytes, "bytes", api.CodeGuardrailFailed, "GR2"},
		{"the files of a session", api.MaxSessionFiles, "files", api.CodeAttachmentQuota, "AT3"},
		{"the files of a session together", api.MaxSessionFileBytes, "bytes", api.CodeAttachmentQuota, "AT3"},
		{"a chunk of an upload", api.UploadChunkBytes, "bytes", api.CodeInvalidRequest, "AT5"},
		{"an upload that no message refers to", int64(api.UploadTime / time.Hour), "hours", api.CodeAttachmentNotFound, "AT5"},
		{"an imported conversation", api.MaxImportItems, "items", api.CodeInvalidHistory, "IM3"},
		{"an imported text, a call's arguments or an output", api.MaxImportTextBytes, "bytes", api.CodeInvalidHistory, "IM3"},
		{"an imported conversation as compact JSON", api.MaxImportBytes, "bytes", api.CodeInvalidHistory, "IM3"},
		{"an imported call's arguments", api.MaxImportDepth, "levels", api.CodeInvalidHistory, "IM3"},
		{"an imported text, a call's arguments or an output under a model_input guardrail", api.MaxGuardedBytes, "bytes", api.CodeInvalidHistory, "IM4"},
	}
}
