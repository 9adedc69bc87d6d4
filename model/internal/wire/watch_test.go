package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// answers is a server without a network.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func response(status int, contentType string, body io.Reader) answers {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Request: r,
			Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body),
		}, nil
	}
}

// exchange reads an answer to its end and tells what became of it; nil is an answer that was read whole.
func exchange(t *testing.T, ctx context.Context, server answers, config WatchConfig) *model.Error {
	t.Helper()
	config.Provider, config.KeyOptional = "P", true
	watch, failure := NewWatch(ctx, config)
	if failure != nil {
		return failure
	}
	defer watch.Stop()
	req, err := http.NewRequestWithContext(watch.Context(), http.MethodPost, "http://localhost/v1/x", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := NewClient(&http.Client{Transport: server}).Do(req)
	if err != nil {
		return watch.Error(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return watch.Error(err)
	}
	return nil
}

func TestAnAnswerThatIsNoStreamIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server answers
		kind   model.ErrorKind // "" reads the answer
		says   string
	}{
		"a stream":                   {response(200, "text/event-stream; charset=utf-8", strings.NewReader("data: 1\n\n")), "", ""},
		"C48 an error in a 200":      {response(200, "application/json", strings.NewReader(`{"error":{"message":"busy","type":"server_error"}}`)), model.KindOverloaded, "busy"},
		"C48 an error without words": {response(200, "application/json", strings.NewReader(`{"error":{"type":"server_error"}}`)), model.KindOverloaded, "no message"},
		"C48 a list of one error":    {response(200, "application/json", strings.NewReader(`[{"error":{"message":"too many requests","status":"RESOURCE_EXHAUSTED","code":429}}]`)), model.KindRateLimited, "too many"},
		"a page":                     {response(200, "text/html", strings.NewReader("<html>")), model.KindMalformed, "HTML"},
		"an empty body":              {response(200, "", strings.NewReader("")), model.KindCut, "empty"},
		"a compressed stream": {func(r *http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}
			return &http.Response{StatusCode: 200, Request: r, Header: header, Body: io.NopCloser(strings.NewReader("\x1f\x8b"))}, nil
		}, model.KindMalformed, "compressed"},
		"JSON without an error":         {response(200, "application/json", strings.NewReader(`{"id":1}`)), model.KindMalformed, "no event stream"},
		"a redirect":                    {response(307, "", strings.NewReader("")), model.KindRefused, "redirects"},
		"413 from the edge":             {response(413, "text/html", strings.NewReader("<html>")), model.KindTooLarge, "HTML"},
		"404 without a word":            {response(404, "", strings.NewReader("")), model.KindRefused, "/v1/x"},
		"529":                           {response(529, "application/json", strings.NewReader(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), model.KindOverloaded, "Overloaded"},
		"no answer":                     {func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }, model.KindUnreachable, "refused"},
		"a body that breaks off":        {response(200, "text/event-stream", io.MultiReader(strings.NewReader("data"), broken{})), model.KindCut, "torn"},
		"a stream that does not end":    {response(200, "text/event-stream", endless{}), model.KindMalformed, "512 MiB"},
		"an error that does not end":    {response(500, "text/plain", endless{}), model.KindOverloaded, "no message"},
		"an error that has control":     {response(400, "application/json", strings.NewReader(`{"error":{"message":"a\u001b[31mb"}}`)), model.KindRefused, "a [31mb"},
		"an error that breaks off":      {response(503, "", broken{}), model.KindOverloaded, "no message"},
		"a refusal that is only string": {response(401, "", strings.NewReader(`{"error":"who are you"}`)), model.KindAuth, "who are you"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := exchange(t, t.Context(), test.server, WatchConfig{Idle: time.Minute})
			switch {
			case test.kind == "" && err != nil:
				t.Errorf("got %v", err)
			case test.kind != "" && (err == nil || err.Kind != test.kind || !strings.Contains(err.Message, test.says)):
				t.Errorf("got %v, want %s with %q", err, test.kind, test.says)
			}
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("torn") }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// waiting is a body that says nothing until its request ends.
type waiting struct{ ctx context.Context }

func (w waiting) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, w.ctx.Err()
}

func (waiting) Close() error { return nil }

// trickling is a body that says a little each second until its request ends.
type trickling struct{ waiting }

func (t trickling) Read(p []byte) (int, error) {
	select {
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	case <-time.After(time.Second):
		return copy(p, " "), nil
	}
}

func TestSilenceCutsAStreamAndOnlySilence(t *testing.T) {
	t.Parallel()
	silent := answers(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: waiting{r.Context()}}, nil
	})
	mute := answers(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	waits := func(ctx context.Context) io.ReadCloser { return waiting{ctx} }
	trickles := func(ctx context.Context) io.ReadCloser { return trickling{waiting{ctx}} }
	refusing := func(body func(context.Context) io.ReadCloser) answers {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Request: r, Header: http.Header{}, Body: body(r.Context())}, nil
		}
	}
	for name, test := range map[string]struct {
		server answers
		leave  time.Duration // when the caller goes away
		kind   model.ErrorKind
		after  time.Duration
	}{
		"after the headers":        {silent, time.Hour, model.KindCut, time.Minute},
		"before the headers":       {mute, time.Hour, model.KindCut, time.Minute},
		"in a refusal":             {refusing(waits), time.Hour, model.KindAuth, maxErrorTime},
		"a refusal that trickles":  {refusing(trickles), time.Hour, model.KindAuth, maxErrorTime},
		"the caller leaves it":     {refusing(waits), time.Second, model.KindCancelled, time.Second},
		"the caller leaves first":  {silent, time.Second, model.KindCancelled, time.Second},
		"the caller leaves a mute": {mute, time.Second, model.KindCancelled, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.leave)
				defer cancel()
				began := time.Now()
				err := exchange(t, ctx, test.server, WatchConfig{Idle: time.Minute})
				if err == nil || err.Kind != test.kind || time.Since(began) != test.after {
					t.Errorf("got %v after %v, want %s after %v", err, time.Since(began), test.kind, test.after)
				}
			})
		})
	}
}

// What is large is long under way. Only a server that neither takes nor sends is silent.
func TestARequestMayTakeLongToSend(t *testing.T) {
	t.Parallel()
	// takes reads the body in pieces of a byte, as many as it is told, and answers or stands still.
	takes := func(pieces int, answer string) answers {
		return func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			for range pieces {
				if _, err := r.Body.Read(make([]byte, 1)); err != nil {
					return nil, err
				}
				select {
				case <-r.Context().Done():
					return nil, r.Context().Err()
				case <-time.After(50 * time.Second):
				}
			}
			if answer == "" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return response(200, "text/event-stream", strings.NewReader(answer))(r)
		}
	}
	for name, test := range map[string]struct {
		server answers
		kind   model.ErrorKind
		after  time.Duration
	}{
		"it is taken slowly":               {takes(2, "data: 1\n\n"), "", 100 * time.Second},
		"it is taken, and nothing follows": {takes(2, ""), model.KindCut, 110 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := exchange(t, t.Context(), test.server, WatchConfig{Idle: time.Minute})
				if (err == nil) != (test.kind == "") || err != nil && err.Kind != test.kind || time.Since(began) != test.after {
					t.Errorf("got %v after %v, want %q after %v", err, time.Since(began), test.kind, test.after)
				}
			})
		})
	}
}

func TestNothingIsSentThatCannotBe(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx        context.Context
		credential string
		want       model.ErrorKind
	}{
		"a context that has ended":       {ended, "key", model.KindCancelled},
		"no credential":                  {t.Context(), "", model.KindAuth},
		"a credential with a line break": {t.Context(), "key\n", model.KindAuth},
	} {
		if watch, err := NewWatch(test.ctx, WatchConfig{Provider: "P", Credential: test.credential, Idle: time.Minute}); watch != nil || err.Kind != test.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnAddressMustBeOne(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:80", "ftp://x", "http://", "http://a:b@x", "http://x?y", "http://x#y", "http://%"} {
		if _, err := ParseBaseURL(bad, "http://x"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if got, err := ParseBaseURL("https://x/v1//", ""); err != nil || got.String() != "https://x/v1" {
		t.Errorf("got %v, %v", got, err)
	}
	if CheckHeaders(map[string]string{"X-API-key": "a"}, "x-api-key") == nil || CheckHeaders(map[string]string{"accept": "a"}) == nil {
		t.Error("a header of ours was taken")
	}
	for name, headers := range map[string]map[string]string{
		"a line break in a value":           {"X-Team": "a\r\nX-Key: b"},
		"a NUL in a value":                  {"X-Team": "a\x00"},
		"a space in a name":                 {"X Team": "a"},
		"no name":                           {"": "a"},
		"one that net/http leaves out":      {"host": "a"},
		"one that breaks the body":          {"Content-Length": "1"},
		"one that lets the transport retry": {"Idempotency-Key": "a"},
		"one in two spellings":              {"X-Team": "a", "x-team": "b"},
	} {
		if err := CheckHeaders(headers, "x-api-key"); api.CodeOf(err) != api.CodeInvalidRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := CheckHeaders(map[string]string{"X-Team": "a"}, "x-api-key"); err != nil {
		t.Error(err)
	}
}
