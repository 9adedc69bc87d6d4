package modeltestserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/model/modeltest/server"
)

func TestAServerInMemoryServesLikeOneOnTheNetwork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply  modeltestserver.Reply
		leave  time.Duration
		status int
		body   string // a part
		err    error
	}{
		"an answer":                      {modeltestserver.Reply{Text: "hello"}, time.Hour, 200, "[DONE]", nil},
		"a refusal":                      {modeltestserver.Reply{Status: 503, Body: "busy"}, time.Hour, 503, "busy", nil},
		"a cut":                          {modeltestserver.Reply{Text: "half", Cut: true}, time.Hour, 200, "half", io.ErrUnexpectedEOF},
		"silence that the client leaves": {modeltestserver.Reply{Text: "half", Silent: true}, time.Minute, 200, "half", context.DeadlineExceeded},
		"a delay that the client leaves": {modeltestserver.Reply{Delay: time.Hour}, time.Minute, 0, "", context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := modeltestserver.NewInMemory(modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply { return test.reply }})
				ctx, cancel := context.WithTimeout(t.Context(), test.leave)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.test/v1/chat/completions", strings.NewReader(body(hi)))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := s.Transport().RoundTrip(req)
				var got []byte
				status := 0
				if err == nil {
					status = resp.StatusCode
					got, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				if status != test.status || !strings.Contains(string(got), test.body) || !errors.Is(err, test.err) {
					t.Errorf("got %d, %q, %v", status, got, err)
				}
				synctest.Wait() // the bubble fails where the handler stays behind
			})
		})
	}
}
