package sensitive

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/xurls/v2"
)

// Bounds of an address (RFC 5321), in bytes.
const (
	maxLocalPart = 64
	maxDomain    = 255
)

// newEmailFinder finds local@domain with the list of top-level domains of xurls. It looks around each @ instead of
// matching an expression, whose time at a text of many @ would be the longer.
func newEmailFinder() func(context.Context, string) ([]span, error) {
	tlds := make(map[string]bool, len(xurls.TLDs))
	for _, tld := range xurls.TLDs {
		tlds[tld] = true
	}
	return func(_ context.Context, text string) ([]span, error) {
		var found []span
		for at := 0; ; at++ {
			i := strings.IndexByte(text[at:], '@')
			if i < 0 {
				return found, nil
			}
			at += i
			start := localPart(text, at)
			end := at + 1 + domainLen(text[at+1:], tlds)
			if start < at && end > at+1 && text[start:at] != "git" && !inURL(text, at) {
				found = append(found, span{start, end})
			}
		}
	}
}

// localPart returns where the part before the @ at the offset starts.
func localPart(text string, at int) int {
	start := at
	for start > 0 && at-start < maxLocalPart {
		c, size := utf8.DecodeLastRuneInString(text[:start])
		if !isAddress(c) && !strings.ContainsRune("._%+'", c) {
			break
		}
		start -= size
	}
	// A quote or a dot before an address is not of it.
	return start + len(text[start:at]) - len(strings.TrimLeft(text[start:at], ".'%"))
}

// domainLen returns the length of the longest domain at the start of rest: two labels or more, the last one known.
func domainLen(rest string, tlds map[string]bool) int {
	end := 0
	for end < len(rest) && end < maxDomain {
		c, size := utf8.DecodeRuneInString(rest[end:])
		if !isAddress(c) && c != '.' || c == '_' {
			break
		}
		end += size
	}
	domain := strings.TrimRight(rest[:end], ".-")
	if strings.HasPrefix(domain, ".") || strings.HasPrefix(domain, "-") || strings.Contains(domain, "..") {
		return 0
	}
	for {
		before, last, ok := cutLast(domain, '.')
		if !ok {
			return 0
		}
		if last = strings.ToLower(last); tlds[last] || strings.HasPrefix(last, "xn--") {
			return len(domain)
		}
		domain = before
	}
}

func isAddress(c rune) bool {
	return c == '-' || c == '_' || c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c))
}

// inURL tells whether the @ at the offset ends the user of a URL.
func inURL(text string, at int) bool {
	before := text[max(0, at-maxDomain):at]
	i := strings.LastIndex(before, "://")
	return i >= 0 && authorityLen(before[i+3:]) == len(before)-i-3
}
