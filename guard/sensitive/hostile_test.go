package sensitive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/guard/sensitive"
)

// dense are texts that are nothing but what takes work, on one line unless they say otherwise.
var dense = map[string]string{
	"cards":                    "4111 1111 1111 1111 ",
	"cards glued":              "-4111 1111 1111 1111",
	"passwords":                "password=a8f5f167f44f4964e6c998dee82711 ",
	"passwords in lines":       "password=a8f5f167f44f4964e6c998dee82711\n",
	"passwords in JSON":        `{"password":"a8f5f167f44f4964e6c998dee82711"},`,
	"passwords of all signs":   "password=Tr0ub4dor!3xkq9Z# ",
	"passwords without an end": "password=",
	"bearers":                  "Bearer a8f5f167f44f4964e6c998dee827110c ",
	"private keys":             "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAx3Jk9vQp2LmN7sT4uV8wX1yZ\n",
	"calls of curl":            "curl -u admin:Tr0ub4dor3xkq9Z ",
	"passwords in URLs":        "x://admin:Tr0ub/4dor@db ",
	"URLs in URLs":             "x://x:y/",
	"IBANs":                    "GB82 WEST 1234 5698 7654 32 ",
	"social security numbers":  "536-22-1234 ",
	"addresses":                "ada@example.com ",
	"addresses glued":          "a@b.com@",
	"signs of addresses":       "@",
	"labels":                   "@a.b.c.",
	"percents":                 "%40%",
	"telephone numbers":        "+1 415 555 2671 ",
	"telephone numbers glued":  "%+49 30 901820",
	"prefixes":                 "+1 ",
	"prefixes and figures":     "+1234567 1 2 3 4 5 6 7 8 ",
	"figures":                  "1 ",
	"IP addresses":             "8.8.8.8 ",
	"IP addresses glued":       "8.8.8.8::",
	"colons":                   "::a:",
	"markers":                  "[redacted: secret]",
	"marks nobody sees":        "4\u200b1\u00a0",
}

// most is the largest text that a guardrail is shown, made of a part.
func most(part string) string { return strings.Repeat(part, api.MaxGuardedBytes/len(part)) }

// A text of eight times the size takes eight times as long, not sixty-four. The test does not run beside others, and
// the best of some runs counts, so that what else the machine does matters little.
func TestTimeGrowsWithTheTextAndNoFaster(t *testing.T) {
	const small, times, slack, runs = 4_000, 8, 3, 6
	g := newGuardrail(t, sensitive.Config{Find: sensitive.Kinds()})
	took := func(text string) time.Duration {
		start := time.Now()
		check(t, g, text)
		return time.Since(start)
	}
	for name, part := range dense {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(part, small/len(part))
			one, many := took(text), took(strings.Repeat(text, times))
			for range runs {
				if many <= one*times*slack {
					return
				}
				one, many = min(one, took(text)), min(many, took(strings.Repeat(text, times)))
			}
			t.Errorf("%d bytes take %v, and %d times as many %v", small, one, times, many)
		})
	}
}

func TestATextThatIsDenseIsRedactedAndNotBlocked(t *testing.T) {
	t.Parallel()
	g := newGuardrail(t, sensitive.Config{Find: sensitive.Kinds()})
	for name, part := range dense {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := check(t, g, strings.Repeat(part, 100)); v.Action == guard.ActionBlock {
				t.Errorf("the verdict is %v", v)
			}
		})
	}
}

// impatient is a context that ends when it is asked for its error the time after patience.
type impatient struct {
	context.Context
	asked, patience int
}

func (c *impatient) Err() error {
	if c.asked++; c.asked > c.patience {
		return context.Canceled
	}
	return nil
}

func TestACheckAsksItsContextAllAlongAndReturnsOnceItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind sensitive.Kind
		part string
	}{
		{sensitive.Secret, dense["passwords"]},
		{sensitive.Secret, dense["passwords in URLs"]},
		{sensitive.Secret, dense["private keys"]},
		{sensitive.CreditCard, dense["cards"]},
		{sensitive.CreditCard, dense["figures"]},
		{sensitive.IBAN, dense["IBANs"]},
		{sensitive.SSN, dense["social security numbers"]},
		{sensitive.Email, dense["addresses"]},
		{sensitive.Email, dense["signs of addresses"]},
		{sensitive.Phone, dense["telephone numbers"]},
		{sensitive.Phone, dense["figures"]},
		{sensitive.IPAddress, dense["IP addresses"]},
		{sensitive.IPAddress, dense["colons"]},
	} {
		t.Run(string(c.kind)+" in "+c.part, func(t *testing.T) {
			t.Parallel()
			text := most(c.part)
			g := newGuardrail(t, sensitive.Config{Find: []sensitive.Kind{c.kind}, Action: guard.ActionBlock})
			patient := &impatient{Context: t.Context(), patience: 1 << 40}
			if _, err := g.Check(patient, guard.Unit{Text: text}); err != nil {
				t.Fatal(err)
			}
			if every := len(text) / patient.asked; every > 100 {
				t.Errorf("the context is asked every %d bytes alone", every)
			}
			for _, patience := range []int{0, 1, patient.asked / 2, patient.asked - 1} {
				ctx := &impatient{Context: t.Context(), patience: patience}
				v, err := g.Check(ctx, guard.Unit{Text: text})
				if !errors.Is(err, context.Canceled) || v != (guard.Verdict{}) || ctx.asked != patience+1 {
					t.Errorf("asked %d times of %d: verdict %v, error %v", ctx.asked, patience, v, err)
				}
			}
		})
	}
}
