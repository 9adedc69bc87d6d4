package openworker

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// shelf is a host that takes uploads and remembers what it was asked for.
type shelf struct {
	fakeHost
	done   []string
	data   []byte
	refuse []error // of each submission in turn; then all are taken
}

func (s *shelf) BeginUpload(_ context.Context, session string, req api.UploadRequest) (Upload, error) {
	s.done = append(s.done, "begin "+req.Name)
	up := Upload{ID: session + "-a1", Name: req.Name, MediaType: "application/pdf", Size: req.Size, State: api.UploadCommitted}
	if len(s.data) == 0 {
		up.State, up.Missing = api.UploadOpen, []int{0, 1}
	}
	return up, nil
}

func (s *shelf) UploadChunk(_ context.Context, _, _ string, c api.UploadChunk) error {
	s.done, s.data = append(s.done, "chunk"), append(s.data, c.Data...)
	return nil
}

func (s *shelf) CommitUpload(_ context.Context, session, id string) (Upload, error) {
	s.done = append(s.done, "commit")
	return Upload{ID: id, MediaType: "application/pdf", Size: int64(len(s.data)), State: api.UploadCommitted}, nil
}

func (s *shelf) Submit(ctx context.Context, sub api.Submission) (RunReference, error) {
	s.done = append(s.done, "submit")
	if len(s.refuse) > 0 {
		err := s.refuse[0]
		s.refuse = s.refuse[1:]
		if s.data = s.data[:0]; err != nil { // what expired is gone
			return RunReference{}, err
		}
	}
	return s.fakeHost.Submit(ctx, sub)
}

func report(n int) []byte {
	const begin, end = "%PDF-1.4\n%", "\nstartxref\n9\n%%EOF\n"
	return []byte(begin + strings.Repeat("p", n-len(begin)-len(end)) + end)
}

func attach(t *testing.T, name string, data []byte) *Attachment {
	t.Helper()
	a, err := AttachmentFromBytes(name, "", data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// AT3, AT5, GR3: a small attachment is within its message, a large one is uploaded before it, and one that has expired
// between its upload and the message is uploaded once more.
func TestAnAttachmentGoesWithinItsMessageOrBeforeIt(t *testing.T) {
	t.Parallel()
	gone := api.Errorf(api.CodeAttachmentNotFound, "the session has no file")
	upload := []string{"begin a.pdf", "chunk", "chunk", "commit"}
	for name, test := range map[string]struct {
		size   int
		there  bool // its bytes are, from an upload before
		refuse []error
		done   []string
		err    error
	}{
		"a small one is within it":                   {size: 500, done: []string{"submit"}},
		"one of a chunk too":                         {size: api.UploadChunkBytes, done: []string{"submit"}},
		"one that is larger is uploaded before":      {size: api.UploadChunkBytes + 1, done: slices.Concat(upload, []string{"submit"})},
		"or found":                                   {size: api.UploadChunkBytes + 1, there: true, done: []string{"begin a.pdf", "submit"}},
		"one that was found and expired is uploaded": {size: api.UploadChunkBytes + 1, there: true, refuse: []error{gone}, done: slices.Concat([]string{"begin a.pdf", "submit"}, upload, []string{"submit"})},
		"once": {size: api.UploadChunkBytes + 1, refuse: []error{gone, gone}, err: ErrAttachmentNotFound, done: slices.Concat(upload, []string{"submit"}, upload, []string{"submit"})},
		"what is refused for another reason is not sent": {size: api.UploadChunkBytes + 1, refuse: []error{api.Errorf(api.CodeSessionBusy, "busy")}, err: ErrSessionBusy, done: slices.Concat(upload, []string{"submit"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := &shelf{refuse: test.refuse}
			data := report(test.size)
			if test.there {
				host.data = slices.Clone(data)
			}
			session := &Session{service: host, reference: SessionReference{Session: "s1"}}
			_, err := session.Send(t.Context(), "look", attach(t, "a.pdf", data))
			if !errors.Is(err, test.err) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.done, host.done); diff != "" {
				t.Errorf("what was done (-want +got):\n%s", diff)
			}
			if test.err != nil {
				return
			}
			block := host.submitted[0].Content[1]
			want := ContentBlock{Type: api.BlockDocument, Name: "a.pdf", Source: &Source{Type: SourceAttachment, ID: "s1-a1"}}
			if test.size <= api.UploadChunkBytes {
				want.Source = &Source{Type: SourceBase64, MediaType: "application/pdf", Data: base64.StdEncoding.EncodeToString(data)}
			} else if len(test.refuse) > 0 && !bytes.Equal(host.data, data) {
				t.Errorf("%d bytes are there in the end, of %d", len(host.data), len(data))
			}
			if diff := cmp.Diff(want, block); diff != "" {
				t.Errorf("the block (-want +got):\n%s", diff)
			}
		})
	}
}

// A file that its caller stored and named by itself is not sent again: only attachments are at hand.
func TestABlockOfAFileThatIsGoneIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	host := &shelf{refuse: []error{api.Errorf(api.CodeAttachmentNotFound, "gone")}}
	session := &Session{service: host, reference: SessionReference{Session: "s1"}}
	_, err := session.Send(t.Context(), "look", ContentBlock{Type: api.BlockDocument, Name: "a.pdf", Source: &Source{Type: SourceAttachment, ID: "s1-a1"}})
	if !errors.Is(err, ErrAttachmentNotFound) || len(host.done) != 1 {
		t.Errorf("got %v after %v", err, host.done)
	}
}
