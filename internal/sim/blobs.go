package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// blob is what somebody may attach: bytes with what they are found to be.
type blob struct {
	name, mediaType string
	data            []byte
	sum             string // SHA-256, in hex
	redacted        *blob  // what guardrails leave of it, nil where they cannot look into it
}

// large is the index of the first blob that only some histories have: of several chunks.
const large = 6

func newBlobs() []*blob {
	text := func(name, mediaType string, bytes int) *blob {
		said := strings.Repeat("one more line\n", bytes/14)
		b := newBlob(name, mediaType, []byte(name+" "+secretWord+"\n"+said))
		b.redacted = newBlob(name, mediaType, []byte(name+" [removed]\n"+said))
		return b
	}
	binary := func(name, mediaType, magic string, n int) *blob {
		return newBlob(name, mediaType, append([]byte(magic+name), bytes.Repeat([]byte{0xfe}, n)...))
	}
	const png, pdf = "\x89PNG\r\n\x1a\n", "%PDF-1.7\n"
	return []*blob{
		text("notes.txt", "text/plain", 100),
		text("plan.md", "text/markdown", 900),
		text("log.txt", "text/plain", 4_000),
		binary("photo.png", model.TypePNG, png, 300),
		binary("scan.png", model.TypePNG, png, 2_000),
		binary("paper.pdf", model.TypePDF, pdf, 3_000),
		binary("book.pdf", model.TypePDF, pdf, store.ChunkBytes),
	}
}

// secretWord is what guardrails remove from text files. In those that nobody looks at it stays.
const secretWord = "password"

func newBlob(name, mediaType string, data []byte) *blob {
	sum := sha256.Sum256(data)
	return &blob{name: name, mediaType: mediaType, data: data, sum: hex.EncodeToString(sum[:])}
}

// id is the file's in a session: the same bytes are one file of it, and another one elsewhere.
func (b *blob) id(session string) string { return session + "-a" + digest(session + b.sum)[:24] }

// ref refers to the file in a message that calls it by a name.
func (b *blob) ref(session, name string) *engine.File {
	return &engine.File{ID: b.id(session), Name: name, MediaType: b.mediaType, Size: int64(len(b.data)), SHA256: b.sum}
}

// row is the file as it is staged.
func (b *blob) row(session string) store.File {
	return store.File{ID: b.id(session), Name: b.name, Announced: b.mediaType, Size: int64(len(b.data)), SHA256: b.sum}
}

func (b *blob) chunk(i int) []byte {
	from := i * store.ChunkBytes
	return b.data[from : from+store.ChunkLen(int64(len(b.data)), i)]
}
