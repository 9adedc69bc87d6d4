package modeltestserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// token is what the private data of an answer holds. Its tag makes it verifiable by any server of this package
// without memory: real private data is bound to its provider and model in the same way.
type token struct {
	Protocol Protocol `json:"p"`
	Model    string   `json:"m"`
	Subject  string   `json:"s"` // what it belongs to: the item's ID or a digest of the text
	Tag      []byte   `json:"t"`
}

func (t token) tag() []byte {
	mac := hmac.New(sha256.New, []byte("modeltestserver"))
	fmt.Fprintf(mac, "%q %q %q", t.Protocol, t.Model, t.Subject)
	return mac.Sum(nil)
}

// seal makes private data of a model's answer.
func seal(protocol Protocol, model, subject string) string {
	t := token{Protocol: protocol, Model: model, Subject: subject}
	t.Tag = t.tag()
	data, _ := json.Marshal(t) // strings and bytes always encode
	return base64.StdEncoding.EncodeToString(data)
}

// unseal checks that private data was issued for this protocol and model, and returns its subject.
func unseal(protocol Protocol, model, sealed string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("it is not base64")
	}
	var t token
	if json.Unmarshal(data, &t) != nil || !hmac.Equal(t.Tag, t.tag()) {
		return "", errors.New("it was not issued here or is changed")
	}
	if t.Protocol != protocol || t.Model != model {
		return "", fmt.Errorf("it is of %s model %q, not of %s model %q", t.Protocol, t.Model, protocol, model)
	}
	return t.Subject, nil
}

// digest is the subject of private data that belongs to a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}
