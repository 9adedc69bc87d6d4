package stdio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

func TestWhatIsNoRequestIsRefusedUnderItsIDWhereItHasOne(t *testing.T) {
	t.Parallel()
	r := open(t)
	for name, c := range map[string]struct {
		line, id string
		code     int
		ours     api.Code
	}{
		"a method that is not there":         {`{"jsonrpc":"2.0","id":"a","method":"session/fly"}`, `"a"`, -32601, api.CodeInvalidRequest},
		"a method in other letters":          {`{"jsonrpc":"2.0","id":"a","method":"Capabilities"}`, `"a"`, -32601, api.CodeInvalidRequest},
		"a method of the runtime's":          {`{"jsonrpc":"2.0","id":"a","method":"tool/run","params":{}}`, `"a"`, -32601, api.CodeInvalidRequest},
		"the end mark of the runtime's own":  {`{"jsonrpc":"2.0","id":"a","method":"rpc/end"}`, `"a"`, -32601, api.CodeInvalidRequest},
		"a method of the library's":          {`{"jsonrpc":"2.0","id":"a","method":"rpc.serverInfo"}`, `"a"`, -32601, api.CodeInvalidRequest},
		"a name that is a text":              {`{"jsonrpc":"2.0","id":"a","method":"` + strings.Repeat("m", 500_000) + `"}`, `"a"`, -32601, api.CodeInvalidRequest},
		"no method":                          {`{"jsonrpc":"2.0","id":"a"}`, `"a"`, -32600, api.CodeInvalidRequest},
		"an empty method":                    {`{"jsonrpc":"2.0","id":"a","method":""}`, `"a"`, -32600, api.CodeInvalidRequest},
		"a method that is a number":          {`{"jsonrpc":"2.0","id":"a","method":7}`, `"a"`, -32700, api.CodeInvalidRequest},
		"no version":                         {`{"id":"a","method":"capabilities"}`, `"a"`, -32600, api.CodeInvalidRequest},
		"another version":                    {`{"jsonrpc":"1.0","id":"a","method":"capabilities"}`, `"a"`, -32600, api.CodeInvalidRequest},
		"a version that is a number":         {`{"jsonrpc":2.0,"id":"a","method":"capabilities"}`, `"a"`, -32700, api.CodeInvalidRequest},
		"a field that is not JSON-RPC's":     {`{"jsonrpc":"2.0","id":"a","method":"capabilities","trace":1}`, `"a"`, -32600, api.CodeInvalidRequest},
		"a request that is an answer too":    {`{"jsonrpc":"2.0","id":"a","method":"capabilities","result":1}`, `"a"`, -32600, api.CodeInvalidRequest},
		"parameters that are an array":       {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":["s"]}`, `"a"`, -32602, api.CodeInvalidRequest},
		"parameters that are a string":       {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":"s"}`, `"a"`, -32600, api.CodeInvalidRequest},
		"a parameter of another type":        {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":{"session":7}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a parameter that is not known":      {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":{"session":"s","deep":true}}`, `"a"`, 0, api.CodeUnsupportedOption},
		"parameters where there are none":    {`{"jsonrpc":"2.0","id":"a","method":"capabilities","params":{"verbose":true}}`, `"a"`, 0, api.CodeUnsupportedOption},
		"an id that is true":                 {`{"jsonrpc":"2.0","id":true,"method":"capabilities"}`, `null`, -32600, api.CodeInvalidRequest},
		"an id that is an object":            {`{"jsonrpc":"2.0","id":{},"method":"capabilities"}`, `null`, -32600, api.CodeInvalidRequest},
		"an id that is an array":             {`{"jsonrpc":"2.0","id":[1],"method":"capabilities"}`, `null`, -32600, api.CodeInvalidRequest},
		"a string":                           {`"capabilities"`, `null`, -32700, api.CodeInvalidRequest},
		"null":                               {`null`, `null`, -32600, api.CodeInvalidRequest},
		"a number":                           {`17`, `null`, -32700, api.CodeInvalidRequest},
		"an empty object":                    {`{}`, `null`, -32600, api.CodeInvalidRequest},
		"an empty batch":                     {`[]`, `null`, -32600, api.CodeInvalidRequest},
		"a request without an id":            {`{"jsonrpc":"2.0","method":"session/list"}`, `null`, -32600, api.CodeInvalidRequest},
		"a request whose id is null":         {`{"jsonrpc":"2.0","id":null,"method":"session/list"}`, `null`, -32600, api.CodeInvalidRequest},
		"an answer that nobody waits for":    {`{"jsonrpc":"2.0","id":99,"result":{}}`, `99`, -32600, api.CodeInvalidRequest},
		"an error that nobody waits for":     {`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"no"}}`, `"a"`, -32600, api.CodeInvalidRequest},
		"an answer with neither of the two":  {`{"jsonrpc":"2.0","id":98}`, `98`, -32600, api.CodeInvalidRequest},
		"a subscription that is not there":   {`{"jsonrpc":"2.0","id":"a","method":"event/next","params":{"subscription":"s9"}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a session that is not there":        {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":{"session":"s"}}`, `"a"`, 0, api.CodeSessionNotFound},
		"bytes that are no base64":           {`{"jsonrpc":"2.0","id":"a","method":"upload/chunk","params":{"session":"s","upload":"u","chunk":{"data":"*"}}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a number that is no whole one":      {`{"jsonrpc":"2.0","id":"a","method":"session/list","params":{"limit":1.5}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a number that is too large":         {`{"jsonrpc":"2.0","id":"a","method":"session/list","params":{"limit":1e400}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"an unknown name that is a text":     {`{"jsonrpc":"2.0","id":"a","method":"session/list","params":{"` + strings.Repeat("n", 500_000) + `":1}}`, `"a"`, 0, api.CodeUnsupportedOption},
		"a number of half a million digits":  {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":{"session":` + strings.Repeat("9", 500_000) + `}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a session whose name is a text":     {`{"jsonrpc":"2.0","id":"a","method":"session/state","params":{"session":"` + strings.Repeat("s", 500_000) + `"}}`, `"a"`, 0, api.CodeSessionNotFound},
		"a run whose name is a text":         {`{"jsonrpc":"2.0","id":"a","method":"run/get","params":{"session":"s","run":"` + strings.Repeat("r", 500_000) + `"}}`, `"a"`, 0, api.CodeSessionNotFound},
		"a subscription of a text":           {`{"jsonrpc":"2.0","id":"a","method":"event/next","params":{"subscription":"` + strings.Repeat("s", 500_000) + `"}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a guardrail's point of a text":      {`{"jsonrpc":"2.0","id":"a","method":"guardrail/register","params":{"name":"g","points":["` + strings.Repeat("p", 500_000) + `"]}}`, `"a"`, 0, api.CodeInvalidRequest},
		"an agent that is nothing":           {`{"jsonrpc":"2.0","id":"a","method":"agent/register","params":{"definition":null}}`, `"a"`, 0, api.CodeInvalidAgent},
		"a provider's secret with no name":   {`{"jsonrpc":"2.0","id":"a","method":"credential/set","params":{"secret":"x"}}`, `"a"`, -32602, api.CodeInvalidRequest},
		"a tool whose schema is a text":      {`{"jsonrpc":"2.0","id":"a","method":"tool/register","params":{"tools":[{"name":"app.x","inputSchema":"x"}]}}`, `"a"`, 0, api.CodeInvalidTool},
		"a guardrail that looks at nothing":  {`{"jsonrpc":"2.0","id":"a","method":"guardrail/register","params":{"name":"g"}}`, `"a"`, 0, api.CodeInvalidRequest},
		"a hook that does nothing":           {`{"jsonrpc":"2.0","id":"a","method":"hook/register","params":{"name":"h"}}`, `"a"`, 0, api.CodeInvalidRequest},
		"a tool whose time is negative":      {`{"jsonrpc":"2.0","id":"a","method":"tool/register","params":{"tools":[{"name":"app.x","inputSchema":{"type":"object"},"timeoutMs":-1}]}}`, `"a"`, 0, api.CodeInvalidTool},
		"a fetch of more events than can be": {`{"jsonrpc":"2.0","id":"a","method":"event/next","params":{"subscription":"s9","max":257}}`, `"a"`, -32602, api.CodeInvalidRequest},
	} {
		r.Line(c.line)
		a := r.Answer(c.id)
		if codeOf(a) != c.ours || a.Error == nil || c.code != 0 && a.Error.Code != c.code || a.Error.Message == "" {
			t.Errorf("%s: %.400s; want %d %q", name, a.Raw, c.code, c.ours)
		}
		if len(a.Raw) > 2_000 {
			t.Errorf("%s: the refusal has %d bytes", name, len(a.Raw))
		}
		probe(t, r)
	}
	for _, m := range r.Left() {
		t.Errorf("something was answered twice: %.300s", m.Raw)
	}
}

func TestNotificationsThatAreNotKnownArePassedOver(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.Line(`{"jsonrpc":"2.0","method":"client/newer","params":{"x":1}}`)
	r.Line(`{"jsonrpc":"2.0","method":"client/newer","params":[1]}`)
	r.Line(`{"jsonrpc":"2.0","id":null,"method":"client/newer"}`)
	r.Line(`{"jsonrpc":"2.0","method":"callback/cancel","params":{"callback":"t1"}}`)
	probe(t, r)
	for _, m := range r.Left() {
		t.Errorf("a notification was answered: %s", m.Raw)
	}
}

func TestAnIDComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	r := open(t)
	for _, id := range []string{`"a"`, `""`, `"1"`, `1`, `0`, `-1`, `1.5`, `1e3`, `12345678901234567890123`, `"\u0061"`, `"a\n\"\\"`, `"` + strings.Repeat("x", 100_000) + `"`} {
		r.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"capabilities"}`)
		if a := r.Answer(id); a.Error != nil {
			t.Errorf("%.40s: %.200s", id, a.Raw)
		}
	}
}

func TestAnIDThatIsUnderWayIsRefusedAndTheFirstGoesOn(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	run := submit(t, r, session, "use app.work with {}")
	work := r.Callback(rpc.MethodRunTool)
	r.Request("again", rpc.MethodResult, run)
	r.Request("again", rpc.MethodCapabilities, nil)
	if a := r.Answer(`"again"`); a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "duplicate") {
		t.Errorf("the second: %s", a.Raw)
	}
	// Given up it is under way until it is answered.
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"again"}}`)
	if a := r.Answer(`"again"`); codeOf(a) != api.CodeCancelled {
		t.Errorf("given up: %s", a.Raw)
	}
	r.Request("again", rpc.MethodResult, run)
	r.Reply(work, `{"output":"done"}`)
	if a := r.Answer(`"again"`); a.Error != nil {
		t.Errorf("the third, behind the first: %s", a.Raw)
	}
}

func TestABatchIsAnsweredAsOne(t *testing.T) {
	t.Parallel()
	r := open(t)
	for name, c := range map[string]struct {
		line string
		want map[string]int // the number of the error by ID, 0 for a result
	}{
		"of one":                          {`[{"jsonrpc":"2.0","id":"a","method":"capabilities"}]`, map[string]int{`"a"`: 0}},
		"of several, and a notification":  {`[{"jsonrpc":"2.0","id":"a","method":"capabilities"},{"jsonrpc":"2.0","method":"client/newer"},{"jsonrpc":"2.0","id":2,"method":"usage/list"}]`, map[string]int{`"a"`: 0, `2`: 0}},
		"with what is no request":         {`[{"jsonrpc":"2.0","id":"a","method":"capabilities"},7,{"jsonrpc":"2.0","id":"b","method":"nothing"}]`, map[string]int{`"a"`: 0, `null`: -32700, `"b"`: -32601}},
		"with one id twice":               {`[{"jsonrpc":"2.0","id":"a","method":"capabilities"},{"jsonrpc":"2.0","id":"b","method":"usage/list"},{"jsonrpc":"2.0","id":"a","method":"usage/list"}]`, map[string]int{`"a"`: -32600, `"b"`: 0}},
		"with an answer nobody waits for": {`[{"jsonrpc":"2.0","id":"a","method":"capabilities"},{"jsonrpc":"2.0","id":5,"result":{}}]`, map[string]int{`"a"`: 0, `5`: -32600}},
		"of empty batches":                {`[[],[]]`, map[string]int{`null`: -32700}},
	} {
		r.Line(c.line)
		got := map[string]int{}
		for _, m := range r.Batch() {
			got[string(m.ID)] = 0
			if m.Error != nil {
				got[string(m.ID)] = m.Error.Code
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	r.Line(`[{"jsonrpc":"2.0","method":"client/newer"}]`)
	probe(t, r)
	r.Line(`[{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"m","data":"{}","last":true}}]`)
	if a := r.Answer("null"); codeOf(a) != api.CodeInvalidRequest {
		t.Errorf("a part in a batch: %s", a.Raw)
	}
	for _, m := range r.Left() {
		t.Errorf("a notification was answered: %s", m.Raw)
	}
}

func TestABatchOfAllThatFitsALineIsAnsweredInSeveralLines(t *testing.T) {
	t.Parallel()
	r := open(t)
	one := `{"jsonrpc":"2.0","id":%d,"method":"capabilities"}`
	var requests []string
	for i := range 10_000 {
		requests = append(requests, fmt.Sprintf(one, i))
	}
	r.Line("[" + strings.Join(requests, ",") + "]")
	answers := r.Batch()
	if len(answers) != len(requests) {
		t.Fatalf("%d answers to %d requests", len(answers), len(requests))
	}
	for i, a := range answers {
		if a.Error != nil || string(a.ID) != fmt.Sprint(i) || a.Lines < 2 {
			t.Fatalf("answer %d, in %d lines: %.300s", i, a.Lines, a.Raw)
		}
	}
}

func TestACancelledRequestIsAnsweredAndOthersGoOn(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	run := submit(t, r, session, "use app.work with {}")
	work := r.Callback(rpc.MethodRunTool)
	r.Request("own", rpc.MethodResult, run)
	r.Request("other", rpc.MethodResult, run)
	r.Line(`{"jsonrpc":"2.0","id":7,"method":"run/result","params":` + fmt.Sprintf(`{"session":%q,"run":%q}`, run.Session, run.Run) + `}`)
	for name, id := range map[string]string{"that never was": `"never"`, "that has ended": `"c1"`, "that is a number": `7.0`, "that is a number as a string": `"7"`, "that is null": `null`, "that is an object": `{}`} {
		r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":` + id + `}}`)
		probe(t, r)
		for _, m := range r.Left() {
			t.Errorf("an id %s: %s", name, m.Raw)
		}
	}
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{}}`)
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel"}`)
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"own"}}`)
	if a := r.Answer(`"own"`); codeOf(a) != api.CodeCancelled {
		t.Errorf("%s", a.Raw)
	}
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":7}}`)
	if a := r.Answer(`7`); codeOf(a) != api.CodeCancelled {
		t.Errorf("%s", a.Raw)
	}
	r.Reply(work, `{"output":"done"}`)
	if a := r.Answer(`"other"`); a.Error != nil {
		t.Errorf("the other: %s", a.Raw)
	}
}

// What is given up before it has begun is answered too, and counts no longer.
func TestARequestThatIsCancelledAtOnceIsAnswered(t *testing.T) {
	t.Parallel()
	r := open(t)
	var lines strings.Builder
	const n = 5_000
	for i := range n {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":"capabilities"}`+"\n"+`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":%d}}`+"\n", i, i)
	}
	if err := r.Write([]byte(lines.String())); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if a := r.Answer(fmt.Sprint(i)); a.Error != nil && codeOf(a) != api.CodeCancelled {
			t.Fatalf("%s", a.Raw)
		}
	}
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestOnlyTheFirstAnswerToACallbackCounts(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	for name, c := range map[string]struct {
		answers []string // %s is the callback's ID
		want    string   // in the model's next answer; "": nobody knows what came of it
	}{
		"twice":                     {[]string{`{"jsonrpc":"2.0","id":%s,"result":{"output":"one"}}`, `{"jsonrpc":"2.0","id":%s,"result":{"output":"two"}}`}, "returned “one”"},
		"an error, then a result":   {[]string{`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"it broke"}}`, `{"jsonrpc":"2.0","id":%s,"result":{"output":"two"}}`}, "did not succeed"},
		"an answer of another form": {[]string{`{"jsonrpc":"2.0","id":%s,"result":"text"}`}, ""},
		"an answer with nothing":    {[]string{`{"jsonrpc":"2.0","id":%s}`}, ""},
		"an error of another form":  {[]string{`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"x","data":[1]}}`}, "did not succeed"},
	} {
		run := submit(t, r, session, "use app.work with {}")
		work := r.Callback(rpc.MethodRunTool)
		// Under its number as a string it is another's.
		r.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{"output":"other"}}`, work.ID))
		if a := r.Answer(`"` + string(work.ID) + `"`); a.Error == nil || a.Error.Code != -32600 {
			t.Errorf("%s: %s", name, a.Raw)
		}
		for i, answer := range c.answers {
			r.Line(fmt.Sprintf(answer, work.ID))
			if i > 0 {
				if a := r.Answer(string(work.ID)); a.Error == nil || a.Error.Code != -32600 {
					t.Errorf("%s: %s", name, a.Raw)
				}
			}
		}
		var result api.Result
		into(t, r.Call(rpc.MethodResult, run), &result)
		if c.want == "" {
			if len(result.Interactions) != 1 || result.Interactions[0].Kind != api.InteractionUnknownOutcome {
				t.Fatalf("%s: %+v", name, result)
			}
			r.Call(rpc.MethodResolve, rpc.Resolve{Session: session, Interaction: result.Interactions[0].ID, Answer: api.Answer{Decision: api.OutcomeSucceeded, Output: "done"}})
			into(t, r.Call(rpc.MethodResult, run), &result)
		}
		if result.Status != api.StatusCompleted || !strings.Contains(result.Text, c.want) {
			t.Errorf("%s: %+v", name, result)
		}
	}
	probe(t, r)
}
