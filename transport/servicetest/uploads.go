package servicetest

import (
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// bad is what a chunk says of itself when it is not what it seems.
func bad(c api.UploadChunk, change func(*api.UploadChunk)) api.UploadChunk {
	c.Data = slices.Clone(c.Data)
	change(&c)
	return c
}

// whole makes a chunk's hash that of its data.
func whole(c api.UploadChunk) api.UploadChunk {
	c.SHA256 = file{data: c.Data}.sum()
	return c
}

var uploadTests = []test{
	{"AT5 a file is announced, sent in chunks in any order and committed, and each step again changes nothing", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"}))})
		id := s.session()
		f := pdfFile("report.pdf", "a", 3*api.UploadChunkBytes+5)
		up := s.begin(id, f)
		if up.State != api.UploadOpen || !slices.Equal(up.Missing, []int{0, 1, 2, 3}) || up.Name != f.name || up.MediaType != f.mediaType || up.Size != f.size() || up.SHA256 != f.sum() || up.Expires.IsZero() {
			s.Fatalf("the upload begins as %+v", up)
		}
		for n, i := range []int{3, 1, 0, 2} {
			for range 2 {
				s.no(s.UploadChunk(s.Context(), id, up.ID, f.chunk(i)))
			}
			again := s.begin(id, f.named("another name.pdf"))
			if again.ID != up.ID || again.State != api.UploadOpen || again.Name != f.name || len(again.Missing) != 3-n || slices.Contains(again.Missing, i) {
				s.Errorf("with %d chunks there the upload is %+v", n+1, again)
			}
			if n < 3 {
				_, err := s.CommitUpload(s.Context(), id, up.ID)
				s.code(err, api.CodeUploadConflict)
				if !strings.Contains(err.Error(), "missing") {
					s.Errorf("the error says %v", err)
				}
				s.refused(id, api.CodeAttachmentNotFound, "not committed", api.TurnOptions{}, f.stored(up.ID))
			}
		}
		head := s.state(id).LastEvent
		first, err := s.CommitUpload(s.Context(), id, up.ID)
		s.no(err)
		again, err := s.CommitUpload(s.Context(), id, up.ID)
		s.no(err)
		if first.State != api.UploadCommitted || first.ID != up.ID || first.MediaType != f.mediaType || again.ID != first.ID || again.State != first.State || !again.Expires.Equal(first.Expires) {
			s.Errorf("committed it is %+v, and again %+v", first, again)
		}
		if now := s.begin(id, f); now.State != api.UploadCommitted || len(now.Missing) > 0 {
			s.Errorf("announced again it is %+v", now)
		}
		s.no(s.UploadChunk(s.Context(), id, up.ID, f.chunk(2)))
		s.code(s.UploadChunk(s.Context(), id, up.ID, whole(bad(f.chunk(2), func(c *api.UploadChunk) { c.Data[0]++ }))), api.CodeUploadConflict)
		if now := s.state(id).LastEvent; now != head {
			s.Errorf("an upload has added events %d to %d", head+1, now)
		}
		s.ends(s.deliver(id, f.stored(up.ID)), api.StatusCompleted)
		if got := shown(prompts.all()[0].parts()); !slices.Equal(got, shows(f)) {
			s.Errorf("the model was shown %q", got)
		}
		s.no(s.UploadChunk(s.Context(), id, up.ID, f.chunk(2)))
		now, err := s.CommitUpload(s.Context(), id, up.ID)
		s.no(err)
		if now.State != api.UploadAccepted || !now.Expires.IsZero() {
			s.Errorf("once a message has it it is %+v", now)
		}
		s.room(id, api.MaxSessionFileBytes-f.size())
	}},
	{"AT5 another process goes on with an upload where one was stopped, by what is missing", func(s *stage) {
		s.open(World{})
		id := s.session()
		f := longText("a.txt", "resumed", 4*api.UploadChunkBytes)
		up := s.begin(id, f)
		for _, i := range []int{0, 2} {
			s.no(s.UploadChunk(s.Context(), id, up.ID, f.chunk(i)))
		}
		s.process.Crash()
		s.open(World{})
		if again := s.begin(id, f); again.ID != up.ID || !slices.Equal(again.Missing, []int{1, 3}) {
			s.Fatalf("missing are %v", again.Missing)
		}
		if up := s.upload(id, f); up.State != api.UploadCommitted {
			s.Errorf("it is %+v", up)
		}
		s.process.Stop()
		s.open(World{})
		s.ends(s.deliver(id, f.stored(up.ID)), api.StatusCompleted)
	}},
	{"AT4 AT5 a chunk with a wrong hash, length or place is refused and stores nothing", func(s *stage) {
		s.open(World{})
		id := s.session()
		f := longText("a.txt", "chunks", 2*api.UploadChunkBytes+7)
		up := s.begin(id, f)
		s.no(s.UploadChunk(s.Context(), id, up.ID, f.chunk(1)))
		for _, tt := range []struct {
			name  string
			chunk api.UploadChunk
			code  api.Code
		}{
			{"the hash of another chunk", bad(f.chunk(0), func(c *api.UploadChunk) { c.SHA256 = f.chunk(2).SHA256 }), api.CodeInvalidRequest},
			{"no hash", bad(f.chunk(0), func(c *api.UploadChunk) { c.SHA256 = "" }), api.CodeInvalidRequest},
			{"a byte that changed on its way", bad(f.chunk(0), func(c *api.UploadChunk) { c.Data[3]++ }), api.CodeInvalidRequest},
			{"no bytes", whole(api.UploadChunk{Index: 0}), api.CodeInvalidRequest},
			{"a byte too many", whole(bad(f.chunk(0), func(c *api.UploadChunk) { c.Data = append(c.Data, 'x') })), api.CodeInvalidRequest},
			{"a byte too few", whole(bad(f.chunk(0), func(c *api.UploadChunk) { c.Data = c.Data[1:] })), api.CodeUploadConflict},
			{"the last one with a byte too many", whole(bad(f.chunk(2), func(c *api.UploadChunk) { c.Data = append(c.Data, 'x') })), api.CodeUploadConflict},
			{"the last one with a byte too few", whole(bad(f.chunk(2), func(c *api.UploadChunk) { c.Data = c.Data[1:] })), api.CodeUploadConflict},
			{"a place before the first", bad(f.chunk(0), func(c *api.UploadChunk) { c.Index = -1 }), api.CodeUploadConflict},
			{"a place behind the last", bad(f.chunk(2), func(c *api.UploadChunk) { c.Index = 3 }), api.CodeUploadConflict},
			{"a place far behind the last", bad(f.chunk(2), func(c *api.UploadChunk) { c.Index = 1 << 40 }), api.CodeUploadConflict},
			{"other bytes than are there", whole(bad(f.chunk(1), func(c *api.UploadChunk) { c.Data[0]++ })), api.CodeUploadConflict},
		} {
			if err := s.UploadChunk(s.Context(), id, up.ID, tt.chunk); api.CodeOf(err) != tt.code {
				s.Errorf("%s: %v", tt.name, err)
			}
			if now := s.begin(id, f); !slices.Equal(now.Missing, []int{0, 2}) {
				s.Errorf("%s: then missing are %v", tt.name, now.Missing)
			}
		}
		s.upload(id, f)
	}},
	{"AT5 what cannot be a file is not begun, and what differs under one hash is a conflict", func(s *stage) {
		s.open(World{})
		id := s.session()
		f := pdfFile("a.pdf", "a", 300)
		for _, tt := range []struct {
			name   string
			change func(*api.UploadRequest)
			code   api.Code
		}{
			{"no bytes", func(r *api.UploadRequest) { r.Size = 0 }, api.CodeInvalidRequest},
			{"a negative size", func(r *api.UploadRequest) { r.Size = -1 }, api.CodeInvalidRequest},
			{"no hash", func(r *api.UploadRequest) { r.SHA256 = "" }, api.CodeInvalidRequest},
			{"a short hash", func(r *api.UploadRequest) { r.SHA256 = r.SHA256[:62] }, api.CodeInvalidRequest},
			{"a hash that is no hex", func(r *api.UploadRequest) { r.SHA256 = "x" + r.SHA256[1:] }, api.CodeInvalidRequest},
			{"no name", func(r *api.UploadRequest) { r.Name = "" }, api.CodeInvalidRequest},
			{"a name with a NUL", func(r *api.UploadRequest) { r.Name = "a\x00" }, api.CodeInvalidRequest},
			{"a media type that is none", func(r *api.UploadRequest) { r.MediaType = "pdf" }, api.CodeUnsupportedMedia},
		} {
			req := f.request()
			tt.change(&req)
			if _, err := s.BeginUpload(s.Context(), id, req); api.CodeOf(err) != tt.code {
				s.Errorf("%s: %v", tt.name, err)
			}
		}
		s.room(id, api.MaxSessionFileBytes)
		id = s.session()
		up := s.begin(id, f)
		for name, change := range map[string]func(*api.UploadRequest){
			"another size": func(r *api.UploadRequest) { r.Size++ },
			"another type": func(r *api.UploadRequest) { r.MediaType = "image/png" },
		} {
			req := f.request()
			change(&req)
			if _, err := s.BeginUpload(s.Context(), id, req); api.CodeOf(err) != api.CodeUploadConflict {
				s.Errorf("%s under the same hash: %v", name, err)
			}
		}
		req := f.request()
		req.SHA256, req.MediaType = strings.ToUpper(req.SHA256), "APPLICATION/PDF; a=b"
		if again, err := s.BeginUpload(s.Context(), id, req); err != nil || again.ID != up.ID || again.SHA256 != up.SHA256 {
			s.Errorf("the same in capitals: %+v, %v", again, err)
		}
		s.upload(id, f)
		s.room(id, api.MaxSessionFileBytes-f.size())
	}},
	{"AT4 AT5 a file that is not what was announced is not committed and gone, and may be announced again", func(s *stage) {
		s.open(World{})
		id := s.session()
		text, image := longText("a.txt", "text", 300), pngFile("a.png", 2, 2, 5)
		moved := text
		moved.data = append([]byte("y"), text.data[1:]...)
		for _, tt := range []struct {
			name string
			sent file
			as   api.UploadRequest
			code api.Code
		}{
			{"the hash is that of other bytes", text, moved.request(), api.CodeUploadConflict},
			{"a PNG is said to be a PDF", image, api.UploadRequest{Name: "a.pdf", MediaType: "application/pdf", Size: image.size(), SHA256: image.sum()}, api.CodeUnsupportedMedia},
			{"a text is said to be a PNG", text, api.UploadRequest{Name: "a.png", MediaType: "image/png", Size: text.size(), SHA256: text.sum()}, api.CodeUnsupportedMedia},
			{"it is nothing that is taken", file{data: []byte("PK\x03\x04")}, api.UploadRequest{Name: "a.docx", Size: 4, SHA256: file{data: []byte("PK\x03\x04")}.sum()}, api.CodeUnsupportedMedia},
		} {
			up, err := s.BeginUpload(s.Context(), id, tt.as)
			s.no(err)
			s.no(s.UploadChunk(s.Context(), id, up.ID, tt.sent.chunk(0)))
			_, err = s.CommitUpload(s.Context(), id, up.ID)
			s.code(err, tt.code)
			if !strings.Contains(err.Error(), tt.as.Name) {
				s.Errorf("%s: the error does not name the file: %v", tt.name, err)
			}
			_, err = s.CommitUpload(s.Context(), id, up.ID)
			s.code(err, api.CodeAttachmentNotFound)
			s.code(s.UploadChunk(s.Context(), id, up.ID, tt.sent.chunk(0)), api.CodeAttachmentNotFound)
		}
		for _, f := range []file{text, moved, image} {
			if up := s.begin(id, f); up.State != api.UploadOpen || len(up.Missing) != 1 {
				s.Errorf("announced again %s is %+v", f.name, up)
			}
			s.upload(id, f)
		}
		s.room(id, api.MaxSessionFileBytes-text.size()-moved.size()-image.size())
	}},
	{"AT5 an upload is its session's alone, and a session that is not there or deleted has none", func(s *stage) {
		s.open(World{})
		id, other, gone := s.session(), s.session(), s.session()
		f := textFile("a.txt", "a")
		up, lost := s.begin(id, f), s.begin(gone, f)
		s.no(s.DeleteSession(s.Context(), gone, api.DeleteOptions{}))
		for _, tt := range []struct {
			name, session, upload string
			code                  api.Code
		}{
			{"another session's", other, up.ID, api.CodeAttachmentNotFound},
			{"one that nobody began", id, id + "-a000000000000000000000000", api.CodeAttachmentNotFound},
			{"no ID", id, "", api.CodeAttachmentNotFound},
			{"a run's", id, id + "-r1", api.CodeAttachmentNotFound},
			{"a deleted session's", gone, lost.ID, api.CodeSessionDeleted},
			{"nobody's", "s00000000000000000000", "s00000000000000000000-a000000000000000000000000", api.CodeSessionNotFound},
		} {
			if err := s.UploadChunk(s.Context(), tt.session, tt.upload, f.chunk(0)); api.CodeOf(err) != tt.code {
				s.Errorf("a chunk of %s: %v", tt.name, err)
			}
			if _, err := s.CommitUpload(s.Context(), tt.session, tt.upload); api.CodeOf(err) != tt.code {
				s.Errorf("the commit of %s: %v", tt.name, err)
			}
			if _, err := s.BeginUpload(s.Context(), tt.session, f.request()); tt.code != api.CodeAttachmentNotFound && api.CodeOf(err) != tt.code {
				s.Errorf("the beginning of %s: %v", tt.name, err)
			}
		}
		s.process.Stop()
		_, began := s.BeginUpload(s.Context(), id, f.request())
		_, committed := s.CommitUpload(s.Context(), id, up.ID)
		for name, err := range map[string]error{"begin": began, "chunk": s.UploadChunk(s.Context(), id, up.ID, f.chunk(0)), "commit": committed} {
			if api.CodeOf(err) != api.CodeClosed {
				s.Errorf("%s after the service was closed: %v", name, err)
			}
		}
		s.look()
	}},
	{"AT5 several callers of two processes upload one file at once, and it is one file", func(s *stage) {
		var prompts asked
		w := World{Model: prompts.by(rounds(Answer{Text: "ok"}))}
		s.open(w)
		other := s.store.Open(s.t, w)
		id := s.session()
		f := longText("a.txt", "together", 3*api.UploadChunkBytes)
		var wg sync.WaitGroup
		ups, errs := make([]api.Upload, 6), make([]error, 6)
		for i := range ups {
			p := []api.Service{s, other}[i%2]
			wg.Go(func() {
				up, err := p.BeginUpload(s.Context(), id, f.request())
				for n := 0; err == nil && n < 3; n++ {
					err = p.UploadChunk(s.Context(), id, up.ID, f.chunk((n+i)%3))
				}
				if err == nil {
					up, err = p.CommitUpload(s.Context(), id, up.ID)
				}
				ups[i], errs[i] = up, err
			})
		}
		wg.Wait()
		for i, up := range ups {
			s.no(errs[i])
			if up.ID != ups[0].ID || up.State != api.UploadCommitted {
				s.Errorf("caller %d has %+v", i, up)
			}
		}
		s.ends(s.deliver(id, f.stored(ups[0].ID)), api.StatusCompleted)
		if got := shown(prompts.all()[0].parts()); !slices.Equal(got, shows(f)) {
			s.Errorf("the model was shown %q", got)
		}
		s.room(id, api.MaxSessionFileBytes-f.size())
	}},
}
