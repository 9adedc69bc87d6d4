package sensitive

import (
	"context"
	"strings"
)

// maxPassword is how long a password in a URL may be that has a slash in it, in bytes.
const maxPassword = 256

// urlPasswords finds the password in scheme://user:password@host, for which there is no rule.
func (r *secretRules) urlPasswords(ctx context.Context, text string) ([]span, error) {
	var found []span
	for at := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return found, nil
		}
		start := at + i + len("://")
		scheme := at+i > 0 && isWord(text[at+i-1])
		at = start
		if !scheme {
			continue
		}
		end := start + authorityLen(text[start:])
		user, _, ok := cutLast(text[start:end], '@')
		if !ok {
			user = r.userWithSlash(text[start:], end-start)
		}
		name, password, ok := strings.Cut(user, ":")
		if ok && password != "" && !passes(r.allowed, password, user, user) {
			from := start + len(name) + 1
			found = append(found, span{from, from + len(password)})
		}
		at = max(end, start+len(user))
	}
}

// userWithSlash returns the user and the password before the @ of a URL whose authority ends before one, "" for
// none. People write passwords with a slash, a ? or a # as they are. What stands behind the colon of a URL is its
// port otherwise, or something that is to be filled in.
func (r *secretRules) userWithSlash(rest string, authority int) string {
	_, port, ok := strings.Cut(rest[:authority], ":")
	if !ok || port == "" || strings.ContainsRune("${<%[", rune(port[0])) || strings.Trim(port, "0123456789") == "" || passes(r.allowed, port, port, port) {
		return ""
	}
	rest = rest[:min(len(rest), maxPassword)]
	if i := strings.IndexAny(rest, " \t\r\n\"'`<>\\"); i >= 0 {
		rest = rest[:i]
	}
	user, _, ok := cutLast(rest, '@')
	if !ok {
		return ""
	}
	return user
}

// authorityLen is the length of the user, host and port that rest starts with.
func authorityLen(rest string) int {
	if i := strings.IndexAny(rest, "/?# \t\r\n\"'`<>\\[]"); i >= 0 {
		return i
	}
	return len(rest)
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
