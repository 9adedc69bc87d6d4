package wire

import (
	"encoding/base64"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/openworkerai/openworker/model"
)

// maxMessage bounds what is repeated of a provider's message, in bytes.
const maxMessage = 600

// maxSecret bounds the part of a secret that a cut may leave at a message's end.
const maxSecret = 1024

// maxRetryAfter bounds what a provider may ask us to wait.
const maxRetryAfter = 24 * time.Hour

// Fault is a provider's error object, whatever the protocol. Code and Type are the protocol's own words: OpenAI's
// "code" and "type", Anthropic's "type", Google's "status" and "code".
type Fault struct {
	Message string
	Type    string
	Code    string
	// Reasons and RetryAfter stand in the object's details at Google: API_KEY_INVALID, the names of exceeded quotas.
	Reasons    string
	RetryAfter time.Duration
}

// refusalOf makes an error of a response that is one: by its status, or since it is no event stream. body is its
// beginning.
func refusalOf(resp *http.Response, body []byte) *model.Error {
	fault := FaultOf(body)
	err := Classify(resp.StatusCode, fault)
	html := LooksHTML(resp, body)
	switch refused := resp.StatusCode < 200 || resp.StatusCode > 299; {
	case !refused && fault != nil && err.Message == "":
		err.Message = "the server answered with an error that has no message"
	case !refused && fault != nil:
	case !refused && len(body) == 0:
		err = Cut(errors.New("the answer was empty"))
	case !refused && html:
		err = Malformed("an HTML page came instead of an answer; check BaseURL")
	case !refused:
		err = Malformed("the server's answer is no event stream and holds no error")
	case resp.StatusCode < 400:
		err.Message = "the server redirects, which is not followed; BaseURL must be the final address"
	case fault == nil && html:
		err.Message = "an HTML page came instead of an answer, from a proxy or from another kind of server: " + http.StatusText(resp.StatusCode)
	case fault == nil && resp.StatusCode == http.StatusNotFound:
		err.Message = "the server has no such address under BaseURL: " + resp.Request.URL.Path
	case err.Message == "":
		err.Message = "the server gave no message: " + http.StatusText(resp.StatusCode)
	}
	if wait := RetryAfter(resp.Header, time.Now()); wait > 0 {
		err.RetryAfter = wait
	}
	return err
}

// LooksHTML reports whether a body is a page, as proxies and other kinds of server send.
func LooksHTML(resp *http.Response, body []byte) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || strings.HasPrefix(strings.TrimSpace(string(body)), "<")
}

// Classify gives an error its kind: by what the object says first, since one status stands for several things, and
// by the status then. fault may be nil.
func Classify(status int, fault *Fault) *model.Error {
	err := &model.Error{Status: status}
	var kind, said string
	if fault != nil {
		err.Message = clean(fault.Message)
		kind, said = strings.ToLower(fault.Code+" "+fault.Type+" "+fault.Reasons), strings.ToLower(fault.Message)
		// Gateways put the status that they got themselves into the code, under a 200 of their own.
		if code, e := strconv.Atoi(fault.Code); e == nil && status == 200 && code >= 400 && code < 600 {
			status = code
		}
	}
	err.Kind = byContent(status, kind, said)
	if err.Kind == model.KindContext {
		err.Window = windowIn(said)
	}
	if err.Kind == "" {
		err.Kind = byStatus(status)
	}
	if err.Kind == model.KindNotFound && !strings.Contains(kind+said, "model") {
		err.Kind = model.KindRefused
	}
	if fault != nil && err.Retryable() {
		err.RetryAfter = fault.RetryAfter
	}
	return err
}

// byContent tells the kinds that a status alone does not tell, "" for none.
func byContent(status int, kind, said string) model.ErrorKind {
	switch {
	case status != http.StatusTooManyRequests && status < 500 && isTooLarge(kind, said):
		return model.KindTooLarge
	case status != http.StatusTooManyRequests && status != http.StatusUnauthorized && isContext(kind, said),
		// OpenAI's and Groq's 429 and 413 for one request that is over the whole limit of a minute: waiting helps nothing.
		containsAny(said, "request too large for") && containsAny(said, "tokens per min"):
		return model.KindContext
	case containsAny(kind, "insufficient_quota", "billing_", "insufficient_balance", "insufficient_credits") ||
		containsAny(said, "insufficient balance", "insufficient credits", "insufficient quota", "credit balance is too low", "specified api usage limits") ||
		containsAny(kind, "perday"): // Google: what is used up for the day comes back with no back-off
		return model.KindQuota
	case containsAny(kind, "api_key_invalid") || containsAny(said, "api key not valid", "api key expired"): // Google: a 400
		return model.KindAuth
	case containsAny(kind, "model_not_found", "model_not_available"):
		return model.KindNotFound
	case status != 200: // the status tells the rest better
		return ""
	case containsAny(kind, "rate_limit", "too_many_requests") || containsAny(said, "rate limit", "too many requests"):
		return model.KindRateLimited
	case containsAny(kind, "authentication", "invalid_api_key", "permission", "unauthorized"):
		return model.KindAuth
	case containsAny(kind, badFile...), containsAny(kind, "invalid_request", "badrequest", "bad_request", "invalid_argument", "content_filter", "content_policy"):
		return model.KindRefused
	case containsAny(kind, "overloaded", "server_error", "servererror", "internal", "unavailable", "api_error", "timeout", "bad_gateway") ||
		containsAny(said, "overloaded", "unavailable", "internal error", "internal server error", "server had an error", "try again", "timed out"):
		return model.KindOverloaded
	}
	return ""
}

// isContext knows the code of the protocol and the words of servers that send none.
func isContext(kind, said string) bool {
	return containsAny(kind, "context_length_exceeded", "exceed_context_size", "context_window_exceeded", "max_prompt_tokens_exceeded", "tokens_limit_reached") ||
		// A text that is too long for its field: of a conversation, not a tool's description or a name.
		containsAny(kind, "string_above_max_length") && containsAny(said, "content", "output", "'input'") ||
		containsAny(said,
			"maximum context length", // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
			"available context size", // llama.cpp
			"context size has been exceeded",
			"context length exceeded",
			"context window exceeds",     // MiniMax
			"exceeds the context window", // OpenAI
			"exceed context window",      // llama-cpp-python: "requested tokens exceed context window of"
			"exceeds context window",
			"context the overflows",              // LM Studio
			"greater than the context length",    // LM Studio since 0.3.20
			"cannot truncate prompt with n_keep", // LM Studio since 0.4
			"prompt token count of",              // GitHub Copilot
			"maximum prompt length",              // xAI
			"exceed context limit",               // Anthropic: "input length and `max_tokens` exceed context limit"
			"prompt is too long",                 // Anthropic, also behind gateways
			"input is too long",                  // Bedrock behind gateways
			"prompt exceeds max length",          // Zhipu
			"exceeded model token limit",         // Moonshot
			"input token count",                  // Gemini's compatible endpoint
			"range of input length",              // DashScope
			"reduce the length of the messages",  // Groq, Cerebras
			"`inputs` tokens + `max_new_tokens`", // TGI
			"longer than the model's context",
			"longer than the maximum model length",              // vLLM
			"model's context length is only",                    // vLLM
			"is too long to fit into the model",                 // vLLM
			"`inputs` must have less than",                      // TGI
			"total tokens of image and text exceed max message", // Volcengine
		)
}

// namesWindow finds the window in what servers say of one that is exceeded.
var namesWindow = regexp.MustCompile(`(?:maximum context length is|maximum prompt length is|context length is only|context length of only|maximum model length of|` +
	`context limit: \d+ \+ \d+ >|tokens >|n_ctx:|n_ctx \(|\(context length|tokens allowed \(|context size \(|context window of|the limit of|must be <=|must have less than|max size:|: limit) ?(\d{3,9})\b`)

// windowIn is the window that a message of an overflow names, 0 for none.
func windowIn(said string) int {
	found := namesWindow.FindStringSubmatch(said)
	if found == nil {
		return 0
	}
	window, _ := strconv.Atoi(found[1]) // nine digits at most
	return window
}

func byStatus(status int) model.ErrorKind {
	switch status {
	case http.StatusOK:
		return model.KindUnclassified
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.KindAuth
	case http.StatusPaymentRequired:
		return model.KindQuota
	case http.StatusNotFound:
		return model.KindNotFound
	case http.StatusRequestEntityTooLarge:
		return model.KindTooLarge
	case http.StatusTooManyRequests:
		return model.KindRateLimited
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return model.KindOverloaded // passing states of the server; no body of ours is in them
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return model.KindRefused
	}
	switch {
	case status >= 500:
		return model.KindOverloaded
	case status >= 300:
		return model.KindRefused
	}
	return model.KindUnclassified
}

func containsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// clean makes one line of a provider's message: control characters and runs of space become one space. Of one
// that is too long the last word goes, which may be a part of a secret that finish would not know again.
func clean(message string) string {
	if cut := min(len(message), 4*maxMessage); cut < len(message) {
		if space := strings.LastIndexFunc(message[:cut], unicode.IsSpace); space >= 0 && cut-space < maxSecret {
			cut = space
		}
		message = message[:cut]
	}
	message = strings.ToValidUTF8(message, "")
	return strings.Join(strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

// finish takes the credential, and what stands in the host's own headers, out of an error's message, since some
// servers repeat it, and makes it short.
func finish(err *model.Error, secret string, headers map[string]string) {
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret)} {
		if len(secret) >= 4 {
			err.Message = strings.ReplaceAll(err.Message, form, "[credential]")
		}
	}
	for name, value := range headers {
		_, token, _ := strings.Cut(value, " ") // behind its scheme, as in "Bearer x"
		for _, part := range []string{value, token} {
			if len(part) >= 4 {
				err.Message = strings.ReplaceAll(err.Message, part, "[header "+name+"]")
			}
		}
	}
	if len(err.Message) > maxMessage {
		err.Message = strings.ToValidUTF8(err.Message[:maxMessage], "") + "…"
	}
}

// RetryAfter reads what the provider asked us to wait: retry-after-ms, or Retry-After in seconds or as a date, which
// counts from the server's own Date where it gives one. 0 means that it asked for nothing.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if ms, ok := parseFloat(header.Get("Retry-After-Ms")); ok && ms > 0 {
		return bounded(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, ok := parseFloat(value); ok {
		return bounded(seconds * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(header.Get("Date")); err == nil {
		now = theirs
	}
	return bounded(float64(at.Sub(now)))
}

func parseFloat(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil && !math.IsNaN(f)
}

func bounded(ns float64) time.Duration {
	return time.Duration(min(max(ns, 0), float64(maxRetryAfter)))
}
