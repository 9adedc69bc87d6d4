package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/content"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// given is a message with content on its way through admission: its blocks, and the files that they refer to.
type given struct {
	blocks []content.Block
	files  []store.File // by block; of those that are here, what is known before they are stored
	named  []string     // IDs of the files as the message has them, before any redaction
	put    []string     // IDs of files that are stored for this message alone
}

// contentOf checks the blocks of a message, and gives each file its ID.
func contentOf(session string, f *facts, sub api.Submission) (*given, error) {
	if sub.Content == nil {
		return nil, nil
	}
	if sub.Text != "" {
		return nil, api.Errorf(api.CodeInvalidRequest, "a message has text or content, and this one has both; make the text a block of the content")
	}
	blocks, err := content.Blocks(sub.Content)
	if err != nil {
		return nil, err
	}
	g := &given{blocks: blocks, files: make([]store.File, len(blocks))}
	for i, b := range blocks {
		if b.IsFile() && b.ID == "" {
			sum := hexSum(b.Data)
			g.files[i] = store.File{
				ID: fileID(session, f.secret, sum), Name: b.Name, Announced: b.MediaType, Size: int64(len(b.Data)), SHA256: sum,
				FileType: store.FileType{MediaType: b.Found.MediaType, Width: b.Found.Width, Height: b.Found.Height},
			}
		} else if b.IsFile() {
			g.files[i] = store.File{ID: b.ID}
		}
		if b.IsFile() {
			g.named = append(g.named, g.files[i].ID)
		}
	}
	return g, nil
}

// fields are what a repeat has in common: the texts, the files by hash and label, and the order of both (RU4). The hash is
// in the ID.
func (g *given) fields() (texts []string, files [][2]string, order string) {
	for i, b := range g.blocks {
		if b.IsFile() {
			files, order = append(files, [2]string{b.Name, g.files[i].ID}), order+"f"
			continue
		}
		texts, order = append(texts, b.Text), order+"t"
	}
	return texts, files, order
}

// names are those of the files, for an error that is about one of them.
func (g *given) names() string {
	var names []string
	if g != nil {
		for _, b := range g.blocks {
			if b.IsFile() {
				names = append(names, b.Name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// forget removes what was uploaded once more for a message that had been accepted already, unless a message refers to it:
// the original of what was redacted then must not stay (GR3).
func (g *given) forget(ctx context.Context, s *Service, session string) {
	if g != nil {
		s.discard(ctx, session, g.named)
	}
}

// withdraw removes what was stored for a message that is refused. Where nobody knows whether it is, it expires.
func (g *given) withdraw(ctx context.Context, s *Service, session string, refusal error) {
	code := api.CodeOf(refusal)
	unknown := code == api.CodeCancelled || code == api.CodeClosed || strings.HasPrefix(string(code), "store_") || errors.Is(refusal, store.ErrFateUnknown)
	if g != nil && !unknown {
		s.discard(ctx, session, g.put)
	}
}

func (s *Service) discard(ctx context.Context, session string, ids []string) {
	for _, id := range ids {
		if s.own(session, id) != nil {
			continue
		}
		if err := s.store.Discard(ctx, session, id); err != nil {
			s.log.Warn("a file that no message needs could not be removed; it expires", "session", session, "file", id, "error", err)
		}
	}
}

// find finds the stored files, holds what is said of them against what they are, and their sizes against the bounds
// (AT3, AT4, AT8).
func (g *given) find(ctx context.Context, s *Service, session string, of api.ModelRef, facts model.Facts) error {
	var total int64
	if most := facts.ManyImages; most > 0 && facts.MaxImageSideMany > 0 && g.images() > most {
		facts.MaxImageSide = facts.MaxImageSideMany
	}
	for i, b := range g.blocks {
		if !b.IsFile() {
			continue
		}
		if b.ID != "" {
			row, err := s.file(ctx, session, b.ID)
			switch {
			case err != nil:
				return block(i, err)
			case row.State == store.FileOpen:
				return block(i, noFile(b.ID))
			case api.Block(row.MediaType) == api.BlockImage != b.Image:
				return block(i, api.Errorf(api.CodeUnsupportedMedia, "the stored file %s is %s, which belongs into a block of type %q; a label cannot change that", b.ID, row.MediaType, api.Block(row.MediaType)).With("file", b.Name))
			case !content.SameKind(b.MediaType, row.MediaType):
				return block(i, api.Errorf(api.CodeUnsupportedMedia, "the stored file %s is %s and is said to be %s; a label cannot change that", b.ID, row.MediaType, b.MediaType).With("file", b.Name))
			case b.Size != 0 && b.Size != row.Size || b.SHA256 != "" && strings.ToLower(b.SHA256) != row.SHA256:
				return block(i, api.Errorf(api.CodeUploadConflict, "the stored file %s has %d bytes with the SHA-256 %s, which is not what the message says; leave both out, or give them as they are", b.ID, row.Size, row.SHA256).With("file", b.Name))
			}
			g.files[i] = row
		}
		if err := takes(b.Name, g.files[i], of, facts); err != nil {
			return block(i, err)
		}
		total += g.files[i].Size
	}
	if total > api.MaxMessageFileBytes {
		return measured(api.Errorf(api.CodeAttachmentTooLarge, "the files of the message have %d bytes together; at most %d are taken. Send some in a message before", total, int64(api.MaxMessageFileBytes)),
			content.RuleMessageFiles, total, api.MaxMessageFileBytes)
	}
	if most := facts.MaxFilesBytes; most > 0 && total > most {
		return measured(api.Errorf(api.CodeAttachmentTooLarge, "the files of the message have %d bytes together, and %s takes at most %d in a request; send fewer, or choose another model", total, of.Provider, most),
			"model_files_bytes", total, most)
	}
	return nil
}

// images is how many there are.
func (g *given) images() (n int) {
	for _, b := range g.blocks {
		if b.Image {
			n++
		}
	}
	return n
}

// block says which block of a message an error is about.
func block(i int, err error) error {
	e := api.AsError(err)
	e.Message = fmt.Sprintf("block %d of the message: %s", i+1, e.Message)
	return e.With("block", fmt.Sprint(i+1))
}

// takes refuses a file that the chosen model is known not to take (AT4, AT8).
func takes(name string, f store.File, of api.ModelRef, facts model.Facts) *api.Error {
	if takes, known := facts.Takes(f.MediaType); known && !takes {
		return api.Errorf(api.CodeUnsupportedMedia, "the model %s of %s takes no %s, which the file %q is; choose another model", of.Name, of.Provider, f.MediaType, name).With("file", name)
	}
	most, side, where := int64(0), facts.MaxImageSide, ""
	if side > 0 && side == facts.MaxImageSideMany {
		where = fmt.Sprintf(" where a request has more than %d images; send fewer at once, or make it smaller", facts.ManyImages)
	}
	switch {
	case api.Block(f.MediaType) == api.BlockImage:
		most = facts.MaxImageBytes
		if longest := max(f.Width, f.Height); side > 0 && longest > side {
			return measured(api.Errorf(api.CodeAttachmentTooLarge, "the image %q has %d × %d pixels, and %s takes at most %d on a side%s", name, f.Width, f.Height, of.Provider, side, where).With("file", name),
				"model_image_side", int64(longest), int64(side))
		}
	case f.MediaType == model.TypePDF:
		most = facts.MaxPDFBytes
	}
	if most > 0 && f.Size > most {
		return tooLarge("model_file_bytes", name, f.Size, most, of.Provider+" takes")
	}
	return nil
}

// screen lets guardrails see the texts and the decoded text files (AT7), and stores what is not stored yet. What it
// returns is the message, and what becomes of the session's files as it is accepted.
func (g *given) screen(ctx context.Context, s *Service, session string, f *facts, in inForce) ([]engine.Block, []api.GuardVerdict, runtime.Files, error) {
	var files runtime.Files
	parts := make([]model.Part, len(g.blocks))
	looks := policy.Has(in, guard.UserInput) || policy.Has(in, guard.ModelInput)
	for i, b := range g.blocks {
		parts[i].Text = b.Text
		if !b.IsFile() {
			continue
		}
		row := g.files[i]
		parts[i] = model.Part{ID: row.ID, Name: b.Name, MediaType: row.MediaType, Size: row.Size, Data: b.Data}
		if looks && b.ID != "" && content.IsText(row.MediaType) && row.Size <= api.MaxGuardedBytes {
			data, err := runtime.ReadFile(ctx, s.store, session, b.ID)
			if err != nil {
				return nil, nil, files, block(i, s.translateFile(ctx, session, b.Name, err))
			}
			parts[i].Data = data
		}
	}
	var verdicts []api.GuardVerdict
	if looks {
		screened, checks, refused := policy.ScreenMessage(ctx, in, s.about(session, f), parts)
		if refused != nil {
			return nil, nil, files, refused
		}
		verdicts = checks
		for i := range screened {
			if g.blocks[i].IsFile() && !bytes.Equal(screened[i].Data, parts[i].Data) {
				g.redact(i, session, f, screened[i].Data, &files)
			}
		}
		parts = screened
	}
	blocks := make([]engine.Block, len(parts))
	texts := 0
	for i, p := range parts {
		if !g.blocks[i].IsFile() {
			blocks[i].Text = p.Text
			texts += len(p.Text)
			continue
		}
		row, err := g.store(ctx, s, session, f, i, &files)
		if err != nil {
			return nil, nil, files, err
		}
		blocks[i].File = &engine.File{ID: row.ID, Name: g.blocks[i].Name, MediaType: row.MediaType, Size: row.Size, SHA256: row.SHA256}
	}
	if texts > api.MaxBlockTextBytes {
		return nil, nil, files, api.Errorf(api.CodeGuardrailFailed, "the text blocks of the message have %d bytes after their redaction; at most %d are taken", texts, api.MaxBlockTextBytes)
	}
	return blocks, verdicts, files, nil
}

// redact puts a new file in the place of one of which guardrails let less pass. The original goes as the message is
// accepted, and one that is not stored never is (GR3).
func (g *given) redact(i int, session string, f *facts, data []byte, files *runtime.Files) {
	b, row := &g.blocks[i], &g.files[i]
	files.Discarded = append(files.Discarded, row.ID) // also of one that is here: it may have been uploaded as well
	sum := hexSum(data)
	*row = store.File{ID: fileID(session, f.secret, sum), Name: b.Name, Size: int64(len(data)), SHA256: sum, FileType: store.FileType{MediaType: row.MediaType}}
	b.ID, b.Data = "", data
}

// store sees to it that a file is there when the message is accepted. A small one that is at hand is stored with the
// message.
func (g *given) store(ctx context.Context, s *Service, session string, f *facts, i int, files *runtime.Files) (store.File, error) {
	b, row := g.blocks[i], g.files[i]
	switch {
	case b.ID != "":
		return row, nil
	case len(b.Data) <= store.ChunkBytes:
		row.Expires = store.Millis(time.Now().Add(api.UploadTime))
		files.New = append(files.New, store.NewFile{File: row, Data: b.Data})
		return row, nil
	}
	row, fresh, err := s.put(ctx, session, f, b.Name, b.MediaType, b.Data)
	if fresh {
		g.put = append(g.put, g.files[i].ID)
	}
	if err != nil {
		return row, block(i, err)
	}
	return row, nil
}
