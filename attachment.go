package openworker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
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
// Their details are file, rule, and value and limit where a bound is broken.
func AttachmentFromFile(path string) (*Attachment, error) {
	data, err := readBounded(path)
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
	size := int64(len(data))
	if err := content.CheckSize(size); err != nil {
		return nil, notTaken(name, err)
	}
	found, err := content.Inspect(name, mediaType, size, bytes.NewReader(data))
	if err != nil {
		return nil, notTaken(name, err)
	}
	return &Attachment{Name: name, MediaType: found.MediaType, Data: data}, nil
}

// notTaken says which file an error is about.
func notTaken(name string, err error) error {
	e := api.AsError(err)
	e.Message = fmt.Sprintf("the file %q is not taken: %s", name, e.Message)
	return e.With("file", name)
}

// readBounded reads a regular file that is not larger than a message's may be.
func readBounded(path string) ([]byte, error) {
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
	case info.Size() > api.MaxFileBytes:
		return nil, notTaken(name, content.CheckSize(info.Size()))
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

// Upload stores a file in the session before it is sent, and returns once that is durable; the method Block of what it
// returns is the block of a message that refers to it. An upload that no message refers to expires 24 hours after it was last begun, and is removed
// at the session's next upload; once a message does, the file lives as long as the session (AT5). Nothing reads its bytes
// back. The same bytes again are found, and not stored twice: they keep the media type that they were stored with, and the
// Upload has the name of then. Errors are those that [Session.Send] has for files. After one of code cancelled, or that begins
// with store_, upload again: what is stored already is found.
func (s *Session) Upload(ctx context.Context, a *Attachment) (Upload, error) {
	if a == nil {
		return Upload{}, noAttachment()
	}
	id, size := s.reference.Session, int64(len(a.Data))
	if err := content.CheckSize(size); err != nil {
		return Upload{}, notTaken(a.Name, err)
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

// block is the block of an attachment. A small one goes within the message, which stores it with itself: what a guardrail
// takes out of it is never stored then. A large one, which no guardrail can look into, is uploaded first.
func (s *Session) block(ctx context.Context, file *Attachment) (ContentBlock, error) {
	if len(file.Data) <= api.UploadChunkBytes {
		checked, err := AttachmentFromBytes(file.Name, file.MediaType, file.Data)
		if err != nil {
			return ContentBlock{}, err
		}
		return ContentBlock{Type: api.Block(checked.MediaType), Name: file.Name,
			Source: &Source{Type: SourceBase64, MediaType: checked.MediaType, Data: base64.StdEncoding.EncodeToString(file.Data)}}, nil
	}
	up, err := s.Upload(ctx, file)
	if err != nil {
		return ContentBlock{}, err
	}
	return up.Block(file.Name), nil
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
	// What is wrong with the whole is told before anything is uploaded.
	if text != "" {
		sub.Content, sub.Text = []ContentBlock{api.TextBlock(text)}, ""
		if _, err := content.Blocks(sub.Content); err != nil {
			return sub, err
		}
	}
	if err := content.CheckCount(len(sub.Content) + len(blocks)); err != nil {
		return sub, err
	}
	for i, file := range files {
		if file == nil {
			continue
		}
		if blocks[i], err = s.block(ctx, file); err != nil {
			return sub, err
		}
	}
	sub.Content = append(sub.Content, blocks...)
	return sub, nil
}

// InitialHistory are the options of a session that begins with a conversation (IM1): [Agent.NewSession] takes them, and
// other options may be set in what it returns. No items are no conversation: the session begins empty.
func InitialHistory(items ...HistoryImport) SessionOptions {
	return SessionOptions{InitialHistory: items}
}

// DecodeHistory reads a conversation to import from JSON: an array of items, as [EncodeHistory] writes it, of which there may
// be none. What no import takes is refused with invalid_history, with the details item (from 0) and rule (IM2, IM3). An agent
// with a guardrail at model_input takes less (IM4), which [Agent.NewSession] says.
func DecodeHistory(data []byte) ([]HistoryImport, error) {
	items, err := content.DecodeImport(data)
	if err != nil {
		return nil, err
	}
	if _, err := content.Import(items, false); err != nil {
		return nil, err
	}
	return items, nil
}

// EncodeHistory is a conversation in JSON, an item a line. It checks nothing.
func EncodeHistory(items []HistoryImport) []byte { return content.EncodeImport(items) }

// PortableHistory is the session's conversation in the form of an import: texts, calls and results; each file is one line
// that describes it, and reasoning is left out (SE6). It fails with invalid_history where a call has no result yet, or where a
// bound of imports is broken: then import a summary as the text of one item, or build items of the newest part of
// [Session.History].
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
