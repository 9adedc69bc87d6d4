package sensitive

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// near is how far around its word a rule of bounded matches is tried, in bytes. A rule takes some 10 ms for the
// largest text, and a text about many services has the words of many rules: tried everywhere they would take seconds.
// What a rule wants close to its word, without the word being a part of the match, is in reach, too.
const near = 2048

// words knows where the words are that rules wait for.
type words struct {
	lower string // the text with its ASCII letters in lower case, at the same offsets
	at    map[string][]int
}

func newWords(text string) *words {
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return &words{lower: string(lower), at: map[string][]int{}}
}

// offsets returns where a word is; of those close together the first and the last.
func (w *words) offsets(word string) []int {
	at, known := w.at[word]
	if known {
		return at
	}
	for from := 0; ; {
		i := strings.Index(w.lower[from:], word)
		if i < 0 {
			break
		}
		from += i
		if n := len(at); n > 1 && from-at[n-2] <= near {
			at[n-1] = from
		} else {
			at = append(at, from)
		}
		from += len(word)
	}
	w.at[word] = at
	return at
}

// around returns the parts of the text that are near one of the words, merged and in order.
func (w *words) around(of []string) []span {
	var parts []span
	for _, word := range of {
		for _, at := range w.offsets(word) {
			parts = append(parts, span{max(0, at-near), min(len(w.lower), at+len(word)+near)})
		}
	}
	return union(parts)
}

// widest returns how many bytes a match may have at most, -1 for any number.
func widest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return len(re.Rune) * utf8.UTFMax // a letter's other case may have more bytes
		}
		return len(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return 0
		}
		return utf8.RuneLen(re.Rune[len(re.Rune)-1])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return -1
	case syntax.OpRepeat:
		if one := widest(re.Sub[0]); one >= 0 && re.Max >= 0 {
			return one * re.Max
		}
		return -1
	}
	// What is left is empty, has one part, is a sequence or a choice.
	sum, most := 0, 0
	for _, sub := range re.Sub {
		n := widest(sub)
		if n < 0 {
			return -1
		}
		sum, most = sum+n, max(most, n)
	}
	if re.Op == syntax.OpConcat {
		return sum
	}
	return most
}
