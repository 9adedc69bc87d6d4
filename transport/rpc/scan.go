package rpc

import (
	"bytes"
	"encoding/json"
	"iter"
)

// fieldsOf are the fields of a JSON object, which may be cut off, or no JSON within a value: only its texts and brackets are
// looked at. The value in which it is cut off is nil, and the last.
func fieldsOf(message []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		rest, is := bytes.CutPrefix(begun(message), []byte("{"))
		for is {
			rest = blank(rest)
			name, behind, found := text(rest)
			if !found {
				return
			}
			if behind, found = bytes.CutPrefix(blank(behind), []byte(":")); !found {
				return
			}
			value, behind, whole := valueOf(blank(behind))
			if !whole {
				value = nil
			}
			if !yield(name, value) || !whole {
				return
			}
			rest, is = bytes.CutPrefix(behind, []byte(","))
		}
	}
}

// membersOf are the members of a JSON array, which may be cut off in the last, as fieldsOf is.
func membersOf(message []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest, is := bytes.CutPrefix(begun(message), []byte("["))
		for is {
			member, behind, _ := valueOf(blank(rest))
			if len(member) > 0 && !yield(member) {
				return
			}
			rest, is = bytes.CutPrefix(behind, []byte(","))
		}
	}
}

// isBatch reports whether a message is an array.
func isBatch(message []byte) bool { return bytes.HasPrefix(begun(message), []byte("[")) }

// begun is a message from its first character on. A byte order mark is no JSON, and some writers begin with one.
func begun(message []byte) []byte { return blank(bytes.TrimPrefix(message, []byte("\xef\xbb\xbf"))) }

func blank(data []byte) []byte {
	for len(data) > 0 && (data[0] == ' ' || data[0] == '\t' || data[0] == '\r' || data[0] == '\n') {
		data = data[1:]
	}
	return data
}

// text is the JSON string that data begins with, and what comes behind it.
func text(data []byte) (value, behind []byte, found bool) {
	if len(data) == 0 || data[0] != '"' {
		return nil, nil, false
	}
	end := endOfText(data)
	if end < 0 {
		return nil, nil, false
	}
	if raw := data[1 : end-1]; bytes.IndexByte(raw, '\\') < 0 {
		return raw, data[end:], true
	}
	var plain string
	err := json.Unmarshal(data[:end], &plain)
	return []byte(plain), data[end:], err == nil
}

// endOfText is where the string ends that data begins with, -1 where it does not.
func endOfText(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueOf is the value that data begins with, up to the comma or the bracket behind it, which behind begins with. It is not
// whole where data ends within it.
func valueOf(data []byte) (value, behind []byte, whole bool) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := endOfText(data[i:])
			if end < 0 {
				return data, nil, false
			}
			i += end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return bytes.TrimRight(data[:i], " \t\r\n"), data[i:], true
			}
		case ',':
			if depth == 0 {
				return bytes.TrimRight(data[:i], " \t\r\n"), data[i:], true
			}
		}
	}
	value = bytes.TrimRight(data, " \t\r\n")
	return value, nil, depth == 0 && len(value) > 0 && (len(value) < len(data) || bytes.IndexByte([]byte(`"]}`), value[len(value)-1]) >= 0) // a number may go on
}
