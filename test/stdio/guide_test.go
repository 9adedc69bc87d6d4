package stdio_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/transport/rpc"
)

// What the guide shows to send is sent, and answered with a result each.
func TestTheLinesOfTheGuideWork(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guides/stdio.md")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t)
	sent := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, `{"jsonrpc"`) {
			continue
		}
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		into(t, json.RawMessage(line), &request)
		r.Line(strings.TrimSpace(line))
		if a := r.Answer(string(request.ID)); a.Error != nil {
			t.Fatalf("%s\nis answered %s", line, a.Raw)
		}
		sent++
	}
	if sent < 4 {
		t.Errorf("only %d lines were found", sent)
	}
	for _, m := range rpc.Methods() { // the guide may name no method that there is not
		page = []byte(strings.ReplaceAll(string(page), "`"+m.Name+"`", ""))
	}
	for _, name := range []string{"session/", "turn/", "run/", "event/", "tool/", "hook/", "guardrail/", "credential/", "action/", "interaction/", "callback/"} {
		if at := strings.Index(string(page), "`"+name); at >= 0 {
			t.Errorf("the guide names what is no method: %.40s", page[at:])
		}
	}
}
