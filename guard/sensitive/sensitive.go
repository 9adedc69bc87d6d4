package sensitive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
)

// Kind is a kind of data that is found. Its text is what a marker says.
type Kind string

const (
	// Secret: API keys, tokens, private keys, JWTs, credentials in headers and URLs, and what is assigned to a name
	// such as api_key or password and looks random.
	Secret Kind = "secret"
	// CreditCard: numbers of the large issuers whose last digit is right, in one run or in their printed groups.
	CreditCard Kind = "credit card"
	// IBAN: international bank account numbers whose check digits are right.
	IBAN Kind = "iban"
	// SSN: US social security numbers with their dashes.
	SSN Kind = "us ssn"
	// Email: addresses below a known top-level domain, their @ also as %40. The git@ of a remote, the user of a URL
	// and a product of matrices (W@x.data) are none.
	Email Kind = "email"
	// Phone: valid numbers with + and country code, and those grouped as one of Config.PhoneRegions groups them.
	Phone Kind = "phone"
	// IPAddress: public IPv4 and IPv6 addresses. Not found by default, since a version may look like one.
	IPAddress Kind = "ip address"
)

// Kinds lists them all, those first whose name a marker takes where several kinds overlap.
func Kinds() []Kind { return []Kind{Secret, CreditCard, IBAN, SSN, Email, Phone, IPAddress} }

// Config is what New needs. The zero value redacts all kinds but IP addresses at all points.
type Config struct {
	// Name is what agents choose it by. Defaults to "sensitive".
	Name string
	// Points are where it looks. Defaults to all four. With user_input or model_input among them, images and PDFs are
	// refused with uninspectable_content, since nothing can be found in them (AT7).
	Points []guard.Point
	// Find is what it looks for. Defaults to all kinds but IPAddress.
	Find []Kind
	// Action is guard.ActionRedact, the default, or guard.ActionBlock. A text that shows more each time that it is
	// redacted, five times over, is blocked with either.
	Action guard.Action
	// PhoneRegions are the regions whose national way to write a telephone number is known, as two-letter codes of
	// ISO 3166. Numbers with + are found from everywhere. Defaults to "US".
	PhoneRegions []string
	// Allow, if set, lets a value pass that it returns true for, such as an address of one's own support. It is
	// called concurrently, and with the same value again.
	Allow func(kind Kind, value string) bool
}

// New returns the guardrail. It takes some 50 ms and holds some 12 MB, mostly rules for secrets. A wrong
// configuration is api.CodeInvalidRequest.
//
// The guardrail may be used concurrently and gives the same verdict for the same text. The largest text (128,000
// bytes) takes some 30 to 70 ms of a processor, up to 550 ms where it is nothing but keys or figures. It returns the
// error of its context soon after that ends. The error is never about the text.
func New(cfg Config) (guard.Guardrail, error) {
	if cfg.Name == "" {
		cfg.Name = "sensitive"
	}
	if len(cfg.Points) == 0 {
		cfg.Points = guard.Points()
	}
	for _, point := range cfg.Points {
		if !slices.Contains(guard.Points(), point) {
			return guard.Guardrail{}, api.Errorf(api.CodeInvalidRequest, "Points has %q and may have %q", point, guard.Points())
		}
	}
	if cfg.Action == "" {
		cfg.Action = guard.ActionRedact
	}
	if cfg.Action != guard.ActionRedact && cfg.Action != guard.ActionBlock {
		return guard.Guardrail{}, api.Errorf(api.CodeInvalidRequest, "Action is %q and must be empty, %q or %q", cfg.Action, guard.ActionRedact, guard.ActionBlock)
	}
	finders, err := newFinders(cfg)
	if err != nil {
		return guard.Guardrail{}, err
	}
	s := scanner{finders: finders, allow: cfg.Allow}
	check := s.redact
	if cfg.Action == guard.ActionBlock {
		check = s.block
	}
	return guard.Guardrail{Name: cfg.Name, Points: slices.Clone(cfg.Points), Check: check}, nil
}

// finder finds one kind. It returns where, in any order; matches may overlap.
type finder struct {
	kind  Kind
	plain bool // looks at the plain text
	find  func(ctx context.Context, text string) ([]span, error)
}

func newFinders(cfg Config) ([]finder, error) {
	find := cfg.Find
	if len(find) == 0 {
		find = slices.DeleteFunc(Kinds(), func(k Kind) bool { return k == IPAddress })
	}
	for _, kind := range find {
		if !slices.Contains(Kinds(), kind) {
			return nil, api.Errorf(api.CodeInvalidRequest, "Find has %q and may have %q", kind, Kinds())
		}
	}
	var finders []finder
	for _, kind := range Kinds() { // in the order of Kinds, whatever the order of Find
		if !slices.Contains(find, kind) {
			continue
		}
		f := finder{kind: kind}
		switch kind {
		case Secret:
			rules, err := newSecretRules()
			if err != nil {
				return nil, err
			}
			f.find = rules.find
		case CreditCard:
			f.plain, f.find = true, findCards
		case IBAN:
			f.plain, f.find = true, newIBANFinder()
		case SSN:
			f.plain, f.find = true, newSSNFinder()
		case Email:
			f.find = newEmailFinder()
		case Phone:
			phones, err := newPhoneFinder(cfg.PhoneRegions)
			if err != nil {
				return nil, err
			}
			f.plain, f.find = true, phones.find
		case IPAddress:
			f.find = newAddressFinder()
		}
		finders = append(finders, f)
	}
	return finders, nil
}

// scanner looks at texts. It is not changed after it is made.
type scanner struct {
	finders []finder
	allow   func(Kind, string) bool
}

// matches returns what is found in text, merged and in order.
func (s scanner) matches(ctx context.Context, text string) ([]match, error) {
	var found []match
	plain := newPlain(text)
	for rank, f := range s.finders {
		in := text
		if f.plain {
			in = plain.text
		}
		spans, err := f.find(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, sp := range spans {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if f.plain {
				sp = plain.spanOf(sp)
			}
			if s.allow == nil || !s.allow(f.kind, text[sp.start:sp.end]) {
				found = append(found, match{span: sp, kind: f.kind, rank: rank})
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return merge(found, s.markers(text)), nil
}

func (s scanner) block(ctx context.Context, unit guard.Unit) (guard.Verdict, error) {
	found, err := s.matches(ctx, unit.Text)
	if err != nil {
		return guard.Verdict{}, err
	}
	if len(found) == 0 {
		return guard.Allow(), nil
	}
	return guard.Block("found " + s.summary(found)), nil
}

// maxRounds bounds how often a text is looked at. One that is not made to need more needs two or three.
const maxRounds = 5

// redact replaces matches until there are none: what stands beside a marker may only then be seen as a match. A
// text that is not done with after so many rounds is blocked, since nobody knows what else it hides.
func (s scanner) redact(ctx context.Context, unit guard.Unit) (guard.Verdict, error) {
	text := unit.Text
	var all []match
	for range maxRounds {
		found, err := s.matches(ctx, text)
		if err != nil {
			return guard.Verdict{}, err
		}
		if len(found) > 0 {
			all = append(all, found...)
			text = replace(text, found)
			continue
		}
		if len(all) == 0 {
			return guard.Allow(), nil
		}
		return guard.Redact(text, "redacted "+s.summary(all)), nil
	}
	return guard.Block("found " + s.summary(all) + ", and more each time that they were taken out"), nil
}

// summary says how many of which kind, without their values: "secret: 1, email: 2".
func (s scanner) summary(found []match) string {
	var parts []string
	for _, f := range s.finders {
		n := 0
		for _, m := range found {
			if m.kind == f.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", f.kind, n))
		}
	}
	return strings.Join(parts, ", ")
}
