package content

import (
	"errors"
	"net/http"
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
		"Anthropic's body":              {"Anthropic", 413, modeltestserver.Error{Message: "Request exceeds the maximum size"}, model.KindTooLarge},
		"Anthropic's image":             {"Anthropic", 400, modeltestserver.Error{Message: "messages.0.content.1.image.source.base64: image exceeds 10 MB maximum: 10485764 bytes > 10485760 bytes"}, model.KindTooLarge},
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
