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

// newEmailFinder finds local@domain with the list of top-level domains of xurls. It looks around each @, or %40 as
// URLs have it, instead of matching an expression, whose time at a text of many @ would be the longer.
func newEmailFinder() func(context.Context, string) ([]span, error) {
	tlds := make(map[string]bool, len(xurls.TLDs))
	for _, tld := range xurls.TLDs {
		tlds[tld] = true
	}
	return func(ctx context.Context, text string) ([]span, error) {
		var found []span
		for at := 0; ; at++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i := strings.IndexAny(text[at:], "@%")
			if i < 0 {
				return found, nil
			}
			at += i
			behind := at + 1
			if text[at] == '%' {
				if !strings.HasPrefix(text[at:], "%40") {
					continue
				}
				behind = at + len("%40")
			}
			start := localPart(text, at)
			end := behind + domainLen(text[behind:], tlds)
			if start < at && end > behind && text[start:at] != "git" && !isCode(text, behind, end) && !inURL(text, at) {
				found = append(found, span{start, end})
			}
		}
	}
}

// localPart returns where the part before the @ or %40 at the offset starts.
func localPart(text string, at int) int {
	start := at
	for start > 0 && at-start < maxLocalPart {
		c, size := utf8.DecodeLastRuneInString(text[:start])
		if !isAddress(c) && !strings.ContainsRune("._%+'", c) {
			break
		}
		start -= size
	}
	if text[at] == '%' { // what is escaped before it, other than + and %, is not of it
		for from := start; ; {
			i := strings.IndexByte(text[from:at], '%')
			if i < 0 {
				break
			}
			from += i + 1
			if from+2 <= at && text[from:from+2] != "2B" && text[from:from+2] != "25" {
				start = from + 2
			}
		}
	}
	// A quote or a dot before an address is not of it.
	return start + len(text[start:at]) - len(strings.TrimLeft(text[start:at], ".'%"))
}

// isCode tells whether the domain at text[start:end] is an attribute of a variable, as where matrices are multiplied:
// W@x.data, A@B.dot(C). Domains of one letter exist below few top-level domains of more than two; and in prose a
// bracket stands close behind an address of a well-known one at the most.
func isCode(text string, start, end int) bool {
	before, tld, _ := cutLast(text[start:end], '.')
	switch tld {
	case "com", "net", "org":
		return false
	}
	_, label, ok := cutLast(before, '.')
	if !ok {
		label = before
	}
	called := end < len(text) && text[end] == '('
	return len(tld) > 2 && (len(label) == 1 || called) || len(label) == 1 && called
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
