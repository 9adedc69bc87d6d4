package sensitive_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

func TestWhatIsFoundInATextFileIsReplacedAndTheRestStaysByteForByte(t *testing.T) {
	t.Parallel()
	token := key("ghp", "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi")
	stripe := key("sk_live", "_4eC39HqLyjWDarjtT1zdp7dc")
	pem := key("-----BEGIN RSA PRIVATE ", "KEY-----\r\n", strings.Repeat("MIIEpAIBAAKCAQEAx7Zk\r\n", 8), "-----END RSA PRIVATE ", "KEY-----")
	g := newGuardrail(t, sensitive.Config{})
	for name, test := range map[string]struct{ file, text, want, reason string }{
		"settings with CRLF and a byte order mark": {".env", "\ufeffPORT=80\r\nGITHUB_TOKEN=" + token + "\r\nDEBUG=1\r\n", "\ufeffPORT=80\r\nGITHUB_TOKEN=[redacted: secret]\r\nDEBUG=1\r\n", "redacted secret: 1"},
		"JSON":              {"a.json", "{\n  \"stripe\": \"" + stripe + "\",\n  \"mail\": \"jo@example.com\"\n}\n", "{\n  \"stripe\": \"[redacted: secret]\",\n  \"mail\": \"[redacted: email]\"\n}\n", "redacted secret: 1, email: 1"},
		"a table":           {"people.csv", "name;iban;card\nJo;DE89370400440532013000;4111 1111 1111 1111\nAl;;\n", "name;iban;card\nJo;[redacted: iban];[redacted: credit card]\nAl;;\n", "redacted credit card: 1, iban: 1"},
		"source code":       {"main.go", "package main\n\n// by jo@example.com\nconst token = \"" + token + "\"\n", "package main\n\n// by [redacted: email]\nconst token = \"[redacted: secret]\"\n", "redacted secret: 1, email: 1"},
		"a key of its own":  {"id_rsa", pem + "\r\n", "[redacted: secret]\r\n", "redacted secret: 1"},
		"a diff":            {"a.patch", "--- a\n+++ b\n-TOKEN=" + token + "\n+TOKEN=${TOKEN}\n", "--- a\n+++ b\n-TOKEN=[redacted: secret]\n+TOKEN=${TOKEN}\n", "redacted secret: 1"},
		"nothing":           {"readme.md", "# Read me\n\nIt is `1.2.3`.\n", "", ""},
		"the name, a label": {"jo@example.com.txt", "hello\n", "", ""},
	} {
		for _, point := range []guard.Point{guard.UserInput, guard.ModelInput} {
			t.Run(name+" at "+string(point), func(t *testing.T) {
				t.Parallel()
				got, err := g.Check(t.Context(), guard.Unit{Point: point, File: test.file, Text: test.text})
				if err != nil {
					t.Fatal(err)
				}
				want := guard.Redact(test.want, test.reason)
				if test.want == "" {
					want = guard.Allow()
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				again, err := g.Check(t.Context(), guard.Unit{Point: point, File: test.file, Text: test.want})
				if err != nil || again.Action != guard.ActionAllow {
					t.Errorf("the new file gets %+v, %v", again, err)
				}
			})
		}
	}
}

func TestASecretIsFoundWhereverItStandsInTheLargestTextFile(t *testing.T) {
	t.Parallel()
	token := key("ghp", "_R7kQ2mXv9LpT4sWz8NcB1yHd6JfG3aEu0oVi")
	g := newGuardrail(t, sensitive.Config{Action: guard.ActionBlock, Find: []sensitive.Kind{sensitive.Secret}})
	filler := strings.Repeat("2026-11-30T19:38:58Z level=info msg=\"request served\" status=200\n", api.MaxGuardedBytes/60)
	for name, begin := range map[string]int{"at its beginning": 0, "in its middle": api.MaxGuardedBytes / 2, "at its very end": api.MaxGuardedBytes - len(token) - 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := (filler[:begin] + "\n" + token + "\n" + filler)[:api.MaxGuardedBytes]
			got, err := g.Check(t.Context(), guard.Unit{Point: guard.UserInput, File: "app.log", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(guard.Block("found secret: 1"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
