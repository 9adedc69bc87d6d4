package sensitive

import (
	"context"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
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

// secretRule is a rule, and what we know about it.
type secretRule struct {
	config.Rule
	local  bool                     // its matches are short enough to be looked for near its words alone
	accept func(secret string) bool // if set, a secret has to pass it
}

// What may follow a secret: in code, as the rules have it, and in prose as well, of whichever script. A bracket that
// opens is not among it, since a name with one behind it is called.
const (
	codeEnd  = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	proseEnd = "(?:[\\x60'\"\\s;,.:!?)>\\]}<&|*]|[^\\x00-\\x7f]|\\\\[nr]|$)"
)

// curlStart matches how the rules for credentials that are given to curl start. From there they reach over lines, and
// so take one credential of several. What they are to find is looked for by itself, and then for curl before it.
const curlStart = `^\\bcurl\\b\(\?:\.\*\??\|.*?\{1,5\}\)`

// curlReach is how far before its credentials the word curl may be, in bytes.
const curlReach = 1024

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
	curl := regexp.MustCompile(curlStart)
	for i := range file.Rules {
		file.Rules[i].Regex = strings.ReplaceAll(file.Rules[i].Regex, codeEnd, proseEnd)
		file.Rules[i].Regex = curl.ReplaceAllLiteralString(file.Rules[i].Regex, "")
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
		if rule.RuleID == "generic-api-key" {
			digests := &config.Allowlist{RegexTarget: "match", Regexes: []*regexp.Regexp{regexp.MustCompile(harmlessKeys)}}
			rule.Allowlists = append(slices.Clip(rule.Allowlists), digests)
		}
		parsed, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
		if err != nil {
			return nil, api.Errorf(api.CodeInternal, "the rule %s for secrets cannot be parsed: %w", rule.RuleID, err)
		}
		width := widest(parsed)
		// Half of it, so that a match at the edge hides none that belongs to the word.
		r.rules = append(r.rules, secretRule{Rule: rule, local: width >= 0 && width <= near/2})
	}
	r.rules = append(r.rules, ownRules()...)
	return r, nil
}

func (r *secretRules) find(ctx context.Context, text string) ([]span, error) {
	found, err := r.urlPasswords(ctx, text)
	if err != nil {
		return nil, err
	}
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
			secrets, err := r.findIn(ctx, rule, text, part)
			if err != nil {
				return nil, err
			}
			found = append(found, secrets...)
		}
	}
	return found, nil
}

// findIn tries a rule on a part of the text. What touches an end of the part, other than of the text, is left out:
// it might not match with what comes before or behind, and is not near enough to a word.
func (r *secretRules) findIn(ctx context.Context, rule secretRule, text string, part span) ([]span, error) {
	var found []span
	for _, loc := range rule.Regex.FindAllStringIndex(text[part.start:part.end], -1) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start, end := part.start+loc[0], part.start+loc[1]
		if start == part.start && start > 0 || end == part.end && end < len(text) {
			continue
		}
		if slices.Contains(rule.Keywords, "curl") && !strings.Contains(text[max(0, start-curlReach):start], "curl") {
			continue
		}
		whole := strings.TrimRight(text[start:end], "\n")
		sp := secretOf(rule.Rule, whole)
		secret := whole[sp.start:sp.end]
		if rule.Entropy > 0 && entropy(secret) <= rule.Entropy || rule.accept != nil && !rule.accept(secret) {
			continue
		}
		line := lineOf(text, start, end)
		if !passes(r.allowed, secret, whole, line) && !passes(rule.Allowlists, secret, whole, line) {
			found = append(found, span{start + sp.start, start + sp.end})
		}
	}
	return found, nil
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
		either := list.MatchCondition == config.AllowlistMatchOr
		if !either && len(list.Paths)+len(list.Commits) > 0 {
			continue
		}
		byWord, _ := list.ContainsStopWord(secret)
		if either && byWord {
			return true
		}
		if !either && !byWord && len(list.StopWords) > 0 {
			continue
		}
		target := secret
		switch list.RegexTarget {
		case "match":
			target = whole
		case "line":
			target = line
		}
		if list.RegexAllowed(target) || !either && len(list.Regexes) == 0 {
			return true
		}
	}
	return false
}

// lineReach is how much of the line around a match is looked at for harmless words, in bytes to each side. A file
// that is one line of 100 KB would else be read again for each match, and one harmless word would excuse all of it.
const lineReach = 128

// lineOf returns the lines that text[start:end] is on, as far as lineReach.
func lineOf(text string, start, end int) string {
	from, to := max(0, start-lineReach), min(len(text), end+lineReach)
	if i := strings.LastIndexByte(text[from:start], '\n'); i >= 0 {
		from += i + 1
	}
	if i := strings.IndexByte(text[end:to], '\n'); i >= 0 {
		to = end + i
	}
	return text[from:to]
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
