package sensitive_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

func newGuardrail(t testing.TB, cfg sensitive.Config) guard.Guardrail {
	t.Helper()
	g, err := sensitive.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return g
}

func check(t testing.TB, g guard.Guardrail, text string) guard.Verdict {
	t.Helper()
	v, err := g.Check(t.Context(), guard.Unit{Point: guard.UserInput, Text: text})
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	return v
}

// redacted is the text that passes.
func redacted(t testing.TB, g guard.Guardrail, text string) string {
	t.Helper()
	v := check(t, g, text)
	switch v.Action {
	case guard.ActionAllow:
		return text
	case guard.ActionRedact:
		return v.Text
	}
	t.Fatalf("the verdict is %q", v.Action)
	return ""
}

// The parts of keys are put together here, so that no scanner of this repository takes them for real ones.
func key(parts ...string) string { return strings.Join(parts, "") }

func TestWhatIsFoundIsReplacedByItsKind(t *testing.T) {
	t.Parallel()
	pem := key("-----BEGIN RSA PRIVATE ", "KEY-----\n", strings.Repeat("MIIEpAIBAAKCAQEAx7Zk\n", 8), "-----END RSA PRIVATE ", "KEY-----")
	jwt := key("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvIn0", ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U")
	for _, c := range []struct{ name, text, want string }{
		{"a token of GitHub", "use " + key("ghp", "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi") + " now", "use [redacted: secret] now"},
		{"a token in the brackets and commas of prose", "(" + key("sk_live", "_4eC39HqLyjWDarjtT1zdp7dc") + "), <" + key("npm", "_r7kq2mxv9lpt4swz8ncb1yhd6jfg3aeu0ovi") + ">, ok", "([redacted: secret]), <[redacted: secret]>, ok"},
		{"an access key of AWS", key("AKIA", "Q3EGRZ7LWVXN2PKT"), "[redacted: secret]"},
		{"a key of Stripe in JSON", `{"k":"` + key("sk_live", "_4eC39HqLyjWDarjtT1zdp7dc") + `"}`, `{"k":"[redacted: secret]"}`},
		{"a key of Anthropic", key("sk-ant", "-api03-", strings.Repeat("aB3xY9kLm2", 9), "qRs", "AA"), "[redacted: secret]"},
		{"a token of Slack", key("xoxb", "-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"), "[redacted: secret]"},
		{"a private key of many lines", "key:\n" + pem + "\nend", "key:\n[redacted: secret]\nend"},
		{"a JSON web token", "Authorization: Bearer " + jwt, "Authorization: Bearer [redacted: secret]"},
		{"what is assigned to a telling name", `db_password = "` + key("h7Kq2", "vX9mB4tR8sW") + `"`, `db_password = "[redacted: secret]"`},
		{"a password in a URL keeps the rest of it", "postgres://app:" + key("hun", "ter2!x") + "@db.example.com:5432/app?sslmode=on", "postgres://app:[redacted: secret]@db.example.com:5432/app?sslmode=on"},
		{"a password in a URL without a user", "redis://:" + key("s3", "cr3t") + "@cache:6379", "redis://:[redacted: secret]@cache:6379"},
		{"a comment in the text does not switch it off", key("ghp", "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi") + " // gitleaks:" + "allow", "[redacted: secret] // gitleaks:" + "allow"},

		{"an address", "write to jo.do+x@mail.example.co.uk.", "write to [redacted: email]."},
		{"an address in angle brackets", "Jo <jo@example.com>, Al <al@example.org>", "Jo <[redacted: email]>, Al <[redacted: email]>"},
		{"an address with letters of another alphabet", "an zoë@bücher.de bitte", "an [redacted: email] bitte"},
		{"an address behind mailto", `<a href="mailto:jo@example.com">`, `<a href="mailto:[redacted: email]">`},
		{"an address that a sentence runs into", "jo@example.com.Then", "[redacted: email].Then"},

		{"a number with its country code", "call +49 30 901820 today", "call [redacted: phone] today"},
		{"a number in one run", "tel:+14155552671", "tel:[redacted: phone]"},
		{"a number as the US writes it", "call (415) 555-2671.", "call [redacted: phone]."},
		{"a number with dashes, followed by a figure", "415-555-2671 2 times", "[redacted: phone] 2 times"},
		{"a number in brackets keeps them", "(415-555-2671)", "([redacted: phone])"},
		{"a number with its prefix", "1-415-555-2671", "[redacted: phone]"},

		{"a card in one run", "card:4111111111111111", "card:[redacted: credit card]"},
		{"a card in groups", "5555 5555 5555 4444, exp 12/29", "[redacted: credit card], exp 12/29"},
		{"a card with dashes", "4012-8888-8888-1881", "[redacted: credit card]"},
		{"a card of American Express", "3782 822463 10005", "[redacted: credit card]"},
		{"a card behind a year", "2024 4111 1111 1111 1111", "2024 [redacted: credit card]"},

		{"an IBAN in one run", "IBAN DE89370400440532013000.", "IBAN [redacted: iban]."},
		{"an IBAN in groups, followed by a word", "DE89 3704 0044 0532 0130 00 BIC", "[redacted: iban] BIC"},
		{"a short IBAN", "NO93 8601 1117 947", "[redacted: iban]"},
		{"an IBAN with letters", "GB82 WEST 1234 5698 7654 32", "[redacted: iban]"},

		{"a social security number", "SSN 536-22-1234", "SSN [redacted: us ssn]"},

		{"several kinds", "jo@example.com, 415-555-2671", "[redacted: email], [redacted: phone]"},
		{"what overlaps is one match, of the graver kind", "https://jo:" + key("Pa5s", "w0rd") + "@example.com", "https://jo:[redacted: secret]@example.com"},
		{"bytes that are no text", "\xff\xfe jo@example.com \xff", "\xff\xfe [redacted: email] \xff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGuardrail(t, sensitive.Config{})
			if diff := cmp.Diff(c.want, redacted(t, g, c.text)); diff != "" {
				t.Errorf("redacted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHarmlessTextStays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                          "",
		"prose":                            "The key to a good password is its length; keep the token secret.",
		"a UUID":                           "session 0d1c2f6a-6f0b-4d55-9f35-0c6d6ec6d6e1 ended",
		"a UUID of digits":                 "id 41111111-1111-4111-8111-111111111111",
		"a commit":                         "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"a digest":                         "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"a version":                        "go1.26.6, v3.99.0 and 10.0.19045.3803",
		"a date and a time":                "2026-11-30T16:29:01.123456789Z, 30-11-2026, 16:29:01",
		"times since the epoch":            "1764520141, 1764520141123, 1764520141123456789",
		"an order number":                  "order 123-4567-8901 and 4111 1111 1111 1112",
		"an identifier of 16 digits":       "user 1234567812345670",
		"an identifier of ten digits":      "invoice 4155552671",
		"an ISBN":                          "ISBN 978-3-16-148410-0",
		"a path of digits":                 "/api/v1/415-555-2671/x and a/4111111111111111/b",
		"a price":                          "$1,234,567.89 or 12 345 678,90",
		"columns of figures":               "12 34 56 78 90\n123 456 789 012\n",
		"a fraction":                       "0.4111111111111111",
		"a formula":                        "x = (3 + 4) * 1234567 - 89",
		"an identifier in a name":          "file_4111111111111111.txt",
		"a number that is no IBAN":         "DE00370400440532013000",
		"a licence key":                    "AB12-CDEF-GHIJ-KLMN",
		"a number that no person has":      "000-12-3456 666-12-3456 900-12-3456 123-00-1234 123-45-0000",
		"a module at a version":            "go get example.com/x@v1.2.3 && npm i left-pad@1.3.0",
		"a decorator":                      "@app.route('/x') and user@localhost and a @ b",
		"an image for dense screens":       "logo@2x.png",
		"a remote of git":                  "git clone git@github.com:org/repo.git",
		"the user of a URL":                "ssh://deploy@example.com/repo",
		"a URL with an at in its path":     "https://example.com:8080/@user/post?mail=1",
		"a password that is to be filled":  "postgres://app:${DB_PASSWORD}@db:5432/app",
		"code that reads a key":            `apiKey := os.Getenv("API_KEY")` + "\nif token == nil { return errNoToken }",
		"a key that documentation shows":   key("AKIA", "IOSFODNN7EXAMPLE"),
		"a diff":                           "@@ -12,7 +12,9 @@ func main() {\n+4 lines\n",
		"a hunk of Go":                     "func (s *Server) auth(key string) (bool, error) { return s.keys[key] != 0, nil }",
		"private and public IP addresses":  "10.0.0.1 127.0.0.1 192.168.1.1 8.8.8.8 2001:4860:4860::8888",
		"markers":                          "[redacted: secret] [redacted: email] [redacted: credit card]",
		"a word of a marker and an at":     "password: [redacted: secret]@[redacted: email]",
		"digits of another script and all": "٠١٢٣٤٥٦٧٨٩ 電話 ☎",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuardrail(t, sensitive.Config{})
			if diff := cmp.Diff(guard.Allow(), check(t, g, text)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIPAddressesAreFoundWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{Find: []sensitive.Kind{sensitive.IPAddress}})
	text := "8.8.8.8, [2001:4860:4860::8888]:443 from 9.9.9.9:53. Not 10.0.0.1, ::1, 127.0.0.1, 1.2.3, std::dead or 12:30:45"
	want := "[redacted: ip address], [[redacted: ip address]]:443 from [redacted: ip address]. Not 10.0.0.1, ::1, 127.0.0.1, 1.2.3, std::dead or 12:30:45"
	if diff := cmp.Diff(want, redacted(t, g, text)); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

func TestOnlyTheKindsAskedForAreFound(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{Find: []sensitive.Kind{sensitive.Phone}, PhoneRegions: []string{"DE", "FR"}})
	text := "jo@example.com 030 901820 or 01 42 68 53 00, not 415-555-2671"
	if diff := cmp.Diff("jo@example.com [redacted: phone] or [redacted: phone], not 415-555-2671", redacted(t, g, text)); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

func TestAReasonCountsKindsAndRepeatsNoValue(t *testing.T) {
	t.Parallel()
	text := "jo@example.com, al@example.org and 4111111111111111"
	redact := check(t, newGuardrail(t, sensitive.Config{}), text)
	want := guard.Redact("[redacted: email], [redacted: email] and [redacted: credit card]", "redacted credit card: 1, email: 2")
	if diff := cmp.Diff(want, redact); diff != "" {
		t.Errorf("redact (-want +got):\n%s", diff)
	}
	block := check(t, newGuardrail(t, sensitive.Config{Action: guard.ActionBlock}), text)
	if diff := cmp.Diff(guard.Block("found credit card: 1, email: 2"), block); diff != "" {
		t.Errorf("block (-want +got):\n%s", diff)
	}
	harmless := check(t, newGuardrail(t, sensitive.Config{Action: guard.ActionBlock}), "nothing here")
	if diff := cmp.Diff(guard.Allow(), harmless); diff != "" {
		t.Errorf("a harmless text (-want +got):\n%s", diff)
	}
}

func TestAValueThatIsAllowedPasses(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{Allow: func(kind sensitive.Kind, value string) bool {
		return kind == sensitive.Email && strings.HasSuffix(value, "@example.com")
	}})
	if diff := cmp.Diff("help@example.com, [redacted: email]", redacted(t, g, "help@example.com, jo@example.org")); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{})
	if g.Name != "sensitive" || !cmp.Equal(g.Points, guard.Points()) {
		t.Errorf("name %q, points %q", g.Name, g.Points)
	}
	g = newGuardrail(t, sensitive.Config{Name: "x", Points: []guard.Point{guard.ToolResult}})
	if g.Name != "x" || !cmp.Equal(g.Points, []guard.Point{guard.ToolResult}) {
		t.Errorf("name %q, points %q", g.Name, g.Points)
	}
}

func TestAWrongConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sensitive.Config{
		"a point that is none":      {Points: []guard.Point{"output"}},
		"a kind that is none":       {Find: []sensitive.Kind{"name"}},
		"an action of neither kind": {Action: guard.ActionAllow},
		"a region that is none":     {PhoneRegions: []string{"us"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := sensitive.New(cfg); api.CodeOf(err) != api.CodeInvalidRequest {
				t.Errorf("New: %v, want %s", err, api.CodeInvalidRequest)
			}
		})
	}
}

func TestACancelledCheckReturnsTheErrorOfItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range sensitive.Kinds() {
		g := newGuardrail(t, sensitive.Config{Find: []sensitive.Kind{kind}})
		v, err := g.Check(ctx, guard.Unit{Text: "jo@example.com 415-555-2671"})
		if !errors.Is(err, context.Canceled) || v != (guard.Verdict{}) {
			t.Errorf("%s: verdict %v, error %v", kind, v, err)
		}
	}
}

func TestOneGuardrailServesManyAtOnce(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{})
	text := "jo@example.com 415-555-2671 " + key("ghp", "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi") + " DE89370400440532013000"
	want := check(t, g, text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			v, err := g.Check(t.Context(), guard.Unit{Text: text})
			if err != nil || v != want {
				t.Errorf("verdict %v, error %v, want %v", v, err, want)
			}
		})
	}
	wg.Wait()
}
