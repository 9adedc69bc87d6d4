package modeltestserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestABodyIsRefusedAboveItsBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		protocol Protocol
		bound    int
	}{"Anthropic": {Messages, 32_000_000}, "Google": {Gemini, 100_000_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := checkSize(test.protocol, test.bound); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			if err := checkSize(test.protocol, test.bound+1); err == nil {
				t.Error("one byte more is taken")
			}
		})
	}
	for _, protocol := range []Protocol{Chat, Responses} {
		if err := checkSize(protocol, 1<<30); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

func TestABodyAboveItsBoundIsAnsweredInTheOwnersWords(t *testing.T) {
	t.Parallel()
	server := NewInMemory(Config{})
	req, err := http.NewRequest(http.MethodPost, "http://model.test/v1/messages", strings.NewReader(strings.Repeat(" ", 32_000_001)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Error struct{ Type, Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 413 || answer.Error.Type != "request_too_large" || answer.Error.Message != "Request exceeds the maximum size" {
		t.Errorf("got %d %+v", resp.StatusCode, answer)
	}
	if refused := server.Refusals(); len(refused) != 1 {
		t.Errorf("refused: %q", refused)
	}
}

func TestAnImageHasABoundInBase64(t *testing.T) {
	t.Parallel()
	image := func(size int) error {
		block := messagesBlock{Type: "image", Source: &messagesSource{Type: "base64", MediaType: "image/png", Data: strings.Repeat("A", size)}}
		return block.addPart(&Message{Role: "user"}, imageTypes...)
	}
	if err := image(10_485_760); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	if err := image(10_485_764); err == nil || !strings.Contains(err.Error(), "10 MB maximum") {
		t.Errorf("above it: %v", err)
	}
}
