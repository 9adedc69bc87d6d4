package sensitive

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/zricethezav/gitleaks/v8/config"
)

// ownRules are for secrets that the rules of gitleaks have no place for, each with its reason. They belong there;
// what is found there once may go here.
func ownRules() []secretRule {
	return []secretRule{{
		// Theirs know the header in a call of curl alone, while people paste what a browser or a log shows.
		Rule: config.Rule{
			RuleID: "bearer-token", Keywords: []string{"bearer"}, Entropy: 3,
			Regex: regexp.MustCompile(`(?i)\bbearer[ \t]{1,4}([\w~+/.-]{20,800}={0,2})` + proseEnd),
		},
		local:  true,
		accept: hasDigit,
	}, {
		// It is a name and a password for everybody who can read base64.
		Rule: config.Rule{
			RuleID: "basic-credentials", Keywords: []string{"basic"},
			Regex: regexp.MustCompile(`(?i)\bbasic[ \t]{1,4}([a-z0-9+/]{6,400}={0,2})`),
		},
		local:  true,
		accept: isBasic,
	}, {
		// Theirs want the mark that keys of OpenAI used to have, which neither its new ones nor those of the many
		// services that took over its way to write them do.
		Rule: config.Rule{
			RuleID: "sk-key", Keywords: []string{"sk-"}, Entropy: 3,
			Regex: regexp.MustCompile(`\b(sk-(?:(?:proj|svcacct|admin|or-v1)-[\w-]{20,200}|[A-Za-z0-9]{20,200}))`),
		},
		local:  true,
		accept: hasDigit,
	}, {
		// Theirs want the line that ends it, which a text that is cut off has not.
		Rule: config.Rule{
			RuleID: "private-key-without-end", Keywords: []string{"-----begin"},
			Regex: regexp.MustCompile(`-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr])+[A-Za-z0-9+/]{16,}(?:(?:\s|\\[nr])+[A-Za-z0-9+/]{16,})*(?:(?:\s|\\[nr])*[A-Za-z0-9+/]*={1,2})?`),
		},
	}, {
		// Theirs take letters and digits alone for the value, which is what people are told not to choose.
		Rule: config.Rule{
			RuleID: "password-with-punctuation", Keywords: []string{"passw", "passphrase", "pwd"}, Entropy: 2.75,
			Regex: regexp.MustCompile(`(?i)(?:passw(?:or)?d|passphrase|pwd)["']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}["']?([a-z0-9!#%^@~*+./:?_&-][a-z0-9!#%^@~*+./:=?_&-]{7,127})`),
		},
		local:  true,
		accept: isPassword,
	}}
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// isBasic tells whether s is user:password in base64 (RFC 7617).
func isBasic(s string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return err == nil && utf8.Valid(b) && strings.IndexByte(string(b), ':') >= 0 && strings.IndexFunc(string(b), func(c rune) bool { return c < ' ' }) < 0
}

// isPassword tells whether s has letters, digits and a sign that code does not put between them.
func isPassword(s string) bool {
	return hasDigit(s) && strings.ContainsAny(s, "!#%^@~?") && strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") &&
		!strings.Contains(s, "&&") && !strings.Contains(s, "://")
}

// harmlessKeys are the names with "key" in them whose values are digests, for the rule that takes what looks random
// behind such a name.
const harmlessKeys = `(?i)(?:etag|checksum|fingerprint)[_.-]?key`
