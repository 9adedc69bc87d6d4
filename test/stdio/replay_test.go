package stdio_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/test/stdio/child"
)

var record = flag.Bool("record", false, "record the session of the protocol's newest version; a file that is there is never written again")

const transcripts = "../../spec/transcripts"

// recordedModel is the model of the recorded sessions. It answers for ever as it did when they were recorded.
func recordedModel(t *testing.T) *modeltestserver.Server {
	t.Helper()
	server, err := modeltestserver.New(modeltestserver.Config{Credential: "secret", Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		reply := modeltestserver.Reply{InputTokens: 100, OutputTokens: 10}
		last := r.Messages[len(r.Messages)-1]
		switch user := r.LastUser(); {
		case r.LastRole == "tool":
			reply.Text = "It says: " + last.Content
		case strings.HasPrefix(user, "Refund"):
			reply.Calls = []modeltestserver.Call{{ID: "call_1", Name: "app__refund", Arguments: `{"order":7}`}}
		case strings.HasPrefix(user, "Which"):
			reply.Calls = []modeltestserver.Call{{ID: "call_1", Name: "ask_user", Arguments: `{"question":"Which order?","choices":[{"label":"7"},{"label":"8"}]}`}}
		case strings.HasPrefix(user, "Fail"):
			reply.Status, reply.Error = 400, modeltestserver.Error{Message: "no such thing", Type: "invalid_request_error"}
		default:
			reply.Text = "You are welcome."
		}
		return reply
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, refusal := range server.Refusals() {
			t.Errorf("a request breaks the protocol: %s", refusal)
		}
	})
	return server
}

// given are the values that a session has from outside: the model's address, and a file in two chunks.
func given(server *modeltestserver.Server) bindings {
	return bindings{"$model": server.URL(), "$chunkA": inBase64(recordedFile[:262_144]), "$chunkB": inBase64(recordedFile[262_144:])}
}

// A client of an older version goes on to work: what it sent then is taken, and what it was told is told.
func TestARecordedSessionOfEachVersionWorksToday(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(transcripts + "/v*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sessions: %v", err)
	}
	for _, file := range files {
		name, err := filepath.Rel(transcripts, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			server := recordedModel(t)
			r := child.Start(t, child.Config{Binary: binary})
			b := given(server)
			in := bufio.NewScanner(bytes.NewReader(data))
			in.Buffer(nil, 4<<20)
			for n := 1; in.Scan(); n++ {
				var e exchange
				if err := json.Unmarshal(in.Bytes(), &e); err != nil {
					t.Fatalf("line %d: %v", n, err)
				}
				if err := replay(r, b, e); err != nil {
					t.Fatalf("line %d: %v", n, err)
				}
			}
			if err := in.Err(); err != nil {
				t.Fatal(err)
			}
			r.CloseInput()
			if code := r.Exit(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// replay plays a line: it sends the client's, and waits for the runtime's.
func replay(r *child.Runtime, b bindings, e exchange) error {
	if e.Client != nil {
		value, err := decoded(e.Client)
		if err != nil {
			return err
		}
		line, err := encoded(b.fill(value))
		if err != nil {
			return err
		}
		return r.Write(append(line, '\n'))
	}
	want, err := decoded(e.Runtime)
	if err != nil {
		return err
	}
	message, ok := want.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no message", e.Runtime)
	}
	var came child.Message
	if method, ok := message["method"].(string); ok {
		came = r.Callback(method)
	} else {
		id, err := encoded(message["id"])
		if err != nil {
			return err
		}
		came = r.Answer(string(id))
	}
	got, err := decoded(came.Raw)
	if err != nil {
		return err
	}
	if fault := b.match("message", want, got); fault != "" {
		return fmt.Errorf("%s\nwas %s\nis  %s", fault, e.Runtime, came.Raw)
	}
	return nil
}

func TestAReplayFindsWhatIsMissingOrOtherAndPassesOverWhatIsNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ want, got, fault string }{
		"the same":                       {`{"a":1,"b":["x",null,true]}`, `{"a":1,"b":["x",null,true]}`, ""},
		"a new field":                    {`{"a":1}`, `{"a":1,"b":2}`, ""},
		"a new element":                  {`{"a":["x","z"]}`, `{"a":["x","y","z"]}`, ""},
		"a new event between":            {`{"a":[{"type":"x"},{"type":"z"}]}`, `{"a":[{"type":"x","n":1},{"type":"y"},{"type":"z"}]}`, ""},
		"a missing field":                {`{"a":1,"b":2}`, `{"a":1}`, "message.b is missing"},
		"a missing field inside":         {`{"a":[{"b":{"c":1}}]}`, `{"a":[{"b":{}}]}`, "message.a[0].b.c is missing"},
		"a missing element":              {`{"a":["x","y"]}`, `{"a":["y"]}`, "message.a[0] is missing"},
		"elements in another order":      {`{"a":["x","y","z"]}`, `{"a":["y","x","z","x"]}`, "message.a[1] is missing"},
		"another value":                  {`{"a":1}`, `{"a":2}`, "message.a is 2, and was 1"},
		"another type":                   {`{"a":1}`, `{"a":"1"}`, "message.a is 1, and was 1"},
		"an array for an object":         {`{"a":{}}`, `{"a":[]}`, "was an object"},
		"an object for an array":         {`{"a":[]}`, `{"a":{}}`, "was an array"},
		"null for a text":                {`{"a":"x"}`, `{"a":null}`, "message.a"},
		"a time":                         {`{"a":"$time"}`, `{"a":"2026-01-02T03:04:05.678Z"}`, ""},
		"no time":                        {`{"a":"$time"}`, `{"a":"yesterday"}`, "was a time"},
		"an empty text":                  {`{"a":"$text"}`, `{"a":""}`, "was a text"},
		"one value twice":                {`{"a":"$id1","b":"$id1-r1"}`, `{"a":"s","b":"s-r1"}`, ""},
		"another value the second time":  {`{"a":"$id1","b":"$id1"}`, `{"a":"s","b":"t"}`, "message.b is t, and was s"},
		"another value in a longer text": {`{"a":"$id1","b":"$id1-r1"}`, `{"a":"s","b":"t-r1"}`, "message.b"},
		"a number that is bound":         {`{"a":"$number1","b":"$number1"}`, `{"a":7,"b":7}`, ""},
		"another number":                 {`{"a":"$number1","b":"$number1"}`, `{"a":7,"b":8}`, "message.b is 8"},
	} {
		want, err := decoded([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decoded([]byte(c.got))
		if err != nil {
			t.Fatal(err)
		}
		if fault := (bindings{}).match("message", want, got); (fault == "") != (c.fault == "") || !strings.Contains(fault, c.fault) {
			t.Errorf("%s: %q, want %q", name, fault, c.fault)
		}
	}
}
