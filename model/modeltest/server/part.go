package modeltestserver

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// newPart decodes the base64 data of a part.
func newPart(mediaType, name, data string, allowed ...string) (Part, error) {
	if !slices.Contains(allowed, mediaType) {
		return Part{}, fmt.Errorf("media type %q is not one of %q", mediaType, allowed)
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(data)
	switch {
	case strings.ContainsAny(data, "\r\n"): // which the decoder skips
		return Part{}, fmt.Errorf("the data of the %s is not base64: it has a line break", mediaType)
	case err != nil:
		return Part{}, fmt.Errorf("the data of the %s is not base64: %w", mediaType, err)
	case len(decoded) == 0:
		return Part{}, fmt.Errorf("the data of the %s is empty", mediaType)
	}
	return Part{MediaType: mediaType, Name: name, Data: decoded}, nil
}

// newDataURL decodes a part that is given as a data URL.
func newDataURL(url, name string, allowed ...string) (Part, error) {
	rest, isData := strings.CutPrefix(url, "data:")
	mediaType, data, found := strings.Cut(rest, ";base64,")
	if !isData || !found {
		return Part{}, fmt.Errorf("%.40q is no data URL with base64", url)
	}
	return newPart(mediaType, name, data, allowed...)
}
