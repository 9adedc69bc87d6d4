package main

import (
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

// checkMessage refuses what no session takes, before one is made for it.
func checkMessage(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return api.Errorf(api.CodeInvalidRequest, "the message is empty; give at least one character that is not white space")
	case len(text) > api.MaxMessageBytes:
		return api.Errorf(api.CodeInvalidRequest, "the message has more than %d bytes, which is the most that one may have", api.MaxMessageBytes)
	case !utf8.ValidString(text):
		return api.Errorf(api.CodeInvalidRequest, "the message is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		return api.Errorf(api.CodeInvalidRequest, "the message holds a NUL character at byte %d; leave it out", strings.IndexByte(text, 0))
	}
	return nil
}
