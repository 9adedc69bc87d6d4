package sensitive

import (
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTheWidestMatchIsKnown(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]int{
		``: 0, `^\bab$`: 2, `(?i)ab`: 8, `a|bcd`: 3, `(ä)?`: 2, `[0-9]{2,5}`: 5, `[^0-9]{2}`: 8, `(?s).`: 4, `.`: 4,
		`\d{3}(-[A-F]{4})?`: 8, `a*`: -1, `[a-z]+`: -1, `x{2,}`: -1, `(a*){3}`: -1, `b|a+`: -1, `ba+`: -1,
	} {
		re, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if got := widest(re); got != want {
			t.Errorf("widest(%s) = %d, want %d", expression, got, want)
		}
	}
}

func TestMostRulesAreTriedNearTheirWordsAlone(t *testing.T) {
	t.Parallel()
	r, err := newSecretRules()
	if err != nil {
		t.Fatal(err)
	}
	local, broad, changed := 0, 0, 0
	for _, rule := range r.rules {
		if rule.local {
			local++
		}
		if strings.Contains(rule.Regex.String(), proseEnd) {
			broad++
		}
		if curl := slices.Contains(rule.Keywords, "curl"); curl && !strings.Contains(rule.Regex.String(), "curl") || rule.RuleID == "generic-api-key" {
			changed++
		}
	}
	// A version of the rules that is written in another way would be slower, or miss what prose surrounds.
	if n := len(r.rules); n < 200 || local < n*9/10 || broad < n/2 || changed != 3 {
		t.Errorf("of %d rules %d are local, %d end as in prose and %d of 3 are changed by themselves", n, local, broad, changed)
	}
}

func TestPartsNearAWordAreMerged(t *testing.T) {
	t.Parallel()
	gap := strings.Repeat(".", 2*near+10)
	w := newWords("Key" + gap + "tOken key" + gap + gap)
	second := len("key" + gap)
	want := []span{{0, 3 + near}, {second - near, second + len("token key") + near}}
	if diff := cmp.Diff(want, w.around([]string{"key", "token"}), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if parts := w.around([]string{"none"}); len(parts) != 0 {
		t.Errorf("parts %v of a word that is not there", parts)
	}
}

// What is found near words is what is found in the whole text, wherever in a large text it stands.
func TestLookingNearWordsFindsWhatLookingEverywhereFinds(t *testing.T) {
	t.Parallel()
	r, err := newSecretRules()
	if err != nil {
		t.Fatal(err)
	}
	everywhere := &secretRules{allowed: r.allowed, rules: slices.Clone(r.rules)}
	for i := range everywhere.rules {
		everywhere.rules[i].local = false
	}
	secrets := []string{
		"ghp" + "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi", "sk_live" + "_4eC39HqLyjWDarjtT1zdp7dc", "glpat" + "-Zx8Qw3Er5Ty7Ui9Op1As",
		"AKIA" + "Q3EGRZ7LWVXN2PKT", "npm" + "_r7kq2mxv9lpt4swz8ncb1yhd6jfg3aeu0ovi", `linear_key = "` + "0f1e2d3c4b5a69788796a5b4c3d2e1f0" + `"`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			b.WriteString(strings.Repeat("x= ", rapid.IntRange(0, near).Draw(t, "filler")))
			b.WriteString(rapid.SampledFrom([]string{"ghp_", "İ", "live", "linear", "xx"}).Draw(t, "bait"))
			b.WriteString(rapid.SampledFrom([]string{" ", "\n", `"`, ","}).Draw(t, "before"))
			b.WriteString(rapid.SampledFrom(secrets).Draw(t, "secret"))
			b.WriteString(rapid.SampledFrom([]string{" ", "\n", `"`, ","}).Draw(t, "behind"))
		}
		near, err := r.find(t.Context(), b.String())
		if err != nil {
			t.Fatal(err)
		}
		all, err := everywhere.find(t.Context(), b.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(union(all), union(near), cmp.AllowUnexported(span{})); diff != "" {
			t.Fatalf("near words (-everywhere +near):\n%s", diff)
		}
	})
}
