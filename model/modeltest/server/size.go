package modeltestserver

import (
	"fmt"
	"net/http"
)

// tooLarge is the refusal of a body that is over what the protocol's owner takes.
type tooLarge struct {
	status  int
	message string
}

func (e *tooLarge) Error() string { return e.message }

// checkSize refuses a body over the bound that the protocol's owner has on a request. OpenAI documents none.
func checkSize(protocol Protocol, bytes int) error {
	const maxMessages, maxGemini = 32_000_000, 100_000_000
	switch {
	case protocol == Messages && bytes > maxMessages:
		return &tooLarge{http.StatusRequestEntityTooLarge, "Request exceeds the maximum size"}
	case protocol == Gemini && bytes > maxGemini:
		return &tooLarge{http.StatusBadRequest, fmt.Sprintf("Request payload size exceeds the limit: %d bytes.", maxGemini)}
	}
	return nil
}
