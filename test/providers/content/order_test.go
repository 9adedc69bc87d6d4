package content

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

const note = "# Notes\n\"quoted\" & <tagged>, žluť \u2028 💥\n</file>\n"

// files are a picture from a real encoder, a PDF with each of the bytes there are, and a note.
func files(t *testing.T) (picture, pdf []byte) {
	t.Helper()
	drawn := image.NewNRGBA(image.Rect(0, 0, 17, 9))
	for i := range 17 * 9 {
		drawn.Set(i%17, i/17, color.NRGBA{uint8(i), uint8(3 * i), uint8(7 * i), 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, drawn); err != nil {
		t.Fatal(err)
	}
	pdf = []byte("%PDF-1.7\n%")
	for i := range 1024 {
		pdf = append(pdf, byte(i))
	}
	return b.Bytes(), append(pdf, "\n%%EOF\n"...)
}

// message is text–image–text–PDF–text file, with the host's own fields.
func message(t *testing.T) model.Item {
	picture, pdf := files(t)
	return model.Item{Kind: model.UserItem, Parts: []model.Part{
		{Text: "Compare this"},
		{Name: "screen \"1\".png", MediaType: model.TypePNG, Data: picture, ID: "secret-a1", Size: int64(len(picture))},
		{Text: "with\nthis:"},
		{Name: "Report & žluť.pdf", MediaType: model.TypePDF, Data: pdf, ID: "secret-a2", Size: int64(len(pdf))},
		{Name: "n <1>.md", MediaType: "text/markdown", Data: []byte(note), ID: "secret-a3", Size: int64(len(note))},
	}}
}

// pieces are what each protocol must have of it. Gemini has no name for a document, and no protocol one for an image.
func pieces(t *testing.T, protocol modeltestserver.Protocol) []piece {
	picture, pdf := files(t)
	want := []piece{
		{Kind: "text", Text: "Compare this"},
		{Kind: "image", MediaType: "image/png", SHA256: hash(picture)},
		{Kind: "text", Text: "with\nthis:"},
		{Kind: "document", Name: "Report & žluť.pdf", MediaType: "application/pdf", SHA256: hash(pdf)},
		{Kind: "text", Text: "<file name=\"n &lt;1&gt;.md\" type=\"text/markdown\">\n" + note + "\n</file>"},
	}
	if protocol == modeltestserver.Gemini {
		want[3].Name = ""
	}
	return want
}

// AT2: text and files in the user's order, their bytes unchanged, a text file as named text in its place, in the request
// of every protocol.
func TestEveryProtocolHasAMessagesFilesInItsOrder(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			got := s.capture(t, model.Request{Items: []model.Item{message(t)}})
			if diff := cmp.Diff([][]piece{pieces(t, s.protocol)}, userPieces(t, s.protocol, got.Body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if bytes.Contains(got.Body, []byte("secret-a")) {
				t.Error("the host's ID of a file went out")
			}
		})
	}
}

// asked is a conversation that began with files and went on with tools, said by a provider's model.
func asked(t *testing.T, name, of string, data string) []model.Item {
	t.Helper()
	private := &model.Private{Provider: name, Model: of, Data: json.RawMessage(data)}
	return []model.Item{
		message(t),
		{Kind: model.ReasoningItem, Text: "Hm.", Private: private},
		{Kind: model.AssistantItem, Text: "Let me look."},
		{Kind: model.ToolCallItem, CallID: "c1", Name: "lookup", Arguments: json.RawMessage(`{"q":1}`)},
		{Kind: model.ToolCallItem, CallID: "c2", Name: "lookup", Arguments: json.RawMessage(`{"q":2}`)},
		{Kind: model.ToolResultItem, CallID: "c1", Output: "one"},
		{Kind: model.ToolResultItem, CallID: "c2", Output: "two", Failed: true},
		{Kind: model.AssistantItem, Text: "They differ."},
		{Kind: model.UserItem, Text: "Where?"},
	}
}

// RU11: whichever provider answered before, and whatever it left with its answer, the next one has the files of the
// older message where they were.
func TestAConversationWithFilesChangesItsProvider(t *testing.T) {
	t.Parallel()
	own := map[modeltestserver.Protocol]string{
		modeltestserver.Responses: `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`,
		modeltestserver.Chat:      `{"field":"reasoning"}`,
		modeltestserver.Messages:  `{"type":"thinking","thinking":"Hm.","signature":"signed"}`,
		modeltestserver.Gemini:    `{"pieces":[{"length":3,"thought":true,"signature":"c2lnbmVk"}]}`,
	}
	for _, before := range subjects() {
		for _, s := range subjects() {
			if s.name == before.name { // whose own private data only its server can check
				continue
			}
			t.Run(before.name+" then "+s.name, func(t *testing.T) {
				t.Parallel()
				req := model.Request{
					Items: asked(t, before.name, before.model, own[before.protocol]), Tools: []model.Tool{{Name: "lookup"}},
				}
				got := s.capture(t, req)
				want := [][]piece{pieces(t, s.protocol), {{Kind: "text", Text: "Where?"}}}
				if diff := cmp.Diff(want, userPieces(t, s.protocol, got.Body)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				var calls []string
				for _, m := range got.Messages {
					for _, call := range m.Calls {
						calls = append(calls, call.ID+" "+call.Arguments)
					}
				}
				if diff := cmp.Diff([]string{`c1 {"q":1}`, `c2 {"q":2}`}, calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if bytes.Contains(got.Body, []byte("signed")) || bytes.Contains(got.Body, []byte("sealed")) || bytes.Contains(got.Body, []byte("c2lnbmVk")) {
					t.Error("what is private to the provider before went out")
				}
			})
		}
	}
}

// A file is encoded anew for each request: the same bytes however often, with and without an encoding that is kept.
func TestAnOlderMessagesFilesAreSentAgainAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			items := asked(t, "Other", "other", `{}`)
			first := s.capture(t, model.Request{Items: items[:1]})
			kept := &model.Encoded{}
			s.capture(t, model.Request{Items: items[:1], Encoded: kept})
			for name, encoded := range map[string]*model.Encoded{"nothing kept": nil, "kept from before": kept} {
				got := s.capture(t, model.Request{Items: items, Encoded: encoded})
				want := userPieces(t, s.protocol, first.Body)[0]
				if diff := cmp.Diff(want, userPieces(t, s.protocol, got.Body)[0]); diff != "" {
					t.Errorf("%s (-first +later):\n%s", name, diff)
				}
				for _, part := range items[0].Parts {
					if part.MediaType != model.TypePDF && part.MediaType != model.TypePNG {
						continue
					}
					if n := bytes.Count(got.Body, []byte(base64.StdEncoding.EncodeToString(part.Data))); n != 1 {
						t.Errorf("%s: %s is there %d times", name, part.Name, n)
					}
				}
			}
		})
	}
}
