package sensitive

import (
	"context"
	"strconv"
	"strings"
)

// cardLayouts are how many digits stand together in the number of a card, those with more digits first.
var cardLayouts = [...][]int{{4, 4, 4, 4, 3}, {19}, {4, 4, 4, 4}, {16}, {4, 6, 5}, {15}, {4, 6, 4}, {14}}

// findCards finds numbers of payment cards. It tries each layout at each group of digits, since what stands around a
// number is figures as often as not: its date, its code, the next card.
func findCards(ctx context.Context, text string) ([]span, error) {
	groups := digitGroups(text)
	var found []span
	free := 0
	for i := 0; i < len(groups); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := cardAt(text, groups[i:], free)
		if n > 0 {
			free = groups[i+n-1].end
			found = append(found, span{groups[i].start, free})
		}
		i += max(n, 1)
	}
	return found, nil
}

// digitGroups returns the digits of text that stand together.
func digitGroups(text string) []span {
	var groups []span
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		start := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		groups = append(groups, span{start, i})
	}
	return groups
}

// cardAt returns of how many groups the number of a card is that starts with the first, 0 for none. What is before
// free is taken already, and the number is no part of it.
func cardAt(text string, groups []span, free int) int {
	for _, layout := range cardLayouts {
		if len(groups) < len(layout) {
			continue
		}
		var number strings.Builder
		for i, digits := range layout {
			g := groups[i]
			if g.end-g.start != digits || i > 0 && (g.start-groups[i-1].end != 1 || !strings.Contains(" -.", text[g.start-1:g.start])) {
				break
			}
			number.WriteString(text[g.start:g.end])
			if i < len(layout)-1 {
				continue
			}
			if startsAlone(text[free:], groups[0].start-free) && endsCard(text, g.end) && isIssued(number.String()) && luhn(number.String()) {
				return len(layout)
			}
		}
	}
	return 0
}

// endsCard tells whether the number of a card may end at an offset: as other things do, or before the code and the
// month and year that forms put behind it, as in -123 and /12/27.
func endsCard(text string, end int) bool {
	for range 3 {
		if endsAlone(text, end) {
			return true
		}
		if text[end] != '-' && text[end] != '/' {
			return false
		}
		digits := end + 1
		for digits < len(text) && isDigit(text[digits]) {
			digits++
		}
		if n := digits - end - 1; n < 2 || n > 4 {
			return false
		}
		end = digits
	}
	return false
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
	// Visa, Discover, JCB, UnionPay, Maestro: of 16 digits or 19
	long := two/10 == 4 || four == 6011 || between(three, 644, 649) || two == 65 || between(four, 3528, 3589) || two == 62 || two == 67
	switch len(number) {
	case 14: // Diners Club
		return between(three, 300, 305) || two == 36 || two == 38 || two == 39
	case 15: // American Express
		return two == 34 || two == 37
	case 16: // and Mastercard
		return long || between(two, 51, 55) || between(four, 2221, 2720)
	case 19:
		return long
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
