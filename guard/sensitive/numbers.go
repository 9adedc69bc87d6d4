package sensitive

import (
	"context"
	"regexp"
	"strings"
)

// Bounds of an IBAN (ISO 13616), without spaces.
const minIBAN, maxIBAN = 15, 34

// newIBANFinder finds account numbers in one run or in groups of four. In lower case, as in the digest of something,
// only four letters may be among its digits, which is how most countries have it and no digest.
func newIBANFinder() func(context.Context, string) ([]span, error) {
	re := regexp.MustCompile(`[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)|` +
		`[a-z]{2}\d{2}(?:[a-z]{4})?\d{8,30}|[a-z]{2}\d{2} (?:[a-z]{4}|\d{4})(?: \d{4}){1,6}(?: \d{1,3})?`)
	return func(ctx context.Context, text string) ([]span, error) {
		return candidates(ctx, re, text, func(c span) (span, bool) {
			for {
				number := strings.ToUpper(strings.ReplaceAll(text[c.start:c.end], " ", ""))
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
		})
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
	return func(ctx context.Context, text string) ([]span, error) {
		return candidates(ctx, re, text, func(c span) (span, bool) {
			number := text[c.start:c.end]
			area, group, serial := number[:3], number[4:6], number[7:]
			return c, standsAlone(text, c) && area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
		})
	}
}
