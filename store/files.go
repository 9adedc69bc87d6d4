package store

import (
	"context"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Files is the part of a store that holds what users attach. A file belongs to one session and is never shared. Its
// bytes are written once, in chunks, and do not change; they go with the session, or, while no message refers to the
// file, when it expires or is discarded. Every method returns ErrNotFound for a session that there is not, and
// ErrDeleted for one that was deleted. With an error nothing has changed, unless it is ErrFateUnknown; what was called
// may always be called again, to the same end. Times are cut to the millisecond.
type Files interface {
	// Stage begins a file, or finds the one of its ID. First it removes the session's files that nobody has accepted and
	// whose Expires is not after now. One that is there is kept until f.Expires if that is later, whatever its state.
	// Errors, in this order: ErrFileConflict for another Size or SHA256 under the ID; ErrFileQuota where the file would be
	// more than the quota has left. Of f are used ID, Name, Announced, Size, SHA256 and Expires; a file that is there
	// keeps its Name and what was Announced.
	Stage(ctx context.Context, session string, f File, now time.Time, q FileQuota) (File, error)
	// PutChunk stores a chunk of an open file. The same bytes again are a no-op, also once it is sealed. ErrFileNotFound
	// for a file that there is not, or that has expired by now; ErrFileConflict for other bytes than those that are there,
	// an index that the file has not, and a length that is not [ChunkLen]. Data is not kept, but it may be read on after
	// ErrFateUnknown: do not change it then.
	PutChunk(ctx context.Context, session, id string, index int, data []byte, now time.Time) error
	// Seal ends an open file with what was found in it; again it is a no-op, whatever is found. ErrFileNotFound as above;
	// ErrFileConflict where chunks are missing.
	Seal(ctx context.Context, session, id string, found FileType, now time.Time) (File, error)
	// Discard removes a file that no message refers to. One that is not there, or is referred to, stays as it is.
	// Of a removed file, however it was removed, no byte is left in the store's files shortly after.
	Discard(ctx context.Context, session, id string) error
	// File finds a file, also one that has expired and is not removed yet. ErrFileNotFound.
	File(ctx context.Context, session, id string) (File, error)
	// Chunk reads a chunk. The caller may change the result. ErrFileNotFound, also for a chunk that is not there.
	Chunk(ctx context.Context, session, id string, index int) ([]byte, error)
}

// FileState says how far a file is.
type FileState string

const (
	FileOpen     FileState = "open"     // chunks may be written
	FileSealed   FileState = "sealed"   // complete; it expires unless it is accepted
	FileAccepted FileState = "accepted" // an append refers to it
)

// FileType is what a file was found to be.
type FileType struct {
	MediaType     string
	Width, Height int // of an image, in pixels
}

// File is a session's file without its bytes.
type File struct {
	ID        string // begins with the session's
	Name      string // as it was first announced
	Announced string // media type, "" if none was
	Size      int64
	SHA256    string // in hex
	Expires   time.Time
	State     FileState
	FileType        // of a sealed or accepted one
	Missing   []int // chunks that are not there, of an open one
}

// FileQuota is what a session may keep, open, sealed and accepted files together. A file counts with its Size from when
// it is staged.
type FileQuota struct {
	Files int
	Bytes int64
}

// NewFile is a file that comes with an append: it is stored, sealed and accepted in it. One that is there under its ID
// already is taken instead, if it is sealed; an open one is replaced.
type NewFile struct {
	File
	Data []byte
}

// ChunkBytes is the length of each chunk of a file but the last.
const ChunkBytes = api.UploadChunkBytes

// Chunks is the number of chunks of a file of size bytes.
func Chunks(size int64) int { return api.Chunks(size) }

// ChunkLen is the length of a chunk of a file of size bytes, 0 for an index that it has not.
func ChunkLen(size int64, index int) int {
	if index < 0 || index >= Chunks(size) {
		return 0
	}
	return int(min(ChunkBytes, size-int64(index)*ChunkBytes))
}
