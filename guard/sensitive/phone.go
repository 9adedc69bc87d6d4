package sensitive

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"github.com/openworkerai/openworker/api"
)

// Bounds of a telephone number: in digits (E.164), and in bytes with what stands between them.
const (
	minPhoneDigits = 7
	maxPhoneDigits = 15
	maxPhone       = 32
)

// phoneFinder finds telephone numbers that the numbering plans of libphonenumber know.
type phoneFinder struct {
	run     *regexp.Regexp // digits and what stands between them in a number
	regions []phoneRegion
}

// phoneRegion is a region, and how its numbers are written there: of how many digits and in how many groups. It
// keeps most figures from being parsed, which is what takes the time.
type phoneRegion struct {
	code    string
	lengths map[int]bool
	groups  map[int]bool
}

func newPhoneRegion(code string) phoneRegion {
	r := phoneRegion{code: code, lengths: map[int]bool{}, groups: map[int]bool{}}
	country := int32(phonenumbers.GetCountryCodeForRegion(code))
	prefix := phonenumbers.GetNddPrefixForRegion(code, true)
	national := uint64(2) // any number of one digit; only its length is asked about
	for n := 1; n <= maxPhoneDigits; n++ {
		number := &phonenumbers.PhoneNumber{CountryCode: &country, NationalNumber: &national}
		if phonenumbers.IsPossibleNumberWithReason(number) == phonenumbers.IS_POSSIBLE {
			r.lengths[n], r.lengths[n+len(prefix)] = true, true
		}
		national *= 10
	}
	for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
		if example := phonenumbers.GetExampleNumberForType(code, kind); example != nil {
			n := len(strings.FieldsFunc(phonenumbers.Format(example, phonenumbers.NATIONAL), func(c rune) bool { return c < '0' || c > '9' }))
			r.groups[n], r.groups[n+1] = true, true // alone, and behind a prefix
		}
	}
	return r
}

func newPhoneFinder(regions []string) (*phoneFinder, error) {
	if len(regions) == 0 {
		regions = []string{"US"}
	}
	known := make([]phoneRegion, 0, len(regions))
	for _, region := range regions {
		if !phonenumbers.GetSupportedRegions()[region] {
			return nil, api.Errorf(api.CodeInvalidRequest, "PhoneRegions has %q, which is not a two-letter code of a known region such as US or DE", region)
		}
		known = append(known, newPhoneRegion(region))
	}
	return &phoneFinder{
		run:     regexp.MustCompile(`[+(]*\d[\d ().+/-]*\d`),
		regions: known,
	}, nil
}

func (f *phoneFinder) find(ctx context.Context, text string) ([]span, error) {
	var found []span
	free := 0
	for _, loc := range f.run.FindAllStringIndex(text, -1) {
		if loc[1]-loc[0] < minPhoneDigits {
			continue
		}
		words := wordsOf(text, loc[0], loc[1])
		for i := 0; i < len(words); {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			number, n := f.numberAt(text, words[i:], free)
			if n > 0 {
				free = number.end
				found = append(found, number)
			}
			i += max(n, 1)
		}
	}
	return found, nil
}

// wordsOf splits text[start:end] at its spaces, and leaves out what no number starts or ends with.
func wordsOf(text string, start, end int) []span {
	var words []span
	for start < end {
		n := strings.IndexByte(text[start:end], ' ')
		if n < 0 {
			n = end - start
		}
		word := strings.TrimLeft(text[start:start+n], ")./-")
		from := start + n - len(word)
		if word = strings.TrimRight(word, "()+./-"); word != "" {
			words = append(words, span{from, from + len(word)})
		}
		start += n + 1
	}
	return words
}

// numberAt returns the number that starts with the first word, and how many words it has, 0 for none. The longest
// counts. What is before free is taken already, and the number is no part of it.
func (f *phoneFinder) numberAt(text string, words []span, free int) (span, int) {
	most := 0
	for most < len(words) && words[most].end-words[0].start <= maxPhone && countDigits(text[words[0].start:words[most].end]) <= maxPhoneDigits {
		most++
	}
	for n := most; n > 0; n-- {
		whole := span{words[0].start, words[n-1].end}
		if s := text[whole.start:whole.end]; s[0] == '(' && (strings.HasPrefix(s, "(+") || !strings.Contains(s, ")")) {
			whole.start++ // the bracket is around the number or what follows it
		}
		if startsAlone(text[free:], whole.start-free) && endsAlone(text, whole.end) && f.isNumber(text[whole.start:whole.end]) {
			return whole, n
		}
	}
	return span{}, 0
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// isNumber tells whether s is a valid number with its country code, or one of a region, grouped as it is there. The
// grouping keeps dates, order numbers and columns of figures from being numbers.
func (f *phoneFinder) isNumber(s string) bool {
	digits := countDigits(s)
	if digits < minPhoneDigits || strings.LastIndexByte(s, '+') > 0 {
		return false
	}
	if s[0] == '+' {
		number, err := phonenumbers.Parse(s, phonenumbers.UNKNOWN_REGION)
		return err == nil && phonenumbers.IsValidNumber(number)
	}
	groups := digitGroups(s)
	if len(groups) < 2 {
		return false
	}
	for _, region := range f.regions {
		if !region.lengths[digits] || !region.groups[len(groups)] {
			continue
		}
		number, err := phonenumbers.Parse(s, region.code)
		if err != nil || !phonenumbers.IsValidNumberForRegion(number, region.code) {
			continue
		}
		for _, format := range []phonenumbers.PhoneNumberFormat{phonenumbers.NATIONAL, phonenumbers.INTERNATIONAL} {
			printed := phonenumbers.Format(number, format)
			if slices.EqualFunc(groups, digitGroups(printed), func(a, b span) bool { return s[a.start:a.end] == printed[b.start:b.end] }) {
				return true
			}
		}
	}
	return false
}
