package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// attached is what a message has beside its text: its blocks, and what becomes of the session's files with it.
type attached struct {
	blocks []engine.Block
	files  runtime.Files
	stored []string // IDs of files that are to be there already, the originals of redacted ones among them
}

// attach makes of a submission one with content: texts, files that were uploaded or were not, files that come with it,
// and files of which guardrails leave less.
func (w *world) attach(sub *submission) {
	s := sub.session
	a := &attached{blocks: []engine.Block{{Text: sub.text}}}
	for range w.rng.IntN(4) {
		name := pick(w, []string{"", "a ", "the "})
		switch b := w.someBlob(); {
		case w.chance(0.4) && len(b.data) <= store.ChunkBytes:
			a.add(s, b)
			a.blocks = append(a.blocks, engine.Block{File: b.ref(s.id, name+b.name)})
		case w.chance(0.4) && b.redacted != nil:
			if id := b.id(s.id); !slices.Contains(a.files.Discarded, id) {
				a.files.Discarded = append(a.files.Discarded, id)
			}
			a.stored = append(a.stored, b.id(s.id))
			a.add(s, b.redacted)
			a.blocks = append(a.blocks, engine.Block{File: b.redacted.ref(s.id, name+b.name)})
		default:
			for _, other := range w.blobs { // rather one that is there
				if f, there := s.files[other.id(s.id)]; there && f.State != store.FileOpen && w.chance(0.5) {
					b = other
				}
			}
			a.stored = append(a.stored, b.id(s.id))
			a.blocks = append(a.blocks, engine.Block{File: b.ref(s.id, name+b.name)})
		}
	}
	if w.chance(0.3) {
		a.blocks = append(a.blocks, engine.Block{Text: "what is it?"})
	}
	sub.attached = a
}

// add lets a file come with the message.
func (a *attached) add(s *session, b *blob) {
	row := b.row(s.id)
	row.MediaType, row.Expires = b.mediaType, origin.Add(s.w.now+api.UploadTime)
	a.files.New = append(a.files.New, store.NewFile{File: row, Data: b.data})
}

// binary names a file of the message that no guardrail can look into.
func (a *attached) binary() bool {
	return slices.ContainsFunc(a.blocks, func(b engine.Block) bool { return b.File != nil && b.File.IsBinary() })
}

// refused reports whether the message has a file that the model is known not to take.
func (a *attached) refused(types []string) bool {
	return slices.ContainsFunc(a.blocks, func(b engine.Block) bool { return b.File != nil && slices.Contains(types, b.File.MediaType) })
}

// admit does what comes before a message with content is brought to its session: what may be refused is, mostly, and
// the files are looked for. Whether they are there as it is accepted, its append alone can tell.
func (w *world) admit(p *process, sub *submission, msg engine.Message, then func()) {
	a, s := sub.attached, sub.session
	switch {
	case msg.Inspects != "" && a.binary(), a.refused(msg.Refuses):
		w.saw("file that is not to be sent")
		sub.refused = true
		return
	case len(a.stored) == 0 || w.chance(0.3):
		then()
		return
	}
	p.call("find files", false, func() func() {
		for _, id := range a.stored {
			f, err := w.disk.file(s.id, id)
			if err != nil || f.State == store.FileOpen || f.Expired(p.wall()) {
				return func() {
					w.saw("file that is not there")
					sub.refused = true
				}
			}
		}
		return then
	})
}

// forget removes what was uploaded once more for a message that had been accepted.
func (w *world) forgetFiles(p *process, sub *submission) {
	if sub.attached != nil {
		for _, id := range sub.attached.stored {
			w.discardOne(p, sub.session, id)
		}
	}
}

// textOf is what a message is known by: its text, or its first block.
func textOf(e engine.TurnAccepted) string {
	if len(e.Content) > 0 {
		return e.Content[0].Text
	}
	return e.Text
}

// sameContent holds that a message was stored whole: with all its blocks, in their order.
func (s *session) sameContent(f engine.Fact, e engine.TurnAccepted) {
	i := slices.IndexFunc(s.w.sent, func(sub *submission) bool { return sub.session == s && sub.text == textOf(e) })
	if i < 0 {
		return
	}
	var want []engine.Block
	if a := s.w.sent[i].attached; a != nil {
		want = a.blocks
	}
	if !reflect.DeepEqual(e.Content, want) {
		s.w.fail("session %s: event %d has the content %s; what was sent is %s", s.id, f.Number, briefBlocks(e.Content), briefBlocks(want))
	}
}

// checkFilesOf holds that an append does with files what the messages do that it accepts, and nothing else.
func (w *world) checkFilesOf(a store.Append) {
	var want, got [3][]string // accepted in whatever way, new, discarded
	for _, r := range a.Records {
		if r.Kind != "turn_accepted" {
			continue
		}
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err != nil {
			w.fail("append %s: %v", a.ID, err)
		}
		accepted := e.(engine.TurnAccepted)
		for _, b := range accepted.Content {
			if b.File != nil {
				want[0] = append(want[0], b.File.ID)
			}
		}
		for _, sub := range w.sent {
			if sub.attached != nil && sub.session.id == a.Session && sub.text == textOf(accepted) {
				for _, f := range sub.attached.files.New {
					want[1] = append(want[1], f.ID)
				}
				want[2] = append(want[2], sub.attached.files.Discarded...)
			}
		}
	}
	for _, f := range a.Files {
		got[1] = append(got[1], f.ID)
	}
	got[0], got[2] = slices.Concat(a.Accept, got[1]), slices.Clone(a.Discard)
	for i := range want {
		slices.Sort(want[i])
		slices.Sort(got[i])
		if want[i], got[i] = slices.Compact(want[i]), slices.Compact(got[i]); !slices.Equal(want[i], got[i]) {
			w.fail("append %s to %s accepts, adds and discards the files %v; its messages %v", a.ID, a.Session, got, want)
		}
	}
}

// reader reads files as the runtime does, from a disk that fails at times.
type reader struct {
	store.Files
	d *disk
}

func (r reader) File(_ context.Context, session, id string) (store.File, error) {
	if err := r.d.busy(); err != nil {
		return store.File{}, err
	}
	return r.d.file(session, id)
}

func (r reader) Chunk(_ context.Context, session, id string, index int) ([]byte, error) {
	if err := r.d.busy(); err != nil {
		return nil, err
	}
	return r.d.chunk(session, id, index)
}

func hasFiles(req model.Request) bool {
	return slices.ContainsFunc(req.Items, func(it model.Item) bool {
		return slices.ContainsFunc(it.Parts, func(part model.Part) bool { return part.MediaType != "" })
	})
}

// withFiles gives a request the bytes of its files, as the runtime does. They must be there, and be those that the
// journal refers to.
func (w *world) withFiles(session string, req model.Request) (model.Request, *api.Error) {
	s := w.sessions[session]
	req.Items, req.Encoded = slices.Clone(req.Items), nil
	for i := range req.Items {
		req.Items[i].Parts = slices.Clone(req.Items[i].Parts)
		for n := range req.Items[i].Parts {
			part := &req.Items[i].Parts[n]
			if part.MediaType == "" {
				continue
			}
			data, err := runtime.ReadFile(w.disk.ctx(), reader{d: w.disk}, session, part.ID)
			ref := s.refers[part.ID] // nil while the message is on its way to the journal
			if errors.Is(err, store.ErrFileNotFound) {
				if ref != nil {
					w.fail("session %s: file %s of the conversation cannot be read: %v", session, part.ID, err)
				}
				return req, api.Errorf(api.CodeStoreCorrupt, "a file of the conversation is not there")
			}
			if err != nil {
				return req, api.AsError(err)
			}
			if ref != nil && (ref.MediaType != part.MediaType || ref.Size != part.Size || !bytes.Equal(data, w.stage.blob(ref.SHA256).data)) {
				w.fail("session %s: the model is to get %q (%s) as file %s, to which the journal refers as %+v", session, part.Name, part.MediaType, part.ID, ref)
			}
			part.Data = data
		}
	}
	w.saw("request with files")
	return req, nil
}

// admitted holds that nothing is in the context as a message is accepted that its guardrail cannot look into (AT7), or
// that its model is known not to take (AT8).
func (s *session) admitted(f engine.Fact, e engine.TurnAccepted) {
	held := s.state.Context.Files
	for _, q := range s.state.Queue { // what runs before it
		if q.Run == e.Run {
			break
		}
		held = slices.Concat(held, q.Files)
	}
	for _, h := range held {
		file := engine.File{MediaType: h.MediaType}
		switch {
		case slices.Contains(e.Guardrails, turnGuardrail) && file.IsBinary():
			s.w.fail("session %s: event %d accepts a message under a guardrail that cannot look into the file %q of event %d", s.id, f.Number, h.Name, h.Number)
		case !s.w.calm && slices.Contains(s.w.stage.facts(e.Model).Refused, h.MediaType): // the last message is sent whatever there is
			s.w.fail("session %s: event %d accepts a message for a model that does not take the file %q of event %d", s.id, f.Number, h.Name, h.Number)
		}
	}
}

func briefBlocks(blocks []engine.Block) string {
	data, _ := json.Marshal(blocks) // texts and plain structs
	return brief(string(data))
}
