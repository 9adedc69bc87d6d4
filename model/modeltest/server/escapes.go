package modeltestserver

import (
	"errors"
	"regexp"
	"strings"
)

var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// checkEscapes refuses a body in which half a surrogate pair stands alone, as the strict APIs do.
func checkEscapes(body []byte) error {
	half := errors.New("the request body is not valid JSON: no low surrogate in string")
	high := -1 // the end of a high half that waits for its other
	for _, at := range escapes.FindAllIndex(body, -1) {
		unit := strings.ToLower(string(body[at[0]+1 : at[1]]))
		isHigh, isLow := "ud800" <= unit && unit <= "udbff", "udc00" <= unit && unit <= "udfff"
		switch {
		case high >= 0 && (!isLow || high != at[0]), high < 0 && isLow && len(unit) == 5:
			return half
		case isHigh && len(unit) == 5:
			high = at[1]
		default:
			high = -1
		}
	}
	if high >= 0 {
		return half
	}
	return nil
}
