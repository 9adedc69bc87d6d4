package wire

import (
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Bounds on what a server may send. What is over them is kind malformed.
const (
	MaxAnswerBytes = 16 << 20  // of text, reasoning and arguments together
	MaxStreamBytes = 512 << 20 // of a stream with all its wrapping
	MaxCalls       = 512       // of one answer

	maxHeaderBytes = 256 << 10
	maxErrorBytes  = 64 << 10 // of an error's body; the rest is not read
	maxErrorTime   = 10 * time.Second
)

// Excess is the error of an answer that is over a bound; [Watch.Error] makes it kind malformed.
type Excess string

func (e Excess) Error() string { return string(e) }

// What is over the bounds.
const (
	ErrStreamTooLong = Excess("the stream is larger than 512 MiB")
	ErrAnswerTooLong = Excess("the answer is larger than 16 MiB")
	ErrTooManyCalls  = Excess("the answer holds more than 512 tool calls")
)

// NewClient returns a client for model servers. Its transport is the given client's, or one of its own that uses
// no proxy and keeps up to 256 connections. It follows no redirect, which would carry the credential along, and
// has no time-out: an answer may take long, and silence is the watch's to bound. Requests in the context of
// a [Watch] are watched by it.
func NewClient(given *http.Client) *http.Client {
	client := &http.Client{}
	if given != nil {
		*client = *given
	}
	base := client.Transport
	switch {
	case base != nil:
	case given != nil:
		base = http.DefaultTransport
	default:
		base = &http.Transport{
			DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           512,
			MaxIdleConnsPerHost:    256,
			IdleConnTimeout:        90 * time.Second,
			TLSHandshakeTimeout:    15 * time.Second,
			MaxResponseHeaderBytes: maxHeaderBytes,
			DisableCompression:     true,
		}
	}
	client.Transport = &transport{base}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Timeout = 0
	return client
}

// ParseBaseURL checks a Config's BaseURL: absolute, http or https, without user, query or fragment. The result
// has no slash at its end. The error has code invalid_request.
func ParseBaseURL(value, example string) (*url.URL, error) {
	base, err := url.Parse(value)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, api.Errorf(api.CodeInvalidRequest, "BaseURL must be an absolute http or https address, for example %s", example)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, api.Errorf(api.CodeInvalidRequest, "BaseURL must hold no user, query or fragment; credentials go with each request")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	return base, nil
}

// CheckHeaders refuses headers of a Config that are the adapter's own, that net/http would leave out, that would let
// it send a request again, or that are none. The error has code invalid_request and holds no value.
func CheckHeaders(headers map[string]string, own ...string) error {
	seen := map[string]bool{}
	for name, value := range headers {
		canonical := http.CanonicalHeaderKey(name)
		switch canonical {
		case "Content-Type", "Accept", "Accept-Encoding", "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Idempotency-Key", "X-Idempotency-Key":
			return api.Errorf(api.CodeInvalidRequest, "Headers may not set %s", name)
		}
		for _, taken := range own {
			if strings.EqualFold(name, taken) {
				return api.Errorf(api.CodeInvalidRequest, "Headers may not set %s", name)
			}
		}
		switch {
		case name == "" || strings.IndexFunc(name, isNoToken) >= 0:
			return api.Errorf(api.CodeInvalidRequest, "Headers: %.80q is no header's name", name)
		case strings.IndexFunc(value, isControl) >= 0:
			return api.Errorf(api.CodeInvalidRequest, "Headers: the value of %s holds a line break or another control character", name)
		case seen[canonical]:
			return api.Errorf(api.CodeInvalidRequest, "Headers set %s twice", canonical)
		}
		seen[canonical] = true
	}
	return nil
}

func isNoToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// transport watches requests whose context has a Watch.
type transport struct{ base http.RoundTripper }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	w, watched := req.Context().Value(watchKey{}).(*Watch)
	if !watched {
		return t.base.RoundTrip(req)
	}
	w.sent = max(w.sent, int(req.ContentLength))
	resp, err := t.base.RoundTrip(w.sending(req))
	if err != nil {
		return nil, err
	}
	w.answered.Store(true)
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: w}
	refused := resp.StatusCode < 200 || resp.StatusCode > 299
	if !refused && compressed(resp) {
		resp.Body.Close()
		w.refusal = Malformed("the answer is compressed, which was not asked for")
		return nil, w.refusal
	}
	if !refused && (w.config.AcceptJSON || isStream(resp)) {
		return resp, nil
	}
	defer resp.Body.Close()
	if refused { // its status says it all: what it goes on to say is not waited for long
		timer := time.AfterFunc(maxErrorTime, func() { w.cancel(errIdle) })
		defer timer.Stop()
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil && (w.caller.Err() != nil || !refused && w.ctx.Err() != nil) {
		return nil, err
	}
	w.refusal = refusalOf(resp, start) // its status tells what it is, however its body ends
	return nil, fmt.Errorf("the server answered %s", resp.Status)
}

func compressed(resp *http.Response) bool {
	coding := resp.Header.Get("Content-Encoding")
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// isStream goes by what the body says it is: a server of an SDK's protocol says so.
func isStream(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// CloseIdleConnections closes the base's; http.Client looks for this method.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
