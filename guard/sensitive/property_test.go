package sensitive_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

// planted draws values that are to be found, each of its kind.
var planted = map[sensitive.Kind]*rapid.Generator[string]{
	sensitive.Secret: rapid.OneOf(
		random("ghp_", 36, alphanumeric), random("glpat-", 20, alphanumeric), random("sk_live_", 24, alphanumeric),
		random("npm_", 36, "0123456789abcdefghijklmnopqrstuvwxyz"), random("xoxb-1234567890-1234567890123-", 24, alphanumeric),
	),
	sensitive.Email: rapid.StringMatching(`[a-z]{1,10}\.[a-z0-9]{1,10}@[a-z]{1,10}\.(com|org|co\.uk|de)`),
	sensitive.Phone: rapid.StringMatching(`(\+1 |1-)?(415|212|303)-[2-9][0-9]{2}-[0-9]{4}`).Filter(func(s string) bool {
		return !strings.Contains(s, "-911-") && !strings.Contains(s, "11-")
	}),
	sensitive.CreditCard: rapid.Custom(func(t *rapid.T) string {
		number := rapid.StringMatching(`(4|5[1-5])[0-9]{14}`).Draw(t, "card")[:15]
		for d := range 10 {
			if whole := fmt.Sprint(number, d); checks(whole) {
				return whole
			}
		}
		panic("no digit makes the sum right")
	}),
	sensitive.IBAN: rapid.Custom(func(t *rapid.T) string {
		account := rapid.StringMatching(`[0-9]{18}`).Draw(t, "account")
		rest := 0
		for _, c := range account + "131400" { // D is 13, E is 14
			rest = (rest*10 + int(c-'0')) % 97
		}
		return fmt.Sprintf("DE%02d%s", 98-rest, account)
	}),
	sensitive.SSN: rapid.StringMatching(`[1-5][0-9]{2}-[1-9][0-9]-[1-9][0-9]{3}`),
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random draws n characters behind a prefix. They come from a source with a drawn seed, since a smaller example of a
// key would be an alphabet, which passes as no secret.
func random(prefix string, n int, from string) *rapid.Generator[string] {
	return rapid.Map(rapid.Uint64(), func(seed uint64) string {
		source := rand.New(rand.NewPCG(seed, 1))
		b := []byte(prefix)
		for range n {
			b = append(b, from[source.IntN(len(from))])
		}
		return string(b)
	})
}

// checks adds up the digits of a card as its issuer does.
func checks(number string) bool {
	sum := 0
	for i, c := range number { // of an even number of digits
		d := int(c - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}

// harmless draws words that hold nothing.
var harmless = rapid.SampledFrom([]string{
	"the report says", "fmt.Println(x)", "0d1c2f6a-6f0b-4d55-9f35-0c6d6ec6d6e1", "9fceb02d0ae598e95dc970b74767f19372d61af8",
	"v1.26.6", "2026-11-30T16:29:01Z", "order A-1234", "\n", "{", "}", "ünïcode", "名前", "1,234.56", "see https://example.com/a?b=1",
})

func TestNothingThatIsPlantedIsLeftAndTheRestStays(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{})
	kinds := sensitive.Kinds()
	rapid.Check(t, func(t *rapid.T) {
		var text, want strings.Builder
		var values []string
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			if generator, ok := planted[kind]; ok && rapid.Bool().Draw(t, "plant") {
				value := generator.Draw(t, "value")
				values = append(values, value)
				// A bracket keeps a value from being a part of another one.
				fmt.Fprintf(&text, " <%s> ", value)
				fmt.Fprintf(&want, " <[redacted: %s]> ", kind)
				continue
			}
			part := harmless.Draw(t, "part")
			text.WriteString(part + " ; ")
			want.WriteString(part + " ; ")
		}
		got := redactedIn(t, g, text.String())
		for _, value := range values {
			if strings.Contains(got, value) {
				t.Fatalf("%q is left in %q", value, got)
			}
		}
		if got != want.String() {
			t.Fatalf("the text\n%q became\n%q, want\n%q", text.String(), got, want.String())
		}
	})
}

func TestRedactingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{Find: sensitive.Kinds()})
	pieces := []*rapid.Generator[string]{
		harmless, rapid.String(), rapid.StringMatching(`[0-9 ().+@:/=-]{1,30}`),
		rapid.SampledFrom([]string{"password=", "secret: ", "[redacted: secret]", "[redacted: email", "://u:", "@", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"}),
	}
	for _, kind := range sensitive.Kinds() {
		if generator, ok := planted[kind]; ok {
			pieces = append(pieces, generator)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(pieces...), 0, 20).Draw(t, "pieces"), "")
		once := redactedIn(t, g, text)
		if v := mustCheck(t, g, once); v.Action != guard.ActionAllow {
			t.Fatalf("%q became %q, and that is redacted again to %q", text, once, v.Text)
		}
		if again := redactedIn(t, g, text); again != once {
			t.Fatalf("%q became %q, and then %q", text, once, again)
		}
	})
}

func mustCheck(t *rapid.T, g guard.Guardrail, text string) guard.Verdict {
	v, err := g.Check(t.Context(), guard.Unit{Text: text})
	if err != nil {
		t.Fatalf("Check(%q): %v", text, err)
	}
	return v
}

func redactedIn(t *rapid.T, g guard.Guardrail, text string) string {
	if v := mustCheck(t, g, text); v.Action == guard.ActionRedact {
		return v.Text
	}
	return text
}

// FuzzCheck asks of any text that the verdict is one, that it is the last word, and that a reason repeats no value.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"", "jo@example.com", "+1 415 555 2671", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "536-22-1234",
		"https://jo:pass@example.com", "8.8.8.8", "[redacted: email]", "token = a1B2c3D4e5F6g7H8i9J0", "\xff@\x00.com", "((((+1(", "@@@@", "::1.1",
	} {
		f.Add(seed)
	}
	g := newGuardrail(f, sensitive.Config{Find: sensitive.Kinds()})
	f.Fuzz(func(t *testing.T, text string) {
		v := check(t, g, text)
		switch v.Action {
		case guard.ActionAllow:
			if v != guard.Allow() {
				t.Errorf("%q passes with %v", text, v)
			}
		case guard.ActionRedact:
			if again := check(t, g, v.Text); again.Action != guard.ActionAllow {
				t.Errorf("%q became %q and then %q", text, v.Text, again.Text)
			}
			if !strings.HasPrefix(v.Reason, "redacted ") || !strings.Contains(v.Text, "[redacted: ") {
				t.Errorf("%q became %q for %q", text, v.Text, v.Reason)
			}
		default:
			t.Errorf("%q gives %v", text, v)
		}
	})
}
