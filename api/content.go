package api

import (
	"cmp"
	"strings"
	"time"
)

// MessagePart is what a message may be made of behind its text: a [ContentBlock], an [Attachment], or the [TurnOptions]
// of the whole.
type MessagePart interface{ messagePart() }

func (ContentBlock) messagePart() {}
func (*Attachment) messagePart()  {}
func (TurnOptions) messagePart()  {}

// BlockType is the kind of a content block.
type BlockType string

const (
	BlockText     BlockType = "text"
	BlockImage    BlockType = "image"    // PNG, JPEG, GIF or WebP that does not move
	BlockDocument BlockType = "document" // a PDF, or a text file
)

// ContentBlock is one block of a message: a text, or a file (AT1). The zero value is none, and is refused with
// invalid_request. Those of a history may be sent again as they are, in the same session.
type ContentBlock struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"` // of a text block
	// Name is what the file is called in this message: a label of 1 to 255 bytes without control characters.
	Name   string  `json:"name,omitempty"`
	Source *Source `json:"source,omitempty"`
}

// SourceType says where a file's bytes are.
type SourceType string

const (
	SourceBase64     SourceType = "base64"     // in Data, in standard base64
	SourceText       SourceType = "text"       // in Data as they are; of documents
	SourceAttachment SourceType = "attachment" // stored: ID names them
)

// Source is where a file's bytes are. There are no others: addresses and providers' own file IDs are refused, and so is the
// zero value, with invalid_request.
type Source struct {
	Type SourceType `json:"type"`
	// MediaType is what the file is said to be; with SourceAttachment it may be absent. What it is in truth is found
	// in its bytes, and one that differs is refused (AT4).
	MediaType string `json:"mediaType,omitempty"`
	Data      string `json:"data,omitempty"`
	// ID of an attachment that was committed in this session.
	ID string `json:"id,omitempty"`
	// Size in bytes and SHA256 in hex are told of stored files. They may be absent in a message; given, they must be right.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// TextBlock is a block of text.
func TextBlock(text string) ContentBlock { return ContentBlock{Type: BlockText, Text: text} }

// TextDocument is a text file whose content is at hand. It counts as a file.
func TextDocument(name, text string) ContentBlock {
	return ContentBlock{Type: BlockDocument, Name: name, Source: &Source{Type: SourceText, Data: text}}
}

// Attachment is a file on its way into a session. Its fields may also be filled by hand: all of it is checked when it is
// uploaded or sent. One without Data, as the zero value, is refused then with invalid_request. It may be sent any number of times, to
// any sessions, also at once.
type Attachment struct {
	Name      string // a label of 1 to 255 bytes without control characters
	MediaType string // what it is said to be; "" says nothing
	Data      []byte // 1 to 8,388,608 bytes, which must not be changed
}

// Block is the kind of block that files of a media type stand in.
func Block(mediaType string) BlockType {
	if strings.HasPrefix(mediaType, "image/") {
		return BlockImage
	}
	return BlockDocument
}

// UploadRequest announces a file. The same file of a session, by its SHA256, is stored once, whatever it is called.
type UploadRequest struct {
	Name string `json:"name"`
	// MediaType may be "": then it is found out when the upload is committed.
	MediaType string `json:"mediaType,omitempty"`
	Size      int64  `json:"size"`   // in bytes, 1 to 8 MiB
	SHA256    string `json:"sha256"` // of all bytes, 64 hex digits
}

// UploadState says how far an upload is.
type UploadState string

const (
	UploadOpen      UploadState = "open"      // chunks may be sent
	UploadCommitted UploadState = "committed" // stored: a message may refer to it until it expires
	UploadAccepted  UploadState = "accepted"  // a message refers to it: it lives as long as the session
)

// Upload is a file in a session, stored or on its way. The same bytes are one upload: Name is what they were called
// first, and MediaType what they were stored as, whatever later ones say.
type Upload struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	MediaType string      `json:"mediaType,omitempty"` // what was announced; from the commit on what was found
	Size      int64       `json:"size"`
	SHA256    string      `json:"sha256"`
	State     UploadState `json:"state"`
	// Missing are the chunks that are not there yet, by their index from 0.
	Missing []int `json:"missing,omitempty"`
	// Expires is when it ends unless a message refers to it by then: 24 hours after it was last begun. It is removed at the
	// session's next upload. Zero once a message refers to it.
	Expires time.Time `json:"expires,omitzero"`
}

// Block is the block of a message that refers to a file of the session, under a name for this message; "" means Name. Of
// the upload it needs ID and MediaType, so that it may also be made of what a program kept of one.
func (u Upload) Block(name string) ContentBlock {
	return ContentBlock{Type: Block(u.MediaType), Name: cmp.Or(name, u.Name), Source: &Source{Type: SourceAttachment, ID: u.ID}}
}

// UploadChunk is a part of a file: chunk i begins at byte i × 262,144 and has that many bytes, the last one the rest.
type UploadChunk struct {
	Index  int    `json:"index"`
	SHA256 string `json:"sha256"` // of Data, 64 hex digits
	Data   []byte `json:"data"`
}

// Chunks is the number of chunks of a file of size bytes.
func Chunks(size int64) int { return int((size + UploadChunkBytes - 1) / UploadChunkBytes) }
