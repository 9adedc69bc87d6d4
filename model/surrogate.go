package model

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// MendJSON replaces each escape of half a surrogate pair in a JSON text, such as \ud83d alone, by \ufffd. Models write
// them where a character is torn apart; encoding/json takes them, and some providers refuse the request that says
// them again, and with it the whole conversation (C40). A text without them is returned as it is.
func MendJSON(data []byte) []byte {
	mended := false
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); i = next(data, i) {
		switch high, low := escaped(data, i), escaped(data, i+6); {
		case !utf16.IsSurrogate(high):
			i++ // what follows the backslash is no backslash of its own
		case utf16.DecodeRune(high, low) != '\ufffd':
			i += 11
		default:
			if !mended {
				data, mended = bytes.Clone(data), true
			}
			copy(data[i:], `\ufffd`)
			i += 5
		}
	}
	return data
}

// next is the place of the first backslash behind i, -1 where there is none.
func next(data []byte, i int) int {
	n := bytes.IndexByte(data[i+1:], '\\')
	if n < 0 {
		return -1
	}
	return i + 1 + n
}

// escaped is the code unit that a \u escape at i gives, 0 where there is none.
func escaped(data []byte, i int) rune {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}
