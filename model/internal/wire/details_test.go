package wire

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/model"
)

func TestGooglesDetailsTellWhatTheStatusDoesNot(t *testing.T) {
	t.Parallel()
	const retry = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}`
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_requests","quotaId":"` + id + `"}]}`
	}
	reason := func(name string) string {
		return `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + name + `","domain":"googleapis.com"}`
	}
	for name, test := range map[string]struct {
		status        int
		code, details string
		kind          model.ErrorKind
		wait          time.Duration
	}{
		"a quota of a minute":          {429, "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier") + "," + retry, model.KindRateLimited, 7500 * time.Millisecond},
		"a quota of a day":             {429, "RESOURCE_EXHAUSTED", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier") + "," + retry, model.KindQuota, 0},
		"a credential that is not one": {400, "INVALID_ARGUMENT", reason("API_KEY_INVALID"), model.KindAuth, 0},
		"overloaded with a delay":      {503, "UNAVAILABLE", retry, model.KindOverloaded, 7500 * time.Millisecond},
		"a delay that is none":         {503, "UNAVAILABLE", `{"retryDelay":"soon"}`, model.KindOverloaded, 0},
		"a delay of years":             {503, "UNAVAILABLE", `{"retryDelay":"100000h"}`, model.KindOverloaded, 24 * time.Hour},
		"a delay below zero":           {503, "UNAVAILABLE", `{"retryDelay":"-5s"}`, model.KindOverloaded, 0},
		"details of another form":      {400, "INVALID_ARGUMENT", `1`, model.KindRefused, 0},
		"an ordinary refusal":          {400, "INVALID_ARGUMENT", reason("BAD_FIELD"), model.KindRefused, 0},
		"inside a stream":              {200, "RESOURCE_EXHAUSTED", retry, model.KindRateLimited, 7500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := map[int]string{200: "429", 400: "400", 429: "429", 503: "503"}[test.status]
			fault := FaultOf([]byte(`{"error":{"code":` + code + `,"message":"no","status":"` + test.code + `","details":[` + test.details + `]}}`))
			if fault == nil {
				t.Fatal("no error object was found")
			}
			if got := Classify(test.status, fault); got.Kind != test.kind || got.RetryAfter != test.wait {
				t.Errorf("got %s after %v, want %s after %v", got.Kind, got.RetryAfter, test.kind, test.wait)
			}
		})
	}
	if fault := FaultOf([]byte(`{"error":{"message":"no","details":"none"}}`)); fault == nil || fault.Message != "no" {
		t.Errorf("details that are no list hide the error: %+v", fault)
	}
}
