package sensitive

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

// newCardFinder finds numbers of payment cards.
func newCardFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}(?:[ -]\d{3})?|\d{4}[ -]\d{6}[ -]\d{4,5}|\d{14,19}`)
	digits := strings.NewReplacer(" ", "", "-", "")
	return func(_ context.Context, text string) ([]span, error) {
		return candidates(re, text, func(c span) (span, bool) {
			number := digits.Replace(text[c.start:c.end])
			return c, standsAlone(text, c) && isIssued(number) && luhn(number)
		}), nil
	}
}

// isIssued tells whether one of the large issuers gives out numbers of this start and length. It keeps most
// identifiers of 14 to 19 digits from being cards, one in ten of which pass the check of the last digit.
func isIssued(number string) bool {
	prefix := func(n int) int {
		v, _ := strconv.Atoi(number[:n]) // digits only
		return v
	}
	between := func(v, low, high int) bool { return low <= v && v <= high }
	two, three, four := prefix(2), prefix(3), prefix(4)
	switch len(number) {
	case 14: // Diners Club
		return between(three, 300, 305) || two == 36 || two == 38 || two == 39
	case 15: // American Express
		return two == 34 || two == 37
	case 16: // Visa, Mastercard, Discover, JCB, UnionPay, Maestro
		return two/10 == 4 || between(two, 51, 55) || between(four, 2221, 2720) ||
			four == 6011 || between(three, 644, 649) || two == 65 || between(four, 3528, 3589) || two == 62 || two == 67
	case 19: // UnionPay
		return two == 62
	}
	return false
}

// luhn checks the last digit of a number (ISO/IEC 7812).
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// Bounds of an IBAN (ISO 13616), without spaces.
const minIBAN, maxIBAN = 15, 34

// newIBANFinder finds account numbers in one run or in groups of four.
func newIBANFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)`)
	return func(_ context.Context, text string) ([]span, error) {
		return candidates(re, text, func(c span) (span, bool) {
			for {
				number := strings.ReplaceAll(text[c.start:c.end], " ", "")
				if len(number) < minIBAN {
					return c, false
				}
				if len(number) <= maxIBAN && standsAlone(text, c) && mod97(number) == 1 {
					return c, true
				}
				// The last group may be a word that follows.
				cut := strings.LastIndexByte(text[c.start:c.end], ' ')
				if cut < 0 {
					return c, false
				}
				c.end = c.start + cut
			}
		}), nil
	}
}

// mod97 is the remainder that the check digits of a right IBAN make 1 (ISO/IEC 7064).
func mod97(number string) int {
	sum := 0
	for _, c := range number[4:] + number[:4] {
		if c >= 'A' {
			sum = (sum*100 + int(c-'A') + 10) % 97
		} else {
			sum = (sum*10 + int(c-'0')) % 97
		}
	}
	return sum
}

// newSSNFinder finds social security numbers that may have been given out.
func newSSNFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`\d{3}-\d{2}-\d{4}`)
	return func(_ context.Context, text string) ([]span, error) {
		return candidates(re, text, func(c span) (span, bool) {
			number := text[c.start:c.end]
			area, group, serial := number[:3], number[4:6], number[7:]
			return c, standsAlone(text, c) && area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
		}), nil
	}
}
