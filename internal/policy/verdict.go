package policy

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// maxReviewAnswer bounds a reviewer's answer, in bytes.
const maxReviewAnswer = 16 << 10

// ParseReview reads a reviewer's answer: exactly one JSON object with a known verdict and a reason, each once, no other
// key, and nothing but white space around it. The reason is made one line of visible text of at most
// [api.MaxReviewReasonBytes]. Whatever else the answer is, the error is review_invalid, and the review is unsure with
// that code.
func ParseReview(text string) (api.Review, *api.Error) {
	if len(text) > maxReviewAnswer {
		return invalid("it has %d bytes and at most %d are read", len(text), maxReviewAnswer)
	}
	if err := unambiguous(text); err != nil {
		return invalid("%w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return invalid("it is not a JSON object")
	}
	var verdict, reason string
	for key, value := range fields {
		into := &verdict
		switch key {
		case "verdict":
		case "reason":
			into = &reason
		default:
			return invalid("it has the key %q, which is not asked for", Plain(key, 80))
		}
		if value[0] != '"' {
			return invalid("its %s is not a string", key)
		}
		if err := json.Unmarshal(value, into); err != nil {
			return invalid("its %s cannot be read: %w", key, err)
		}
	}
	if len(fields) != 2 {
		return invalid("it has %d of the keys verdict and reason", len(fields))
	}
	switch v := api.ReviewVerdict(verdict); v {
	case api.ReviewAllow, api.ReviewDeny, api.ReviewUnsure:
		return api.Review{Verdict: v, Reason: Plain(reason, api.MaxReviewReasonBytes)}, nil
	}
	return invalid("its verdict is %q; it must be allow, deny or unsure", Plain(verdict, 80))
}

// ReadReview reads the answer to the request for a review of in, as [ParseReview] does its text. An answer that was cut
// off, filtered, or asks for tools is none. Nor is an allow that stands word for word in what was to be reviewed: that
// is an echo, and no judgement.
func ReadReview(in ReviewInput, resp model.Response) (api.Review, *api.Error) {
	text, fault := whole(resp)
	if fault != "" {
		return invalid("%s", fault)
	}
	review, err := ParseReview(text)
	switch {
	case err != nil || review.Verdict != api.ReviewAllow:
	case in.Partial:
		return invalid("a guardrail redacted the action that it was shown, so it has not judged it as it is")
	case echoes(in, text), echoes(in, fmt.Sprintf(`{"reason":%q,"verdict":"allow"}`, review.Reason)), echoes(in, fmt.Sprintf(`{"verdict":"allow","reason":%q}`, review.Reason)):
		return invalid("it repeats an answer that stands in what was to be reviewed")
	}
	return review, err
}

func invalid(format string, args ...any) (api.Review, *api.Error) {
	return api.Review{Verdict: api.ReviewUnsure, Code: api.CodeReviewInvalid},
		api.Errorf(api.CodeReviewInvalid, "the reviewer's answer counts for none, so a person has to decide: "+format, args...)
}

// whole is an answer's text, or why it is not a whole one.
func whole(resp model.Response) (text, fault string) {
	if resp.Stop != model.StopEnd {
		return "", fmt.Sprintf("the answer did not come to its end: it stopped with %q", Plain(string(resp.Stop), 40))
	}
	for _, item := range resp.Items {
		switch item.Kind {
		case model.AssistantItem:
			text += item.Text
		case model.ToolCallItem:
			return "", "the answer asks for a tool, and none was declared"
		}
	}
	return text, ""
}

// echoes reports whether an answer stands in what was to be reviewed, whatever it is quoted or spaced with. The
// application's guidance may show one.
func echoes(in ReviewInput, answer string) bool {
	answer = dense(answer)
	stands := func(text string) bool { return strings.Contains(dense(text), answer) }
	sources := append([]string{in.Action.Arguments, in.Action.Description, in.Action.Tool}, stringsIn(in.Action.Arguments)...)
	for _, l := range lines(in.Conversation, recent(in.Conversation), maxReviewItem) {
		sources = append(sources, l.Text, l.Arguments, l.Result, l.End)
		sources = append(sources, stringsIn(l.Arguments)...)
		for _, f := range l.Files {
			sources = append(sources, f.Name)
		}
	}
	for _, s := range sources {
		if stands(s) {
			return true
		}
	}
	return false
}

// dense leaves only the letters and digits of a text, however often it was quoted as JSON: the marks between the words of
// an answer are what quoting changes.
func dense(text string) string {
	text = escaped.ReplaceAllStringFunc(html.UnescapeString(text), func(s string) string {
		var units []uint16
		for _, unit := range strings.Split(s, "u")[1:] {
			n, err := strconv.ParseUint(unit[:4], 16, 16)
			if err != nil {
				return ""
			}
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units))
	})
	text = control.ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

var (
	escaped = regexp.MustCompile(`(\\+u[0-9a-fA-F]{4})+`)
	control = regexp.MustCompile(`\\+[nrtbf]`) // a letter that is none
)
