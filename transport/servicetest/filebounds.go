package servicetest

import (
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// bounds of files are tried from below: one under the bound, the bound, and one above, which must change nothing.

var boundTests = []test{
	{"AT3 a file has at most 8 MiB, whether it is announced or in the message", func(s *stage) {
		s.open(World{})
		id := s.session()
		for _, d := range []int{-1, 0} {
			f := pdfFile("a.pdf", fmt.Sprint("inline ", d), api.MaxFileBytes+d)
			s.begin(id, file{f.name, f.mediaType, f.data})
			s.ends(s.deliver(id, f.inline()), api.StatusCompleted)
		}
		over := pdfFile("too-large.pdf", "over", api.MaxFileBytes+1)
		err := s.refused(id, api.CodeAttachmentTooLarge, fmt.Sprint(over.size()), api.TurnOptions{}, over.inline())
		s.detail(err, "value", over.size())
		_, begun := s.BeginUpload(s.Context(), id, over.request())
		s.code(begun, api.CodeAttachmentTooLarge)
		s.detail(begun, "value", over.size())
		s.detail(begun, "limit", api.MaxFileBytes)
		for _, err := range []error{err, begun} {
			if !strings.Contains(err.Error(), over.name) || !strings.Contains(err.Error(), fmt.Sprint(api.MaxFileBytes)) {
				s.Errorf("the error does not name the file and the bound: %v", err)
			}
		}
		s.room(id, api.MaxSessionFileBytes-2*api.MaxFileBytes+1)
	}},
	{"AT3 the files of a message have at most 16 MiB together, stored ones and those in it", func(s *stage) {
		s.open(World{})
		id := s.session()
		a, b, last := longText("a.txt", "a", api.MaxFileBytes), longText("b.txt", "b", api.MaxFileBytes-1), textFile("c.txt", "c")
		more := textFile("d.txt", "d")
		for _, f := range []file{a, b} {
			s.upload(id, f)
		}
		left, right := a.stored(s.begin(id, a).ID), b.stored(s.begin(id, b).ID)
		for name, over := range map[string][]api.ContentBlock{
			"stored and in the message": {left, right, last.inline(), text("x"), more.inline()},
			"all in the message":        {a.inline(), b.inline(), last.inline(), text("x"), more.inline()},
			"one of them twice":         {left, left, last.inline()},
		} {
			err := s.refused(id, api.CodeAttachmentTooLarge, fmt.Sprint(api.MaxMessageFileBytes+1), api.TurnOptions{}, over...)
			if err.Details["rule"] != "message_files_bytes" || err.Details["value"] != fmt.Sprint(api.MaxMessageFileBytes+1) || err.Details["limit"] != fmt.Sprint(api.MaxMessageFileBytes) {
				s.Errorf("%s: the details are %v", name, err.Details)
			}
		}
		s.ends(s.deliver(id, left, right), api.StatusCompleted)
		s.ends(s.deliver(id, left, text("x"), last.inline(), right), api.StatusCompleted)
		s.room(id, api.MaxSessionFileBytes-api.MaxMessageFileBytes)
	}},
	{"AT3 a message has at most 32 blocks, files and texts together, and at least one", func(s *stage) {
		s.open(World{})
		id := s.session()
		blocks := func(n int) (list []api.ContentBlock) {
			for i := range n {
				if i%2 == 0 {
					list = append(list, text("x"))
				} else {
					list = append(list, api.TextDocument("a.txt", "the same"))
				}
			}
			return list
		}
		for _, n := range []int{1, api.MaxBlocks - 1, api.MaxBlocks} {
			s.ends(s.deliver(id, blocks(n)...), api.StatusCompleted)
		}
		for _, n := range []int{api.MaxBlocks + 1, 10 * api.MaxBlocks} {
			s.detail(s.refused(id, api.CodeInvalidRequest, fmt.Sprint(n, " blocks"), api.TurnOptions{}, blocks(n)...), "value", n)
		}
		s.detail(s.refused(id, api.CodeInvalidRequest, "0 blocks", api.TurnOptions{}, []api.ContentBlock{}...), "value", 0)
	}},
	{"AT3 text blocks have at most 32,000 bytes together, a plain message 256,000, and a text file counts as neither", func(s *stage) {
		s.open(World{})
		id := s.session()
		texts := func(n int) []api.ContentBlock {
			return []api.ContentBlock{text(strings.Repeat("é", n/4)), api.TextDocument("a.txt", strings.Repeat("x", 2*api.MaxBlockTextBytes)), text(strings.Repeat("x", n-n/4*2))}
		}
		for _, n := range []int{api.MaxBlockTextBytes - 1, api.MaxBlockTextBytes} {
			s.ends(s.deliver(id, texts(n)...), api.StatusCompleted)
		}
		err := s.refused(id, api.CodeInvalidRequest, fmt.Sprint(api.MaxBlockTextBytes+1), api.TurnOptions{}, texts(api.MaxBlockTextBytes+1)...)
		s.detail(err, "value", api.MaxBlockTextBytes+1)
		s.detail(err, "block", 3)
		s.say(id, strings.Repeat("x", api.MaxMessageBytes))
		_, long := s.Submit(s.Context(), api.Submission{Session: id, Text: strings.Repeat("x", api.MaxMessageBytes+1)})
		s.code(long, api.CodeInvalidRequest)
		if !strings.Contains(long.Error(), fmt.Sprint(api.MaxMessageBytes+1)) {
			s.Errorf("the error does not tell the size: %v", long)
		}
	}},
	{"AT1 a file's name has 1 to 255 bytes, and a stored file's ID at most 256", func(s *stage) {
		s.open(World{})
		id := s.session()
		f := textFile("", "named")
		for _, n := range []int{1, api.MaxFileNameBytes - 1, api.MaxFileNameBytes} {
			named := f.named(strings.Repeat("é", n/2) + strings.Repeat("x", n%2))
			s.upload(id, named)
			run := s.deliver(id, named.inline())
			s.ends(run, api.StatusCompleted)
			if got := s.accepted(run).Content[0].Name; got != named.name {
				s.Errorf("a name of %d bytes became one of %d", n, len(got))
			}
		}
		for _, n := range []int{0, api.MaxFileNameBytes + 1} {
			named := f.named(strings.Repeat("x", n))
			s.detail(s.refused(id, api.CodeInvalidRequest, fmt.Sprint(n, " bytes"), api.TurnOptions{}, named.inline()), "value", n)
			_, err := s.BeginUpload(s.Context(), id, named.request())
			s.code(err, api.CodeInvalidRequest)
			s.detail(err, "value", n)
		}
		s.refused(id, api.CodeAttachmentNotFound, "no file", api.TurnOptions{}, f.named("a").stored(strings.Repeat("x", 256)))
		s.refused(id, api.CodeInvalidRequest, "257 bytes", api.TurnOptions{}, f.named("a").stored(strings.Repeat("x", 257)))
	}},
	{"AT3 a session keeps at most 128 files, those on their way included, and a refusal takes none of the room", func(s *stage) {
		s.open(World{})
		id := s.session()
		numbered := func(i int) file { return textFile("a.txt", fmt.Sprint("file ", i)) }
		s.ends(s.deliver(id, numbered(0).inline(), numbered(1).inline(), numbered(2).inline()), api.StatusCompleted)
		s.upload(id, numbered(3))
		for i := 4; i < api.MaxSessionFiles-1; i++ {
			s.begin(id, numbered(i))
		}
		one, other := numbered(1000), numbered(1001)
		err := s.refused(id, api.CodeAttachmentQuota, fmt.Sprint(api.MaxSessionFiles), api.TurnOptions{}, one.inline(), other.inline())
		s.detail(err, "file", "a.txt, a.txt")
		damaged := file{"b.pdf", "application/pdf", pdfFile("b.pdf", "damaged", 100).data[:80]}
		s.refused(id, api.CodeUnsupportedMedia, "damaged", api.TurnOptions{}, one.inline(), damaged.inline())
		s.ends(s.deliver(id, one.inline(), numbered(0).inline(), numbered(3).inline()), api.StatusCompleted)
		s.refused(id, api.CodeAttachmentQuota, fmt.Sprint(api.MaxSessionFiles), api.TurnOptions{}, other.inline())
		_, begun := s.BeginUpload(s.Context(), id, other.request())
		s.code(begun, api.CodeAttachmentQuota)
		s.detail(begun, "rule", "session_files")
		s.detail(begun, "value", api.MaxSessionFiles+1)
		s.detail(begun, "limit", api.MaxSessionFiles)
		s.begin(id, numbered(100)) // is there
		s.ends(s.deliver(id, one.inline(), numbered(2).inline()), api.StatusCompleted)
		s.ends(s.deliver(s.session(), other.inline()), api.StatusCompleted) // each session has its own room
	}},
	{"AT3 a session keeps at most 64 MiB of files, those on their way included, and a refusal takes none of the room", func(s *stage) {
		s.open(World{})
		id := s.session()
		left := int64(api.MaxSessionFileBytes)
		stored := longText("a.txt", "stored", api.UploadChunkBytes)
		s.ends(s.deliver(id, stored.inline(), stored.inline()), api.StatusCompleted)
		left -= stored.size()
		staged := longText("b.txt", "staged", 3*api.UploadChunkBytes)
		s.upload(id, staged)
		left -= staged.size()
		for i := 0; left > 1000; i++ {
			size := min(left-1000, api.MaxFileBytes)
			s.begin(id, file{name: "on its way", data: append([]byte(fmt.Sprint(i)), make([]byte, size-int64(len(fmt.Sprint(i))))...)})
			left -= size
		}
		over := longText("c.txt", "over", 1001)
		err := s.refused(id, api.CodeAttachmentQuota, "c.txt", api.TurnOptions{}, text("x"), over.inline())
		s.detail(err, "file", over.name)
		s.refused(id, api.CodeAttachmentQuota, "", api.TurnOptions{}, longText("d.txt", "half", 501).inline(), longText("e.txt", "other half", 500).inline())
		_, err2 := s.BeginUpload(s.Context(), id, over.request())
		s.code(err2, api.CodeAttachmentQuota)
		s.detail(err2, "rule", "session_file_bytes")
		s.detail(err2, "value", api.MaxSessionFileBytes+1)
		s.detail(err2, "limit", api.MaxSessionFileBytes)
		s.ends(s.deliver(id, staged.stored(s.begin(id, staged).ID), longText("c.txt", "below", 999).inline()), api.StatusCompleted)
		s.ends(s.deliver(id, stored.inline(), textFile("d.txt", "d").inline()), api.StatusCompleted)
		s.room(id, 0)
		s.ends(s.deliver(id, stored.inline(), staged.inline()), api.StatusCompleted) // what is there takes nothing
	}},
}
