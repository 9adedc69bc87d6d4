package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// shelf is a store with one file, which a test may spoil.
type shelf struct {
	store.Store
	spoil func(chunk []byte) ([]byte, error) // nil: chunks are as they were stored
}

func (s shelf) Chunk(ctx context.Context, session, id string, index int) ([]byte, error) {
	chunk, err := s.Store.Chunk(ctx, session, id, index)
	if err == nil && s.spoil != nil {
		return s.spoil(chunk)
	}
	return chunk, err
}

// page is the text of the file: two chunks and a bit.
var page = strings.Repeat("a line of the page\n", 2*store.ChunkBytes/19+7)

// shelved has a session s whose file a1 is accepted by its message.
func shelved(t *testing.T, spoil func([]byte) ([]byte, error)) shelf {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mem := memstore.New(memstore.Config{})
	sum := sha256.Sum256([]byte(page))
	made, err := Creation("made", "s", engine.Create{Event: engine.SessionCreated{Secret: []byte{1}}}, store.Creation{Agent: "a", Digest: "d"}, now)
	made.FileQuota = FileQuota
	made.Files = []store.NewFile{{File: store.File{ID: "a1", Name: "page.txt", Size: int64(len(page)), SHA256: hex.EncodeToString(sum[:]), Expires: now, FileType: store.FileType{MediaType: "text/plain"}}, Data: []byte(page)}}
	if err == nil {
		_, err = mem.Append(t.Context(), made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return shelf{mem, spoil}
}

// filed is a conversation whose message has the file, in a context of its own.
func filed(id string) *transcriptCache {
	c := &transcriptCache{}
	c.build([]engine.Fact{{Number: 2, Event: engine.TurnAccepted{Run: "r", Content: []engine.Block{{Text: "read"},
		{File: &engine.File{ID: id, Name: "page.txt", MediaType: "text/plain", Size: int64(len(page))}}}}}})
	return c
}

var (
	errIO   = errors.New("disk on fire")
	spoiled = map[string]struct {
		id        string
		spoil     func([]byte) ([]byte, error)
		code      api.Code
		retryable bool
	}{
		"a file that is not there":          {"a2", nil, api.CodeStoreCorrupt, false},
		"a byte that is another one":        {"a1", func(c []byte) ([]byte, error) { c[len(c)/2] ^= 1; return c, nil }, api.CodeStoreCorrupt, false},
		"a chunk that is too short":         {"a1", func(c []byte) ([]byte, error) { return c[1:], nil }, api.CodeStoreCorrupt, false},
		"a chunk that is not there":         {"a1", func([]byte) ([]byte, error) { return nil, store.ErrFileNotFound }, api.CodeStoreCorrupt, false},
		"a store that cannot read just now": {"a1", func([]byte) ([]byte, error) { return nil, errIO }, api.CodeStoreUnavailable, true},
	}
)

// AT6: the bytes are there for the one call, and what the session keeps of the conversation has them not.
func TestARequestHasTheBytesOfItsFilesAndTheConversationHasNot(t *testing.T) {
	t.Parallel()
	r := &Runtime{cfg: Config{Store: shelved(t, nil)}}
	c := filed("a1")
	items, encoded, _ := c.request()
	got, refused := r.withFiles(t.Context(), "s", model.Request{Items: items, Encoded: encoded})
	if refused != nil {
		t.Fatal(refused)
	}
	part := got.Items[0].Parts[1]
	if string(part.Data) != page || part.Name != "page.txt" || part.MediaType != "text/plain" || got.Items[0].Parts[0].Text != "read" {
		t.Errorf("the part is %s of type %s with %d bytes, want %d", part.Name, part.MediaType, len(part.Data), len(page))
	}
	if got.Encoded != nil {
		t.Error("an encoding of the bytes would be kept from call to call")
	}
	if err := model.Check(model.Request{Model: "m", Items: got.Items}); err != nil {
		t.Error(err)
	}
	for _, kept := range [][]model.Item{items, c.items} {
		if len(kept[0].Parts[1].Data) != 0 {
			t.Error("the conversation in memory has the bytes too")
		}
	}
	if c.bytes() > 1<<16 {
		t.Errorf("the cache holds %d bytes", c.bytes())
	}
	if again, _, _ := c.request(); len(again[0].Parts[1].Data) != 0 {
		t.Error("the next request begins with the bytes of this one")
	}
	for what, told := range map[string][]model.Item{"reviewer": c.told(), "summary": toldItems(c.t.Context(0))} {
		if p := told[0].Parts[1]; p.Data != nil || p.Name != "page.txt" || p.Size != int64(len(page)) || p.MediaType != "text/plain" {
			t.Errorf("a %s is told of %+v", what, p)
		}
	}
}

func TestARequestWithoutFilesKeepsItsEncoding(t *testing.T) {
	t.Parallel()
	r := &Runtime{cfg: Config{}} // no store is asked
	req := model.Request{Items: []model.Item{{Kind: model.UserItem, Text: "hi"}, {Kind: model.UserItem, Parts: []model.Part{{Text: "only words"}}}}, Encoded: &model.Encoded{}}
	got, refused := r.withFiles(t.Context(), "s", req)
	if refused != nil || got.Encoded != req.Encoded || &got.Items[0] != &req.Items[0] {
		t.Errorf("the request is another one: %+v, %v", got, refused)
	}
}

func TestAFileThatCannotBeReadIsNotSent(t *testing.T) {
	t.Parallel()
	for name, test := range spoiled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Runtime{cfg: Config{Store: shelved(t, test.spoil)}}
			items, encoded, _ := filed(test.id).request()
			_, refused := r.withFiles(t.Context(), "s", model.Request{Items: items, Encoded: encoded})
			if refused == nil || refused.Code != test.code || refused.Details["file"] != "page.txt" || !strings.Contains(refused.Message, "page.txt") {
				t.Fatalf("it is refused with %v, want %s and the file's name", refused, test.code)
			}
			if len(items[0].Parts[1].Data) != 0 {
				t.Error("bytes stay in the conversation")
			}
		})
	}
}

// A run whose file cannot be read fails with a code, and is tried again where that may help.
func TestAModelCallWhoseFileCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for name, test := range spoiled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := scripted.New(scripted.Config{})
			r := &Runtime{cfg: Config{Store: shelved(t, test.spoil), Registry: NewRegistry([]model.Provider{provider}, nil, Guards{}, time.Now),
				CheckRequest: func(model.Request) { t.Error("a request is sent") }}, hub: NewHub()}
			c := filed(test.id)
			state := &engine.State{Session: "s", Turn: &engine.Turn{Run: "r", Model: api.ModelRef{Provider: provider.Name(), Name: "demo"}}}
			s := Start{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "r", Call: 1, Attempt: 1}, Epoch: 3, State: state}
			s.Items, s.Encoded, s.Memo = c.request()
			failed, ok := r.callModel(t.Context(), &Agent{}, s).(engine.ModelError)
			if !ok || failed.Code != test.code || failed.Retryable != test.retryable || failed.Run != "r" || failed.Epoch != 3 || !strings.Contains(failed.Message, "page.txt") {
				t.Errorf("it comes to %+v", failed)
			}
		})
	}
}

// AT6: a provider that quotes what it was sent, or panics with it, tells nobody of a file's content.
func TestWhatAProviderSaysOfAFailureHasNoFileInIt(t *testing.T) {
	t.Parallel()
	file := []byte(strings.Repeat("\x00\xff\xfba line of the file?>", 40))
	standard, forAddresses, unpadded := base64.StdEncoding.EncodeToString(file), base64.URLEncoding.EncodeToString(file), base64.RawStdEncoding.EncodeToString(file)
	const note = "[left out: what may be a file's content]"
	for name, test := range map[string]struct{ says, told string }{
		"base64":                           {"bad image: " + standard, "bad image: " + note},
		"base64 for addresses":             {"bad image: " + forAddresses + " at 3", "bad image: " + note + " at 3"},
		"a data URL":                       {"invalid image_url: 'data:image/png;base64," + standard + "'.", "invalid image_url: '" + note + "'."},
		"a data URL with a parameter":      {`{"url":"data:text/plain;charset=utf-8;base64,` + unpadded + `"}`, `{"url":"` + note + `"}`},
		"a data URL of a small file":       {"no: data:image/png;base64," + standard[:44], "no: " + note},
		"base64 in lines":                  {"bad:\n" + standard[:76] + "\r\n" + standard[76:152] + "\r\n", "bad:\n" + note + "\r\n" + note + "\r\n"},
		"base64 with escaped slashes":      {`{"data":"` + strings.ReplaceAll(standard, "/", `\/`) + `"}`, `{"data":"` + note + `"}`},
		"a data URL that was cut":          {"got data:application/pdf;base64," + standard[:150] + "…", "got " + note + "…"},
		"two of them":                      {standard + " and " + forAddresses, note + " and " + note},
		"what is longer than is kept":      {"bad: " + strings.Repeat(unpadded, 200), "bad: " + note},
		"its first bytes behind long text": {strings.Repeat("it is bad. ", 100) + standard, strings.Repeat("it is bad. ", 100) + note},
		"words alone":                      {"The request has 12 images, and at most 10 are taken; see https://docs.example/errors#too-many.", "The request has 12 images, and at most 10 are taken; see https://docs.example/errors#too-many."},
		"a request's ID":                   {"request req_011CSHoEeqs5C35K2UUqR7Fy failed", "request req_011CSHoEeqs5C35K2UUqR7Fy failed"},
		"a digest":                         {strings.Repeat("0123456789abcdef", 4), strings.Repeat("0123456789abcdef", 4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := failureOf(&model.Error{Kind: model.KindRefused, Message: test.says}, api.Usage{}, 0).message
			if got != test.told {
				t.Errorf("told is %q, want %q", got, test.told)
			}
			for _, encoded := range []string{standard, forAddresses} {
				for at := 0; at+20 <= len(encoded); at += 10 {
					if strings.Contains(got, encoded[at:at+20]) {
						t.Fatalf("told is a part of the file: %.300q", got)
					}
				}
			}
		})
	}
}
