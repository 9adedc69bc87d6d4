package openworker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
)

// AttachmentFromFile reads a file and checks that it is one that a message can have: PNG, JPEG, GIF or WebP that does
// not move, PDF, or text in UTF-8, of at most 8 MiB (AT2, AT3). It is called by its base name.
//
// Errors: invalid_request for a file that cannot be read or has nothing in it, attachment_too_large, unsupported_media.
func AttachmentFromFile(path string) (*Attachment, error) {
	data, err := readBounded(path, api.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	return AttachmentFromBytes(filepath.Base(path), "", data)
}

// AttachmentFromBytes is AttachmentFromFile for bytes that are at hand, which must not be changed afterwards. mediaType
// is what they are said to be, for example by a browser; one that they are not is refused, and "" says nothing.
func AttachmentFromBytes(name, mediaType string, data []byte) (*Attachment, error) {
	if err := content.CheckName(name); err != nil {
		return nil, err
	}
	switch size := len(data); {
	case size == 0:
		return nil, api.Errorf(api.CodeInvalidRequest, "the file %q is empty; there is nothing in it to send", name).With("file", name)
	case size > api.MaxFileBytes:
		return nil, fileTooLarge(name, int64(size))
	}
	found, err := content.Inspect(name, mediaType, int64(len(data)), bytes.NewReader(data))
	if err != nil {
		named := api.AsError(err)
		named.Message = fmt.Sprintf("the file %q is not taken: %s", name, named.Message)
		return nil, named.With("file", name)
	}
	return &Attachment{Name: name, MediaType: found.MediaType, Data: data}, nil
}

func fileTooLarge(name string, size int64) error {
	return api.Errorf(api.CodeAttachmentTooLarge, "the file %q has %d bytes; at most %d are taken", name, size, int64(api.MaxFileBytes)).
		With("file", name).With("value", fmt.Sprint(size)).With("limit", fmt.Sprint(int64(api.MaxFileBytes)))
}

// readBounded reads a regular file that is not larger than it may be.
func readBounded(path string, most int64) ([]byte, error) {
	name := filepath.Base(path)
	refuse := func(err error) ([]byte, error) {
		return nil, api.Errorf(api.CodeInvalidRequest, "the file %q cannot be read: %w", path, err).With("file", name)
	}
	info, err := os.Stat(path) // to open what is no file may wait for ever
	switch {
	case err != nil:
		return refuse(err)
	case !info.Mode().IsRegular():
		return refuse(errors.New("it is not a regular file"))
	case info.Size() > most:
		return nil, fileTooLarge(name, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return refuse(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data := make([]byte, info.Size())
	if n, err := io.ReadFull(f, data); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return refuse(err)
	} else if n < len(data) {
		data = data[:n] // it became shorter meanwhile
	}
	return data, nil
}

// Upload stores a file in the session before it is sent, and returns once that is durable. A message refers to it by its
// ID, with [StoredFile], until it expires 24 hours later; once a message does, it lives as long as the session (AT5).
// The same bytes again are found, and not stored twice. Errors are those that [Session.Send] has for files.
func (s *Session) Upload(ctx context.Context, a *Attachment) (Upload, error) {
	if a == nil {
		return Upload{}, noAttachment()
	}
	id, size := s.reference.Session, int64(len(a.Data))
	if size > api.MaxFileBytes {
		return Upload{}, fileTooLarge(a.Name, size)
	}
	sum := sha256.Sum256(a.Data)
	up, err := s.service.BeginUpload(ctx, id, api.UploadRequest{Name: a.Name, MediaType: a.MediaType, Size: size, SHA256: hex.EncodeToString(sum[:])})
	if err != nil {
		return Upload{}, err
	}
	for _, i := range up.Missing {
		from := min(i*api.UploadChunkBytes, len(a.Data))
		data := a.Data[from:min(from+api.UploadChunkBytes, len(a.Data))]
		part := sha256.Sum256(data)
		if err := s.service.UploadChunk(ctx, id, up.ID, api.UploadChunk{Index: i, SHA256: hex.EncodeToString(part[:]), Data: data}); err != nil {
			return Upload{}, err
		}
	}
	if up.State != api.UploadOpen {
		return up, nil
	}
	return s.service.CommitUpload(ctx, id, up.ID)
}

func noAttachment() error {
	return api.Errorf(api.CodeInvalidRequest, "an attachment is nil; look at the error of what was to make it")
}

// submission makes a message of a text and its parts, with the attachments uploaded.
func (s *Session) submission(ctx context.Context, text string, parts []Part) (api.Submission, error) {
	sub := api.Submission{Session: s.reference.Session, Text: text}
	var options []TurnOptions
	var files []*Attachment
	var blocks []ContentBlock
	for i, part := range parts {
		switch p := part.(type) {
		case TurnOptions:
			options = append(options, p)
		case *Attachment:
			if p == nil {
				return sub, noAttachment()
			}
			files, blocks = append(files, p), append(blocks, ContentBlock{})
		case ContentBlock:
			files, blocks = append(files, nil), append(blocks, p)
		default:
			return sub, api.Errorf(api.CodeInvalidRequest, "part %d of the message is %T; give an *Attachment, a ContentBlock or TurnOptions", i+1, part)
		}
	}
	var err error
	if sub.Options, err = one("TurnOptions", options); err != nil || len(blocks) == 0 {
		return sub, err
	}
	if len(blocks) > api.MaxBlocks { // before anything is uploaded
		return sub, api.Errorf(api.CodeInvalidRequest, "the message has %d blocks behind its text; at most %d are taken, the text among them", len(blocks), api.MaxBlocks)
	}
	for i, file := range files {
		if file == nil {
			continue
		}
		up, err := s.Upload(ctx, file)
		if err != nil {
			return sub, err
		}
		blocks[i] = api.StoredFile(api.Block(up.MediaType), file.Name, up.ID)
	}
	if text != "" {
		sub.Content, sub.Text = append(sub.Content, api.TextBlock(text)), ""
	}
	sub.Content = append(sub.Content, blocks...)
	return sub, nil
}

// InitialHistory are the options of a session that begins with a conversation (IM1): [Agent.NewSession] takes them, and
// other options may be set in what it returns.
func InitialHistory(items ...HistoryImport) SessionOptions {
	return SessionOptions{InitialHistory: items}
}

// DecodeHistory reads a conversation to import from JSON: an array of items, as [EncodeHistory] writes it. What no import
// takes is refused with invalid_history, which names the item and the rule (IM2, IM3).
func DecodeHistory(data []byte) ([]HistoryImport, error) { return content.DecodeImport(data) }

// EncodeHistory is a conversation in JSON, an item a line.
func EncodeHistory(items []HistoryImport) []byte { return content.EncodeImport(items) }

// PortableHistory is the session's conversation in the form of an import: texts, calls and results; each file is one line
// that describes it, and reasoning is left out (SE6). It ends with invalid_history where a bound of imports is broken, or
// a call has no result yet.
func (s *Session) PortableHistory(ctx context.Context) ([]HistoryImport, error) {
	var items []HistoryItem
	for item, err := range s.History(ctx) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return content.Portable(items)
}
