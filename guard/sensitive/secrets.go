package sensitive

import (
	"context"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/openworkerai/openworker/api"
)

// secretRules are the rules of gitleaks. Its config package alone is used: the detector that comes with it gives
// lines and no offsets, honours comments in the text that switch it off, and brings three times the modules.
type secretRules struct {
	rules   []secretRule // in the order of the file
	allowed []*config.Allowlist
}

// secretRule is a rule, and whether its matches are short enough to be looked for near its words alone.
type secretRule struct {
	config.Rule
	local bool
}

// What may follow a secret: in code, as the rules have it, and in prose as well. A bracket that opens is not among
// it, since a name with one behind it is called.
const (
	codeEnd  = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	proseEnd = "(?:[\\x60'\"\\s;,.:!?)>\\]}<&|*]|\\\\[nr]|$)"
)

func newSecretRules() (*secretRules, error) {
	// A reader of our own leaves viper's global one alone; Translate asks that for the name of its file, no more.
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, api.Errorf(api.CodeInternal, "the rules for secrets cannot be read: %w", err)
	}
	var file config.ViperConfig
	if err := v.Unmarshal(&file); err != nil {
		return nil, api.Errorf(api.CodeInternal, "the rules for secrets cannot be decoded: %w", err)
	}
	for i := range file.Rules {
		file.Rules[i].Regex = strings.ReplaceAll(file.Rules[i].Regex, codeEnd, proseEnd)
	}
	cfg, err := file.Translate()
	if err != nil {
		return nil, api.Errorf(api.CodeInternal, "the rules for secrets are not valid: %w", err)
	}
	r := &secretRules{allowed: cfg.Allowlists}
	for _, rule := range cfg.GetOrderedRules() {
		// A rule with a path is about files of that name; a text has none.
		if rule.Regex == nil || rule.Path != nil {
			continue
		}
		parsed, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
		if err != nil {
			return nil, api.Errorf(api.CodeInternal, "the rule %s for secrets cannot be parsed: %w", rule.RuleID, err)
		}
		width := widest(parsed)
		// Half of it, so that a match at the edge hides none that belongs to the word.
		r.rules = append(r.rules, secretRule{Rule: rule, local: width >= 0 && width <= near/2})
	}
	return r, nil
}

func (r *secretRules) find(ctx context.Context, text string) ([]span, error) {
	found := r.urlPasswords(text)
	words := newWords(text)
	for _, rule := range r.rules {
		parts := words.around(rule.Keywords)
		if len(rule.Keywords) == 0 || !rule.local && len(parts) > 0 {
			parts = []span{{0, len(text)}}
		}
		for _, part := range parts {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			found = append(found, r.findIn(rule, text, part)...)
		}
	}
	return found, nil
}

// findIn tries a rule on a part of the text. What touches an end of the part, other than of the text, is left out:
// it might not match with what comes before or behind, and is not near enough to a word.
func (r *secretRules) findIn(rule secretRule, text string, part span) []span {
	var found []span
	for _, loc := range rule.Regex.FindAllStringIndex(text[part.start:part.end], -1) {
		start, end := part.start+loc[0], part.start+loc[1]
		if start == part.start && start > 0 || end == part.end && end < len(text) {
			continue
		}
		whole := strings.TrimRight(text[start:end], "\n")
		sp := secretOf(rule.Rule, whole)
		secret := whole[sp.start:sp.end]
		if rule.Entropy > 0 && entropy(secret) <= rule.Entropy {
			continue
		}
		line := lineOf(text, start, end)
		if !passes(r.allowed, secret, whole, line) && !passes(rule.Allowlists, secret, whole, line) {
			found = append(found, span{start + sp.start, start + sp.end})
		}
	}
	return found
}

// secretOf returns the part of a match that is the secret: the rule's group, or the first that matched, or all.
func secretOf(rule config.Rule, whole string) span {
	groups := rule.Regex.FindStringSubmatchIndex(whole)
	for i := 1; i < len(groups)/2; i++ {
		if rule.SecretGroup > 0 && i != rule.SecretGroup {
			continue
		}
		if groups[2*i] < groups[2*i+1] {
			return span{groups[2*i], groups[2*i+1]}
		}
	}
	return span{0, len(whole)}
}

// passes tells whether a list of harmless values has the secret. A list that asks for a path or a commit as well
// has none, since a text has neither.
func passes(lists []*config.Allowlist, secret, whole, line string) bool {
	for _, list := range lists {
		target := secret
		switch list.RegexTarget {
		case "match":
			target = whole
		case "line":
			target = line
		}
		byRegex := list.RegexAllowed(target)
		byWord, _ := list.ContainsStopWord(secret)
		if list.MatchCondition == config.AllowlistMatchOr {
			if byRegex || byWord {
				return true
			}
			continue
		}
		if len(list.Paths) == 0 && len(list.Commits) == 0 &&
			(len(list.Regexes) == 0 || byRegex) && (len(list.StopWords) == 0 || byWord) {
			return true
		}
	}
	return false
}

// lineOf returns the lines that text[start:end] is on.
func lineOf(text string, start, end int) string {
	from := strings.LastIndexByte(text[:start], '\n') + 1
	if to := strings.IndexByte(text[end:], '\n'); to >= 0 {
		return text[from : end+to]
	}
	return text[from:]
}

// entropy is Shannon's, in bits for each character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, c := range s {
		counts[c]++
		n++
	}
	bits := 0.0
	for _, count := range counts {
		p := float64(count) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}

// urlPasswords finds the password in scheme://user:password@host, for which there is no rule.
func (r *secretRules) urlPasswords(text string) []span {
	var found []span
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return found
		}
		start := at + i + len("://")
		scheme := at+i > 0 && isWord(text[at+i-1])
		end := start + authorityLen(text[start:])
		at = start
		if !scheme {
			continue
		}
		user, _, ok := cutLast(text[start:end], '@')
		if !ok {
			continue
		}
		name, password, ok := strings.Cut(user, ":")
		if ok && password != "" && !passes(r.allowed, password, user, user) {
			from := start + len(name) + 1
			found = append(found, span{from, from + len(password)})
		}
		at = end
	}
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
