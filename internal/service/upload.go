package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// fileID is the ID of a file of a session, by the SHA-256 of its bytes: the same bytes are one file, and a key of the
// session keeps the ID from telling which.
func fileID(session string, secret []byte, sum string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("file\x00" + sum))
	return session + "-a" + hex.EncodeToString(mac.Sum(nil)[:12])
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// BeginUpload implements api.Service (AT5).
func (s *Service) BeginUpload(ctx context.Context, session string, file api.UploadRequest) (api.Upload, error) {
	if err := s.usable(); err != nil {
		return api.Upload{}, err
	}
	if err := content.CheckName(file.Name); err != nil {
		return api.Upload{}, err
	}
	if err := content.CheckType(file.MediaType); err != nil {
		return api.Upload{}, err
	}
	sum := strings.ToLower(file.SHA256)
	switch raw, err := hex.DecodeString(sum); {
	case file.Size <= 0:
		return api.Upload{}, api.Errorf(api.CodeInvalidRequest, "the file %q has %d bytes; give its size, which is at least 1", file.Name, file.Size)
	case file.Size > api.MaxFileBytes:
		return api.Upload{}, tooLarge(content.RuleFile, file.Name, file.Size, api.MaxFileBytes, "a file may have")
	case err != nil || len(raw) != sha256.Size:
		return api.Upload{}, api.Errorf(api.CodeInvalidRequest, "sha256 of the file %q is %.100q; it must be the 64 hex digits of the SHA-256 of its bytes", file.Name, file.SHA256)
	}
	f, err := s.session(ctx, session)
	if err != nil {
		return api.Upload{}, err
	}
	row, err := s.stage(ctx, session, f, file.Name, file.MediaType, file.Size, sum)
	return upload(row), err
}

// stage begins a file or finds it.
func (s *Service) stage(ctx context.Context, session string, f *facts, name, announced string, size int64, sum string) (store.File, error) {
	now := time.Now()
	s.failpoint("upload.begin.before")
	row, err := s.store.Stage(ctx, session, store.File{
		ID: fileID(session, f.secret, sum), Name: name, Announced: announced, Size: size, SHA256: sum, Expires: now.Add(api.UploadTime),
	}, now, runtime.FileQuota)
	s.failpoint("upload.begin.after")
	if err != nil {
		return store.File{}, s.translateFile(ctx, session, name, err)
	}
	was := row.MediaType
	if was == "" {
		was = row.Announced
	}
	if !content.SameKind(announced, was) {
		return store.File{}, api.Errorf(api.CodeUploadConflict, "the bytes of the file %q are in this session as %s and are announced as %s now; a file is of one type", name, was, announced).
			With("file", name)
	}
	return row, nil
}

// UploadChunk implements api.Service (AT5).
func (s *Service) UploadChunk(ctx context.Context, session, id string, chunk api.UploadChunk) error {
	if err := s.usable(); err != nil {
		return err
	}
	switch {
	case len(chunk.Data) == 0 || len(chunk.Data) > api.UploadChunkBytes:
		return measured(api.Errorf(api.CodeInvalidRequest, "chunk %d has %d bytes; a chunk has %d, and the last one the rest", chunk.Index, len(chunk.Data), api.UploadChunkBytes),
			"chunk_bytes", int64(len(chunk.Data)), api.UploadChunkBytes)
	case hexSum(chunk.Data) != strings.ToLower(chunk.SHA256):
		return api.Errorf(api.CodeInvalidRequest, "chunk %d has the SHA-256 %s and is said to have %.100q; it was damaged on its way: send it again", chunk.Index, hexSum(chunk.Data), chunk.SHA256)
	}
	if err := s.own(session, id); err != nil {
		return err
	}
	err := s.putChunk(ctx, session, id, chunk.Index, chunk.Data)
	if errors.Is(err, store.ErrFileConflict) {
		return api.Errorf(api.CodeUploadConflict, "chunk %d of upload %s has %d bytes that do not fit: the file has no such chunk, or other bytes are there", chunk.Index, id, len(chunk.Data))
	}
	return s.translateFile(ctx, session, id, err)
}

// CommitUpload implements api.Service (AT4, AT5).
func (s *Service) CommitUpload(ctx context.Context, session, id string) (api.Upload, error) {
	if err := s.usable(); err != nil {
		return api.Upload{}, err
	}
	if err := s.own(session, id); err != nil {
		return api.Upload{}, err
	}
	row, err := s.file(ctx, session, id)
	if err == nil && row.State == store.FileOpen {
		row, err = s.seal(ctx, session, row, &chunkReader{ctx: ctx, files: s.store, session: session, id: id, chunks: store.Chunks(row.Size)})
	}
	return upload(row), err
}

// seal looks at a whole file and ends its upload. One that is not taken is removed: no message could refer to it.
func (s *Service) seal(ctx context.Context, session string, row store.File, r io.Reader) (store.File, error) {
	if n := len(row.Missing); n > 0 {
		return store.File{}, api.Errorf(api.CodeUploadConflict, "%d of the %d chunks of upload %s are missing, the first is %d; send them, then commit again", n, store.Chunks(row.Size), row.ID, row.Missing[0])
	}
	sum := sha256.New()
	found, err := content.Inspect(row.Name, row.Announced, row.Size, io.TeeReader(r, sum))
	if err == nil {
		_, err = io.Copy(sum, r)
	}
	if hash := hex.EncodeToString(sum.Sum(nil)); err == nil && hash != row.SHA256 {
		err = api.Errorf(api.CodeUploadConflict, "the bytes of the file %q have the SHA-256 %s and were announced with %s; announce and send it again", row.Name, hash, row.SHA256).With("file", row.Name)
	}
	switch api.CodeOf(err) {
	case "":
	case api.CodeUnsupportedMedia, api.CodeInvalidRequest, api.CodeUploadConflict:
		if gone := s.store.Discard(ctx, session, row.ID); gone != nil {
			s.log.Warn("a file that is not taken could not be removed; it expires", "session", session, "file", row.ID, "error", gone)
		}
		e := api.AsError(err)
		if e.Details["file"] == "" {
			e.Message = fmt.Sprintf("the file %q: %s", row.Name, e.Message)
		}
		return store.File{}, e.With("file", row.Name)
	default:
		return store.File{}, s.translateFile(ctx, session, row.Name, err)
	}
	s.failpoint("upload.commit.before")
	sealed, err := s.store.Seal(ctx, session, row.ID, store.FileType{MediaType: found.MediaType, Width: found.Width, Height: found.Height}, time.Now())
	s.failpoint("upload.commit.after")
	return sealed, s.translateFile(ctx, session, row.Name, err)
}

// put stores a whole file that is at hand, as far as it is not there; fresh: nothing of it was.
func (s *Service) put(ctx context.Context, session string, f *facts, name, announced string, data []byte) (row store.File, fresh bool, err error) {
	row, err = s.stage(ctx, session, f, name, announced, int64(len(data)), hexSum(data))
	if err != nil || row.State != store.FileOpen {
		return row, false, err
	}
	fresh = len(row.Missing) == store.Chunks(row.Size)
	for _, i := range row.Missing {
		from := i * store.ChunkBytes
		if err := s.putChunk(ctx, session, row.ID, i, data[from:from+store.ChunkLen(row.Size, i)]); err != nil {
			return store.File{}, fresh, s.translateFile(ctx, session, name, err)
		}
	}
	row.Missing = nil
	row, err = s.seal(ctx, session, row, bytes.NewReader(data))
	return row, fresh, err
}

func (s *Service) putChunk(ctx context.Context, session, id string, index int, data []byte) error {
	s.failpoint("upload.chunk.before")
	err := s.store.PutChunk(ctx, session, id, index, data, time.Now())
	s.failpoint("upload.chunk.after")
	return err
}

func (s *Service) failpoint(point string) {
	if f := s.cfg.Failpoint; f != nil {
		f(point)
	}
}

// own refuses the ID of a file that is not the session's by its form, before the store is asked.
func (s *Service) own(session, id string) error {
	if strings.HasPrefix(id, session+"-a") {
		return nil
	}
	return noFile(id)
}

func noFile(name string) error {
	return api.Errorf(api.CodeAttachmentNotFound, "the session has no file %.300q that a message could refer to: it was never uploaded here, its upload was not committed or has expired, which one does %d hours after it was last begun, or a guardrail's redaction took its place; upload it again",
		name, int(api.UploadTime.Hours())).With("file", name)
}

// file finds a file that has not expired.
func (s *Service) file(ctx context.Context, session, id string) (store.File, error) {
	if err := s.own(session, id); err != nil {
		return store.File{}, err
	}
	row, err := s.store.File(ctx, session, id)
	if err == nil && row.State != store.FileAccepted && !row.Expires.After(time.Now()) {
		err = store.ErrFileNotFound
	}
	return row, s.translateFile(ctx, session, id, err)
}

// translateFile is translate for what is about a file, which name names.
func (s *Service) translateFile(ctx context.Context, session, name string, err error) error {
	switch {
	case errors.Is(err, store.ErrFileNotFound):
		return noFile(name)
	case errors.Is(err, store.ErrFileConflict):
		return api.Errorf(api.CodeUploadConflict, "the file %q differs from what the session has under its SHA-256 already", name).With("file", name)
	case errors.Is(err, store.ErrFileQuota):
		refused := api.Errorf(api.CodeAttachmentQuota, "the file %q is too much for session %s, which may keep %d files and %d bytes of them. Files that were sent stay as long as it does; uploads that no message refers to count until they expire, %d hours after they were last begun. Send it in a new session",
			name, session, api.MaxSessionFiles, int64(api.MaxSessionFileBytes), int(api.UploadTime.Hours())).With("file", name)
		var quota *store.QuotaError
		if errors.As(err, &quota) {
			refused.Message += fmt.Sprintf(". It keeps %d with %d bytes, and this one has %d", quota.Has.Files, quota.Has.Bytes, quota.Size)
			refused.With("files", fmt.Sprint(quota.Has.Files)).With("bytes", fmt.Sprint(quota.Has.Bytes))
			if most := int64(api.MaxSessionFileBytes); quota.Has.Bytes+quota.Size > most {
				return measured(refused, "session_file_bytes", quota.Has.Bytes+quota.Size, most)
			}
			return measured(refused, "session_files", int64(quota.Has.Files)+1, api.MaxSessionFiles)
		}
		return refused
	}
	return s.translate(ctx, session, err)
}

// tooLarge refuses a file that is over a bound of whoever takes it.
func tooLarge(rule, name string, size, most int64, who string) *api.Error {
	return measured(api.Errorf(api.CodeAttachmentTooLarge, "the file %q has %d bytes, and %s at most %d", name, size, who, most).With("file", name), rule, size, most)
}

// measured gives an error about a bound the details that such errors have.
func measured(err *api.Error, rule string, value, limit int64) *api.Error {
	return err.With("rule", rule).With("value", fmt.Sprint(value)).With("limit", fmt.Sprint(limit))
}

// upload is the public form of a file. The zero file has none.
func upload(f store.File) api.Upload {
	if f.ID == "" {
		return api.Upload{}
	}
	u := api.Upload{ID: f.ID, Name: f.Name, MediaType: f.Announced, Size: f.Size, SHA256: f.SHA256, Expires: f.Expires, Missing: f.Missing}
	switch f.State {
	case store.FileSealed:
		u.State, u.MediaType = api.UploadCommitted, f.MediaType
	case store.FileAccepted:
		u.State, u.MediaType, u.Expires = api.UploadAccepted, f.MediaType, time.Time{}
	default:
		u.State = api.UploadOpen
	}
	return u
}

// chunkReader reads a file chunk by chunk.
type chunkReader struct {
	ctx         context.Context
	files       store.Files
	session, id string
	next        int
	chunks      int
	rest        []byte
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.next == r.chunks {
			return 0, io.EOF
		}
		chunk, err := r.files.Chunk(r.ctx, r.session, r.id, r.next)
		if err != nil {
			return 0, err
		}
		r.rest = chunk
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
