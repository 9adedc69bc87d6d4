package sensitive_test

import (
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

// BenchmarkCheck looks at texts as large as a guardrail is shown.
func BenchmarkCheck(b *testing.B) {
	texts := map[string]string{
		"prose":      "The quick brown fox jumps over the lazy dog, and nobody minds; see section 4.2 of the report. ",
		"code":       "func (s *Store) Load(ctx context.Context, key string) (Value, error) {\n\tif v, ok := s.cache[key]; ok {\n\t\treturn v, nil // token " + "12\n\t}\n",
		"log":        `{"time":"2026-11-30T16:29:01.123456789Z","level":"INFO","msg":"request done","id":"0d1c2f6a-6f0b-4d55-9f35-0c6d6ec6d6e1","bytes":48213,"status":200}` + "\n",
		"keys":       "api_key = ghp_" + strings.Repeat("a1B2c3D4e5F6", 3) + " sk_live_4eC39HqLyjWDarjtT1zdp7dc xoxb- eyJ akia key token secret password auth\n",
		"addresses":  "jo@example.com,",
		"at signs":   "@",
		"digits":     "1",
		"figures":    "12 34 56 78 ",
		"columns":    "123 456 7890 1234 567 ",
		"phones":     "+1 415 555 2671 or (415) 555-2671\n",
		"colons":     "://a:b@",
		"capitals":   "AB12 CDEF GHIJ KLMN ",
		"dots":       "1.",
		"open lists": "(",
		"rules":      config.DefaultConfig, // has the words of every rule
	}
	guardrail, err := sensitive.New(sensitive.Config{Find: sensitive.Kinds()})
	if err != nil {
		b.Fatal(err)
	}
	for name, part := range texts {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(part, 128_000/len(part))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := guardrail.Check(b.Context(), guard.Unit{Point: guard.UserInput, Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNew tells what a guardrail costs before its first text.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sensitive.New(sensitive.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
