package modeltestserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/model/modeltest/server"
)

func start(t *testing.T, config modeltestserver.Config) *modeltestserver.Server {
	t.Helper()
	s, err := modeltestserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, s *modeltestserver.Server, body, credential string) (int, string, error) {
	t.Helper()
	status, _, got, err := send(t, s, modeltestserver.Chat, body, credential)
	return status, got, err
}

// send posts a body as a protocol's client does.
func send(t *testing.T, s *modeltestserver.Server, protocol modeltestserver.Protocol, body, credential string) (int, http.Header, string, error) {
	t.Helper()
	path := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "/chat/completions", modeltestserver.Responses: "/responses", modeltestserver.Messages: "/v1/messages",
		modeltestserver.Gemini: "/v1beta/models/m:streamGenerateContent?alt=sse",
	}[protocol]
	return do(t, http.MethodPost, s.Base(protocol)+path, body, headers(protocol, credential))
}

func headers(protocol modeltestserver.Protocol, credential string) http.Header {
	header := http.Header{}
	switch protocol {
	case modeltestserver.Messages:
		header.Set("x-api-key", credential)
		header.Set("anthropic-version", "2026-10-21")
	case modeltestserver.Gemini:
		header.Set("x-goog-api-key", credential)
	default:
		header.Set("Authorization", "Bearer "+credential)
	}
	return header
}

func do(t *testing.T, method, url, body string, header http.Header) (int, http.Header, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(data), err
}

func TestTheServerRemembersWhatItRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{Credential: "key"})
	if status, got, _ := post(t, s, body(hi), "key"); status != 200 || !strings.Contains(got, `"ok"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("got %d %s", status, got)
	}
	if status, got, _ := post(t, s, body(hi, asks("c1")), "key"); status != 400 || !strings.Contains(got, "before call c1") {
		t.Errorf("got %d %s", status, got)
	}
	if status, _, _ := post(t, s, body(hi), "other"); status != 401 {
		t.Errorf("got %d, want 401", status)
	}
	if got := s.Refusals(); len(got) != 1 || !strings.HasPrefix(got[0], "request 2: ") || len(s.Requests()) != 1 || s.Calls() != 3 {
		t.Errorf("refusals %q, %d requests, %d calls", got, len(s.Requests()), s.Calls())
	}
}

// ask is a body that each protocol accepts, and its answer to a call.
var (
	ask = map[modeltestserver.Protocol]string{
		modeltestserver.Chat: body(hi), modeltestserver.Responses: resp(respHi), modeltestserver.Messages: msg(msgHi), modeltestserver.Gemini: gem(gemHi),
	}
	told = map[modeltestserver.Protocol]string{
		modeltestserver.Chat:      body(hi, asks("c1"), tells("c1")),
		modeltestserver.Responses: resp(respHi, respCall("c1"), respOutput("c1")),
		modeltestserver.Messages:  msg(msgHi, msgUse("c1"), user(msgResult("c1"))),
		modeltestserver.Gemini:    gem(gemHi, gemModel(gemCall("f")), gemUser(gemResult("f"))),
	}
)

// inEach runs a test for each protocol.
func inEach(t *testing.T, test func(*testing.T, modeltestserver.Protocol)) {
	for _, protocol := range modeltestserver.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			test(t, protocol)
		})
	}
}

func TestAScriptSeesOneRequestInEveryProtocol(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{Credential: "key"})
		for _, body := range []string{ask[protocol], told[protocol]} {
			if status, _, got, err := send(t, s, protocol, body, "key"); status != 200 || err != nil || !strings.Contains(got, "ok") {
				t.Fatalf("got %d %s (%v)", status, got, err)
			}
		}
		requests := s.Requests()
		if len(requests) != 2 || len(s.Refusals()) != 0 {
			t.Fatalf("got %d requests, refusals %q", len(requests), s.Refusals())
		}
		for i, role := range []string{"user", "tool"} {
			if r := requests[i]; r.Protocol != protocol || r.Number != i+1 || r.Model != "m" || !r.Stream || r.LastRole != role || r.LastUser() != "hi" {
				t.Errorf("got %+v", r)
			}
		}
	})
}

func TestAWrongCredentialIsAnsweredInTheProtocolsOwnWay(t *testing.T) {
	t.Parallel()
	want := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "401 invalid_api_key", modeltestserver.Responses: "401 invalid_api_key",
		modeltestserver.Messages: "401 authentication_error", modeltestserver.Gemini: "400 API_KEY_INVALID",
	}
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{Credential: "key"})
		status, _, got, _ := send(t, s, protocol, ask[protocol], "other")
		code, word, _ := strings.Cut(want[protocol], " ")
		if strconv.Itoa(status) != code || !strings.Contains(got, word) || s.Calls() != 1 || len(s.Refusals()) != 0 {
			t.Errorf("got %d %s, %d calls, refusals %q", status, got, s.Calls(), s.Refusals())
		}
		if status, _, got, _ := do(t, http.MethodGet, modelsURL(s, protocol), "", headers(protocol, "other")); strconv.Itoa(status) != code || !strings.Contains(got, word) {
			t.Errorf("the models: got %d %s", status, got)
		}
		if status, _, _, _ := send(t, s, protocol, ask[protocol], ""); status == 200 {
			t.Error("no credential was accepted")
		}
	})
}

func modelsURL(s *modeltestserver.Server, protocol modeltestserver.Protocol) string {
	return s.Base(protocol) + map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "/models", modeltestserver.Responses: "/models", modeltestserver.Messages: "/v1/models", modeltestserver.Gemini: "/v1beta/models",
	}[protocol]
}

func TestModelsAreListedAsEachClientWantsThem(t *testing.T) {
	t.Parallel()
	openAI := `{"data":[{"created":1767225600,"id":"a","object":"model","owned_by":"modeltest"},{"created":1767225600,"id":"b","object":"model","owned_by":"modeltest"}],"object":"list"}`
	want := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: openAI, modeltestserver.Responses: openAI,
		modeltestserver.Messages: `{"data":[{"created_at":"2026-01-01T00:00:00Z","display_name":"a","id":"a","type":"model"},` +
			`{"created_at":"2026-01-01T00:00:00Z","display_name":"b","id":"b","type":"model"}],"first_id":"a","has_more":false,"last_id":"b"}`,
		modeltestserver.Gemini: `{"models":[` +
			`{"displayName":"a","inputTokenLimit":1048576,"name":"models/a","outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]},` +
			`{"displayName":"b","inputTokenLimit":1048576,"name":"models/b","outputTokenLimit":65536,"supportedGenerationMethods":["generateContent","countTokens"]}]}`,
	}
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{Credential: "key", Models: []string{"a", "b"}})
		get := func(path string) (int, string) {
			status, _, got, _ := do(t, http.MethodGet, modelsURL(s, protocol)+path, "", headers(protocol, "key"))
			return status, strings.TrimSpace(got)
		}
		if status, got := get(""); status != 200 || got != want[protocol] {
			t.Errorf("got %d %s", status, got)
		}
		if status, got := get("/a"); status != 200 || !strings.Contains(got, `a"`) {
			t.Errorf("one model: got %d %s", status, got)
		}
		if status, got := get("/c"); status != 404 {
			t.Errorf("no model: got %d %s", status, got)
		}
		if s.Calls() != 0 {
			t.Errorf("%d requests for models were counted as calls", s.Calls())
		}
	})
}

func TestAModelThatIsNotServedIsNotFound(t *testing.T) {
	t.Parallel()
	want := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "model_not_found", modeltestserver.Responses: "model_not_found",
		modeltestserver.Messages: "not_found_error", modeltestserver.Gemini: "NOT_FOUND",
	}
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{Models: []string{"other"}})
		status, _, got, _ := send(t, s, protocol, ask[protocol], "")
		if status != 404 || !strings.Contains(got, want[protocol]) || len(s.Requests())+len(s.Refusals()) != 0 || s.Calls() != 1 {
			t.Errorf("got %d %s, %d requests, refusals %q", status, got, len(s.Requests()), s.Refusals())
		}
	})
}

func TestARefusalIsTheProtocolsError(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{})
		status, header, got, _ := send(t, s, protocol, `{"foo":1}`, "")
		var e struct {
			Error struct{ Message, Type, Status string }
		}
		if err := json.Unmarshal([]byte(got), &e); err != nil || status != 400 || header.Get("Content-Type") != "application/json" {
			t.Fatalf("got %d %s (%v)", status, got, err)
		}
		if !strings.Contains(e.Error.Message, "foo") || e.Error.Type+e.Error.Status == "" || len(s.Refusals()) != 1 {
			t.Errorf("got %s, refusals %q", got, s.Refusals())
		}
	})
}

func TestAnErrorHasTheProtocolsKindForItsStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]map[modeltestserver.Protocol]string{
		200: {modeltestserver.Chat: "server_error", modeltestserver.Responses: "server_error", modeltestserver.Messages: "api_error", modeltestserver.Gemini: "INTERNAL"},
		413: {modeltestserver.Chat: "invalid_request_error", modeltestserver.Responses: "invalid_request_error", modeltestserver.Messages: "request_too_large", modeltestserver.Gemini: "INTERNAL"},
		429: {modeltestserver.Chat: "rate_limit_error", modeltestserver.Responses: "rate_limit_error", modeltestserver.Messages: "rate_limit_error", modeltestserver.Gemini: "RESOURCE_EXHAUSTED"},
		503: {modeltestserver.Chat: "server_error", modeltestserver.Responses: "server_error", modeltestserver.Messages: "api_error", modeltestserver.Gemini: "UNAVAILABLE"},
		529: {modeltestserver.Chat: "server_error", modeltestserver.Responses: "server_error", modeltestserver.Messages: "overloaded_error", modeltestserver.Gemini: "INTERNAL"},
	} {
		inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
			s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) reply {
				return reply{Status: status, Error: modeltestserver.Error{Message: "no"}, Header: map[string]string{"Retry-After": "7"}}
			}})
			got, header, body, _ := send(t, s, protocol, ask[protocol], "")
			if got != status || header.Get("Retry-After") != "7" || !strings.Contains(body, `"`+want[protocol]+`"`) {
				t.Errorf("got %d %s", got, body)
			}
		})
	}
}

func TestARawBodyIsSentAsItIs(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) reply { return reply{Status: 502, Body: "<html>"} }})
	if status, got, _ := post(t, s, body(hi), ""); status != 502 || got != "<html>" {
		t.Errorf("got %d %s", status, got)
	}
}

func TestMessagesTakesACredentialFromEitherHeader(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{Credential: "key"})
	for name, value := range map[string]string{"X-Api-Key": "key", "Authorization": "Bearer key"} {
		header := http.Header{name: {value}, "Anthropic-Version": {"2026-10-21"}}
		if status, _, got, _ := do(t, http.MethodPost, s.Base(modeltestserver.Messages)+"/v1/messages", msg(msgHi), header); status != 200 {
			t.Errorf("%s: got %d %s", name, status, got)
		}
	}
}

func TestMessagesWantsAVersion(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{})
	for version, want := range map[string]int{"": 400, "2024-01-01": 400, "2023-06-01": 200, "2026-10-21": 200} {
		header := http.Header{}
		if version != "" {
			header.Set("anthropic-version", version)
		}
		if status, _, got, _ := do(t, http.MethodPost, s.Base(modeltestserver.Messages)+"/v1/messages", msg(msgHi), header); status != want {
			t.Errorf("%q: got %d %s", version, status, got)
		}
	}
}

func TestGeminiStreamsEventsOnlyWhereAskedForThem(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{})
	for call, want := range map[string]string{
		"m:streamGenerateContent": "alt=sse", "m:countTokens": "unknown method", "m:generateContent": `"finishReason":"STOP"`,
		"m:streamGenerateContent?alt=sse": "data: ",
	} {
		_, _, got, _ := do(t, http.MethodPost, s.Base(modeltestserver.Gemini)+"/v1beta/models/"+call, gem(gemHi), http.Header{})
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s", call, got)
		}
	}
}

func TestAReplyWithoutAStreamIsOneJSONBody(t *testing.T) {
	t.Parallel()
	want := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "tool_calls", modeltestserver.Responses: "completed", modeltestserver.Messages: "tool_use",
	}
	for protocol, finish := range want {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) reply {
				return reply{Reasoning: "b", Text: "a", Calls: []call{{ID: "x", Name: "f", Arguments: "{}"}}}
			}})
			_, _, got, _ := send(t, s, protocol, strings.Replace(ask[protocol], `"stream":true,`, "", 1), "")
			var whole struct {
				Status     string
				StopReason string `json:"stop_reason"`
				Output     []object
				Content    []object
				Choices    []struct {
					Message      object
					FinishReason string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(got), &whole); err != nil {
				t.Fatalf("got %s (%v)", got, err)
			}
			items, finished := len(whole.Output)+len(whole.Content), whole.Status+whole.StopReason
			for _, choice := range whole.Choices {
				items, finished = len(choice.Message)-1, choice.FinishReason
			}
			if items != 3 || finished != finish {
				t.Errorf("got %d items and %q: %s", items, finished, got)
			}
		})
	}
}

func TestACutReplyDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	endMark := map[modeltestserver.Protocol]string{
		modeltestserver.Chat: "[DONE]", modeltestserver.Responses: "response.completed", modeltestserver.Messages: "message_stop", modeltestserver.Gemini: "finishReason",
	}
	for name, r := range map[string]reply{
		"cut":            {Text: "half", Cut: true},
		"waiting failed": {Text: "half", Wait: func(context.Context) error { return io.ErrClosedPipe }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
				s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) reply { return r }})
				if _, _, got, err := send(t, s, protocol, ask[protocol], ""); err == nil || !strings.Contains(got, "half") || strings.Contains(got, endMark[protocol]) {
					t.Errorf("got %q and error %v, want half of it and an error", got, err)
				}
			})
		})
	}
}

func TestASilentReplyStandsStillUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) reply { return reply{Text: "half", Silent: true} }})
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		path := map[modeltestserver.Protocol]string{
			modeltestserver.Chat: "/chat/completions", modeltestserver.Responses: "/responses", modeltestserver.Messages: "/v1/messages",
			modeltestserver.Gemini: "/v1beta/models/m:streamGenerateContent?alt=sse",
		}[protocol]
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base(protocol)+path, strings.NewReader(ask[protocol]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = headers(protocol, "")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "half") {
				leave()
			}
		}
		if ctx.Err() == nil || lines.Err() == nil {
			t.Errorf("the stream ended with %v before the client left", lines.Err())
		}
	})
}

func TestTheFastServerLooksAtTheLastRoleOnly(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, protocol modeltestserver.Protocol) {
		text := reply{Text: "after the tool"}.PreparedFor(protocol, "m")
		calls := reply{Calls: []call{{ID: "x", Name: "f", Arguments: "{}"}}}.PreparedFor(protocol, "m")
		s := start(t, modeltestserver.Config{Fast: true, Handler: func(r modeltestserver.Request) reply {
			if r.LastRole == "tool" {
				return text
			}
			return calls
		}})
		if _, _, got, _ := send(t, s, protocol, ask[protocol], ""); got != string(calls.Events) {
			t.Errorf("after the user: got %s", got)
		}
		if _, _, got, _ := send(t, s, protocol, told[protocol], ""); got != string(text.Events) {
			t.Errorf("after a tool: got %s", got)
		}
		if s.Calls() != 2 || len(s.Requests()) != 0 {
			t.Errorf("counted %d calls, kept %d", s.Calls(), len(s.Requests()))
		}
	})
}

// Half a surrogate pair is no JSON to the APIs, though Go's decoder takes it.
func TestHalfACharacterIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{})
	for text, want := range map[string]int{
		`hi`: 200, `\ud83d\ude00`: 200, `\\ud83d`: 200, `\uD83D\uDE00 \n`: 200,
		`\ud83d`: 400, `\ude00`: 400, `\ud83d \ude00`: 400, `\ud83d\n`: 400, `\ude00\ud83d`: 400, `\\\ud83d`: 400,
	} {
		status, got, err := post(t, s, `{"model":"m","stream":true,"messages":[{"role":"user","content":"`+text+`"}]}`, "")
		if err != nil || status != want {
			t.Errorf("%s: got %d %v, want %d: %s", text, status, err, want, got)
		}
	}
}
