package sensitive_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

// What people paste is seldom as a rule has it: it is cut off, stands in a form, or comes out of a word processor.
func TestWhatPeopleWriteInTheirWayIsFound(t *testing.T) {
	t.Parallel()
	const card, secret, phone, iban, mail = "[redacted: credit card]", "[redacted: secret]", "[redacted: phone]", "[redacted: iban]", "[redacted: email]"
	pem := key("-----BEGIN PRIVATE ", "KEY-----\n")
	line := strings.Repeat("MIIEpAIBAAKCAQEAx7Zk", 3)
	for _, c := range []struct{ name, text, want string }{
		{"a card and its code", "4111 1111 1111 1111 123", card + " 123"},
		{"a card and a year", "4111 1111 1111 1111 2027", card + " 2027"},
		{"a card with dashes and its code", "4111-1111-1111-1111 123", card + " 123"},
		{"a card, its month and its code", "4111 1111 1111 1111 12/27 123", card + " 12/27 123"},
		{"a card with its month behind a slash", "4111111111111111/12/27", card + "/12/27"},
		{"a card with its code behind a dash", "4111111111111111-123", card + "-123"},
		{"a card and another one", "4111 1111 1111 1111 5500 0055 5555 5559", card + " " + card},
		{"a card behind another one's code", "4111 1111 1111 1111 123 5500 0055 5555 5559", card + " 123 " + card},
		{"a card of American Express and its code", "3782 822463 10005 1234", card + " 1234"},
		{"a card with spaces that do not break", "4111\u00a01111\u202f1111\u20071111", card},
		{"a card with dots", "4111.1111.1111.1111", card},
		{"a card with dashes of print", "4111–1111‑1111−1111", card},
		{"a card in digits of full width", "４１１１　１１１１　１１１１　１１１１", card},
		{"a card with marks that nobody sees", "\u202a4111\u200b1111\u00ad11111111\u202c.", "\u202a" + card + "."},
		{"a card of 19 digits", "4000000000000000006", card},

		{"an IBAN in lower case", "de89370400440532013000", iban},
		{"an IBAN in lower case and groups", "de89 3704 0044 0532 0130 00 bic", iban + " bic"},
		{"an IBAN with the letters of a bank in lower case", "gb82west12345698765432", iban},
		{"an IBAN with spaces that do not break", "DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", iban},
		{"a social security number with dashes of print", "536‑22‑1234", "[redacted: us ssn]"},

		{"a number with spaces that do not break", "+1\u00a0415\u00a0555\u00a02671", phone},
		{"a number with dashes of ranges", "call 415–555–2671", "call " + phone},
		{"a number of an address book", "\u202a+49 30 901820\u202c", "\u202a" + phone},
		{"a number behind a slash", "030 / +49 30 901820", "030 / " + phone},

		{"an address in a query", "https://x.com/?email=ada%40example.com&x=1", "https://x.com/?email=" + mail + "&x=1"},
		{"an address in a query that is escaped as a whole", "u=https%3A%2F%2Fx.com%2F%3Femail%3Dada%2Bx%40example.com", "u=https%3A%2F%2Fx.com%2F%3Femail%3D" + mail},
		{"an address below a domain of one letter", "jo@x.com, jo@t.co", mail + ", " + mail},
		{"an address with a bracket behind it", "jo@example.com(work)", mail + "(work)"},

		{"a token in a header", "Authorization: Bearer " + key("a8f5f167f44f4964", "e6c998dee827110c"), "Authorization: Bearer " + secret},
		{"a token in a header of JSON", `{"Authorization":"Bearer ` + key("Zx8Qw3Er5Ty7", "Ui9Op1As+/4=") + `"}`, `{"Authorization":"Bearer ` + secret + `"}`},
		{"a name and password in a header", "authorization: basic " + key("YWRtaW46VHIwdWI0", "ZG9yM3hrcTla"), "authorization: basic " + secret},
		{"a new key of OpenAI", "use " + key("sk-", "proj-Ab3dE5fG7hI9kL1mN3oP5qR7sT9uV1wX3yZ5aB7c") + " please", "use " + secret + " please"},
		{"a key of a service that writes them alike", "here: " + key("sk-", "Ab3dE5fG7hI9kL1mN3oP5qR7sT9uV1wX3yZ5aB7cD9eF1g"), "here: " + secret},
		{"a password with a slash in a URL", "postgres://admin:" + key("Tr0ub", "/4dor") + "@db/app", "postgres://admin:" + secret + "@db/app"},
		{"a password with a # in a URL", "postgres://admin:" + key("Tr0ub", "#4dor") + "@db/app", "postgres://admin:" + secret + "@db/app"},
		{"a password with signs", "password=" + key("Tr0ub4dor", "!3xkq9Z#"), "password=" + secret},
		{"a password with signs in YAML", "db_passwd: '" + key("x@4mPle", "~9Kq") + "'", "db_passwd: '" + secret + "'"},
		{"two users of curl on a line", "curl -u jo:" + key("Tr0ub4dor", "3xkq") + " a; curl -u al:" + key("h7Kq2vX", "9mB4t") + " b", "curl -u " + secret + " a; curl -u " + secret + " b"},
		{"users of curl in a script in JSON", `{"run":"curl -u jo:` + key("Tr0ub4dor", "3xkq") + ` a\ncurl -u al:` + key("h7Kq2vX", "9mB4t") + ` b\n"}`, `{"run":"curl -u ` + secret + ` a\ncurl -u ` + secret + ` b\n"}`},
		{"a private key that is cut off", pem + line + "\n" + line + "\nand so on", secret + "\nand so on"},
		{"a private key in JSON that is cut off", `{"k":"` + strings.ReplaceAll(pem+line+"\n"+line, "\n", `\n`), `{"k":"` + secret},
		{"a token in brackets of Japanese", "「" + key("sk_live", "_4eC39HqLyjWDarjtT1zdp7dc") + "」です", "「" + secret + "」です"},
		{"a token in quotes of print", "“" + key("sk_live", "_4eC39HqLyjWDarjtT1zdp7dc") + "”", "“" + secret + "”"},
		{"a token before a dash of print", key("npm", "_r7kq2mxv9lpt4swz8ncb1yhd6jfg3aeu0ovi") + "—and", secret + "—and"},
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

func TestWhatLooksAlikeStays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a product of matrices":               "A@B.dot(C) + W@x.data - q@k.T / scale",
		"a product of attributes":             "y = self.W@self.x.name; np.sum(A@x.sum()); loss = A@b.mean()",
		"a product with a method of a matrix": "A@weights.map(f), A@W.to(device)",
		"an entity tag":                       "etag_key=9fceb02d0ae598e95dc970b74767f193",
		"a number and a longer one":           "4111111111111111-12345, 4111111111111111/1, 4111111111111111/12/27/1",
		"ranges of years":                     "2010–2020, 1998‑2004",
		"a digest that starts as an IBAN":     "de89370400440532013000aabbccddee",
		"a word before a port and an at":      "http://host:8080/@scope/pkg and http://host:${PORT}/@scope and http://host:{port}/a@b",
		"what bears no token":                 "a bearer of bad news, Bearer <token>, Bearer authentication-middleware, Bearer ${TOKEN}",
		"what is basic":                       "Basic authentication, basic arithmetic, Basic YWxsIGdvb2Q=",
		"a user that is none of curl":         "docker run -u 1000:1000 x; docker exec --user=app:group y; chown -u a:b2c",
		"names with sk in them":               "task-management1234567890abcd, sk-folding-cube-container-inner",
		"a public key":                        "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEAx7Zk", 3),
		"the start of a private key alone":    key("-----BEGIN PRIVATE ", "KEY-----") + " is how it starts, and more words behind it",
		"code that handles passwords":         "if password != hash2 && ok { password := r.PostFormValue(name1) }; password=$(pass show x/1!); password?: string1",
		"a percent that is none":              "100%40 and 5%@ and %40example.com",
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

// A file that is one line holds harmless words as well as secrets.
func TestAHarmlessWordFarAwayExcusesNoSecret(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{})
	text := "RUN --mount=type=secret,id=x " + strings.Repeat("x= ", 300) + `"password":"` + key("a8f5f167f44f4964", "e6c998dee82711") + `"`
	if v := check(t, g, text); v.Action != guard.ActionRedact {
		t.Errorf("the verdict is %v", v)
	}
}
