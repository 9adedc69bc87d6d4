package content

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// ask sends a request, and returns the failure that it ends with, nil for none.
func (s subject) ask(t *testing.T, server *modeltestserver.Server, items ...model.Item) *model.Error {
	t.Helper()
	provider, err := s.open(&http.Client{Transport: server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = provider.Stream(t.Context(), model.Request{Model: s.model, Items: items}, func(model.Delta) {})
	var failed *model.Error
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("%T: %v", err, err)
	}
	return failed
}

// What a provider's server says of too much, as it comes over the wire, ends the attempt for good, and is not taken for
// a conversation that is too long.
func TestWhatIsTooLargeSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider string
		status   int
		error    modeltestserver.Error
		want     model.ErrorKind
	}{
		"OpenAI's images together":      {"OpenAI", 400, modeltestserver.Error{Message: "Total image size is 50.6MB, which exceeds the allowed limit of 50.0MB."}, model.KindTooLarge},
		"OpenAI's string":               {"OpenAI", 400, modeltestserver.Error{Code: "string_above_max_length", Message: "Invalid 'input[0].content[1].image_url': string too long. Expected a string with maximum length 20971520."}, model.KindTooLarge},
		"OpenAI's body":                 {"OpenAI", 413, modeltestserver.Error{Message: "Request body is too large"}, model.KindTooLarge},
		"OpenAI's bad image":            {"OpenAI", 400, modeltestserver.Error{Code: "invalid_image_format", Message: "The image data you provided does not represent a valid image."}, model.KindRefused},
		"Chat's body":                   {"Chat", 413, modeltestserver.Error{Message: "Request Entity Too Large"}, model.KindTooLarge},
		"Chat's number of images":       {"Chat", 400, modeltestserver.Error{Message: "At most 5 image(s) may be provided in one request."}, model.KindTooLarge},
		"Chat's bad image":              {"Chat", 400, modeltestserver.Error{Message: "cannot identify image file"}, model.KindRefused},
		"Anthropic's pixels":            {"Anthropic", 400, modeltestserver.Error{Message: "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}, model.KindTooLarge},
		"Anthropic's pages":             {"Anthropic", 400, modeltestserver.Error{Message: "messages.0.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided."}, model.KindTooLarge},
		"Anthropic's bad image":         {"Anthropic", 400, modeltestserver.Error{Message: "Could not process image"}, model.KindRefused},
		"Google's files":                {"Google", 400, modeltestserver.Error{Message: "The request's total referenced files bytes are too large to be read"}, model.KindTooLarge},
		"Google's payload":              {"Google", 400, modeltestserver.Error{Message: "Request payload size exceeds the limit: 20971520 bytes."}, model.KindTooLarge},
		"Google's bad image":            {"Google", 400, modeltestserver.Error{Message: "Unable to process input image. Please retry or report in the troubleshooting guide"}, model.KindRefused},
		"Google's PDF that has nothing": {"Google", 400, modeltestserver.Error{Message: "The document has no pages."}, model.KindRefused},
	} {
		for _, s := range subjects() {
			if s.name != test.provider {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := modeltestserver.NewInMemory(modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply {
					return modeltestserver.Reply{Status: test.status, Error: test.error}
				}})
				failed := s.ask(t, server, message(t))
				if failed == nil || failed.Kind != test.want || failed.Message != test.error.Message || failed.Retryable() {
					t.Errorf("got %v, want kind %s with the server's message", failed, test.want)
				}
			})
		}
	}
}

// AT4: files at the bound of the facts are taken, more are refused by the server in its own words: the facts are
// neither too strict nor too lax.
func TestTheFactsBoundsAreTheServers(t *testing.T) {
	t.Parallel()
	anthropic := subjects()[2]
	provider, err := anthropic.open(http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	known, _ := provider.Facts(anthropic.model)
	image := func(size int64) model.Item {
		return model.Item{Kind: model.UserItem, Parts: []model.Part{{Name: "a.png", MediaType: model.TypePNG, Data: make([]byte, size)}}}
	}
	documents := func(size int64) model.Item {
		half := make([]byte, size/2)
		return model.Item{Kind: model.UserItem, Parts: []model.Part{
			{Name: "a.pdf", MediaType: model.TypePDF, Data: half}, {Name: "b.pdf", MediaType: model.TypePDF, Data: half},
		}}
	}
	for name, test := range map[string]struct {
		item model.Item
		want string // of the refusal, "" for none
	}{
		"an image at the bound":          {image(known.MaxImageBytes), ""},
		"an image above it":              {image(known.MaxImageBytes + 1), "image exceeds 10 MB maximum"},
		"files at the bound":             {documents(known.MaxFilesBytes), ""},
		"files over the request's bound": {documents(24_000_002), "Request exceeds the maximum size"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := anthropic.ask(t, modeltestserver.NewInMemory(modeltestserver.Config{}), test.item)
			switch {
			case test.want == "" && failed != nil:
				t.Errorf("refused: %v", failed)
			case test.want != "" && (failed == nil || failed.Kind != model.KindTooLarge || !strings.Contains(failed.Message, test.want)):
				t.Errorf("got %v, want %q", failed, test.want)
			}
		})
	}
}
