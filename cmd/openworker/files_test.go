package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// picture is a small image.
func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lastMessage is what a server was asked about last.
func lastMessage(t *testing.T, server *modeltestserver.Server) modeltestserver.Message {
	t.Helper()
	requests := server.Requests()
	if len(requests) == 0 {
		t.Fatal("the server was asked nothing")
	}
	messages := requests[len(requests)-1].Messages
	return messages[len(messages)-1]
}

// withServer lets a place talk to a strict server.
func (p *place) withServer() *modeltestserver.Server {
	server := modelServer(p.t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"], p.env["OPENWORKER_MODEL"] = server.URL(), "sk-good", "OpenAI/tiny-1"
	return server
}

// AT1, AT6
func TestFilesReachTheModelAndNothingElse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := p.withServer()
	dot := picture(t)
	notes, photo := p.file("my notes.txt", "The marked words zanzibar."), p.file("dot.png", dot)
	got := p.ok("", "run", "--attach", notes, "--attach", photo, "look")
	if !strings.Contains(got.err, "openworker: attached my notes.txt (text/plain, 26 bytes)\nopenworker: attached dot.png (image/png, 30 × 20, ") {
		t.Errorf("what goes with the message is not told: %s", got.err)
	}
	asked := lastMessage(t, server)
	if !strings.HasPrefix(asked.Content, "look\n") || !strings.Contains(asked.Content, "my notes.txt") || !strings.Contains(asked.Content, "The marked words zanzibar.") {
		t.Errorf("the model was sent %q", asked.Content)
	}
	if len(asked.Parts) != 1 || string(asked.Parts[0].Data) != dot || asked.Parts[0].MediaType != "image/png" {
		t.Errorf("the model was sent the parts %+v", asked.Parts)
	}
	session := got.session(t)
	encoded := base64.StdEncoding.EncodeToString([]byte(dot))
	for _, args := range [][]string{
		{"events", session}, {"events", session, "--json"}, {"sessions"}, {"sessions", "--json"}, {"sessions", "show", session},
		{"sessions", "show", session, "--json"}, {"export", session}, {"export", session, "--portable"}, {"sessions", "export", session},
	} {
		out := p.ok("", args...).out
		for _, bytes := range []string{"zanzibar", dot[:20], encoded[:20]} {
			if strings.Contains(out, bytes) {
				t.Errorf("%v has the bytes of a file", args)
			}
		}
		if !strings.Contains(out, "my notes.txt") && !slices.Equal(args, []string{"sessions", "--json"}) {
			t.Errorf("%v does not show the file:\n%s", args, out)
		}
	}
	for _, args := range [][]string{{"events", session, "--json"}, {"sessions", "show", session, "--json"}} {
		if out := p.ok("", args...).out; !strings.Contains(out, `"`+session+`-a`) {
			t.Errorf("%v has no reference: %s", args, out)
		}
	}
	shown := p.ok("", "sessions", "show", session).out
	if !strings.Contains(shown, "\n> look\n> + my notes.txt (text/plain, 26 bytes)\n> + dot.png (image/png, ") {
		t.Errorf("%s", shown)
	}
	if list := p.ok("", "sessions").out; !strings.Contains(list, "“look + my notes.txt (text/plain, 26 bytes) + dot.png (") {
		t.Errorf("%s", list)
	}
	if events := p.ok("", "events", session).out; !strings.Contains(events, "turn_accepted          “look” + my notes.txt (text/plain, 26 bytes) + dot.png (image/png, ") {
		t.Errorf("%s", events)
	}
}

// AT1: whoever sends gets what programs need to name the files later.
func TestAResultInJSONHasTheReferencesOfTheMessagesFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.withServer()
	dot := picture(t)
	notes, photo := p.file("notes.txt", "The marked words zanzibar."), p.file("dot.png", dot)
	type result struct {
		Session string                `json:"session"`
		Files   *[]attached.Reference `json:"files"`
	}
	read := func(r ran, n int) (results []result) {
		t.Helper()
		for line := range strings.Lines(r.out) {
			var got result
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			results = append(results, got)
		}
		if len(results) != n || strings.Contains(r.out+r.err, "zanzibar") || strings.Contains(r.out, base64.StdEncoding.EncodeToString([]byte(dot))) {
			t.Fatalf("%d results are wanted, and no bytes: %+v", n, r)
		}
		return results
	}
	want := func(session string) *[]attached.Reference {
		var refs []attached.Reference
		for e := range strings.Lines(p.ok("", "events", session, "--json").out) {
			var event struct {
				Type api.EventType    `json:"type"`
				Data api.TurnAccepted `json:"data"`
			}
			if json.Unmarshal([]byte(e), &event) == nil && event.Type == api.EventTurnAccepted && len(refs) == 0 {
				for _, b := range event.Data.Content[1:] {
					refs = append(refs, attached.Reference{ID: b.ID, Name: b.Name, MediaType: b.MediaType, Size: b.Size, SHA256: b.SHA256})
				}
			}
		}
		if len(refs) != 2 || refs[0].Name != "notes.txt" || refs[0].MediaType != "text/plain" || refs[0].Size != 26 || refs[1].ID == "" || refs[1].SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(dot))) {
			t.Fatalf("the journal has %+v", refs)
		}
		return &refs
	}
	ran := read(p.ok("", "run", "--json", "--attach", notes, "--attach", photo, "look"), 1)[0]
	if diff := cmp.Diff(want(ran.Session), ran.Files); diff != "" {
		t.Error(diff)
	}
	chat := read(p.ok("look\nand now without\n", "chat", "--json", "--attach", notes, "--attach", photo), 2)
	if diff := cmp.Diff(want(chat[0].Session), chat[0].Files); diff != "" {
		t.Error(diff)
	}
	if chat[1].Files != nil {
		t.Errorf("a message without files has %+v", *chat[1].Files)
	}
}

func TestFilesThatAPatternNamesAreToldApart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a, b, c := p.file("a.txt", "a"), p.file("b's notes.txt", "b"), p.file("c.txt", "c")
	quoted := "'" + strings.ReplaceAll(b, "'", `'\''`) + "'"
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"before the text", []string{"run", "--attach", a, b, c, "What is missing?"}, "openworker run --attach " + a + " --attach " + quoted + " --attach " + c + " 'What is missing?'"},
		{"behind the text", []string{"run", "look", "--attach", a, c}, "openworker run --attach " + a + " --attach " + c + " look;"},
		{"one without a text", []string{"run", "--attach", a, c}, "openworker run --attach " + a + " --attach " + c + ";"},
		{"several without a text", []string{"run", "--attach", a, b, c}, "--attach " + c + ";"},
		{"more than are shown", append([]string{"run", "--attach"}, slices.Repeat([]string{a}, 9)...), strings.Repeat(" --attach "+a, 6) + " …;"},
		{"in a chat", []string{"chat", "--attach", a, c}, "openworker chat --attach " + a + " --attach " + c + ";"},
		{"texts alone", []string{"run", "--attach", a, "What", "is"}, "openworker run takes no more than TEXT, and 2 are given"},
		{"a text in a chat", []string{"chat", "--attach", a, "hello"}, `unknown command "hello" for "openworker chat"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := p.run("", tt.args...)
			if got.code != exitUsage || got.out != "" || !strings.Contains(got.err, tt.says) {
				t.Errorf("%+v\ndoes not say %s", got, tt.says)
			}
			if told := strings.Contains(got.err, "--attach takes one file each time"); told != strings.Contains(tt.says, "--attach ") {
				t.Errorf("%s", got.err)
			}
		})
	}
	if got := p.ok(c, "run", "--attach", a, "-"); !strings.Contains(got.out, c) {
		t.Errorf("a file's name as the text: %+v", got)
	}
}

func TestFilesNeedNoText(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := p.withServer()
	notes := p.file("notes.txt", "a note")
	for name, run := range map[string]func() ran{
		"no text at all":          func() ran { return p.ok("", "run", "--attach", notes) },
		"an empty standard input": func() ran { return p.ok(" \n", "run", "--attach", notes, "-") },
	} {
		session := run().session(t)
		if asked := lastMessage(t, server); !strings.Contains(asked.Content, "a note") {
			t.Errorf("%s: the model was sent %q", name, asked.Content)
		}
		if list := p.ok("", "sessions").out; !strings.Contains(list, session) || !strings.Contains(list, "“notes.txt (text/plain, 6 bytes)”") {
			t.Errorf("%s: the session is not listed: %s", name, list)
		}
	}
}

func TestAFileThatCannotBeSentLeavesNoSession(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args func(p *place) []string
		code int
		says []string
	}{
		{"one that is not there", func(p *place) []string {
			return []string{"run", "--attach", p.file("a.txt", "a"), "--attach", filepath.Join(p.dir, "none.txt"), "hi"}
		},
			exitFailure, []string{"invalid_request", "none.txt", "check its name"}},
		{"one of another kind", func(p *place) []string { return []string{"run", "--attach", p.file("a.bin", "\x7fELF\x00\x01"), "hi"} },
			exitFailure, []string{"unsupported_media", "a.bin", "convert it, or name another model"}},
		{"one that is too large", func(p *place) []string {
			return []string{"chat", "--attach", p.file("a.txt", strings.Repeat("a", api.MaxFileBytes+1))}
		}, exitFailure, []string{"attachment_too_large", "a.txt", "8388609", "make it smaller"}},
		{"files that are too large together", func(p *place) []string {
			args := []string{"run", "hi"}
			for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
				args = append(args, "--attach", p.file(name, name+strings.Repeat("a", 6<<20)))
			}
			return args
		}, exitFailure, []string{"attachment_too_large", "c.txt", "at most 16777216"}},
		{"the same file twice", func(p *place) []string {
			file := p.file("a.txt", "a")
			return []string{"run", "--attach", file, "--attach", file, "hi"}
		}, exitFailure, []string{"invalid_request", "a.txt", "attached already"}},
		{"more text than goes with files", func(p *place) []string {
			return []string{"run", "--attach", p.file("a.txt", "a"), strings.Repeat("a", 32_001)}
		},
			exitFailure, []string{"invalid_request", "32001 bytes", "put it into a file"}},
		{"standard input", func(*place) []string { return []string{"run", "--attach", "-", "hi"} }, exitUsage, []string{"--attach names a file", "put it into a file"}},
		{"no file", func(*place) []string { return []string{"run", "--attach", "", "hi"} }, exitUsage, []string{"--attach names a file"}},
		{"a submission ID without a session", func(*place) []string { return []string{"run", "--submission-id", "x", "hi"} }, exitUsage, []string{"--session"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			got := p.run("hello\n", tt.args(p)...)
			if got.code != tt.code || got.out != "" {
				t.Errorf("%+v", got)
			}
			for _, text := range tt.says {
				if !strings.Contains(got.err, text) {
					t.Errorf("%q does not say %q", got.err, text)
				}
			}
			if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); !os.IsNotExist(err) {
				t.Errorf("there is a state directory: %v", err)
			}
		})
	}
}

// GR2, AT7: what the service refuses leaves no session either.
func TestAFileThatAGuardrailCannotLookIntoIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.run("", "run", "--guardrail", "sensitive", "--attach", p.file("dot.png", picture(t)), "look")
	if got.code != exitFailure || !strings.Contains(got.err, "uninspectable_content") || !strings.Contains(got.err, "dot.png") || !strings.Contains(got.err, "without --guardrail") {
		t.Errorf("%+v", got)
	}
	if list := p.ok("", "sessions", "--all").out; list != "" {
		t.Errorf("a session is left: %s", list)
	}
}

// RU4
func TestTheSameMessageWithFilesIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "hello").session(t)
	notes, other := p.file("notes.txt", "a note"), p.file("other.txt", "another")
	first := p.ok("", "run", "--session", session, "--submission-id", "m1", "--attach", notes, "look")
	again := p.ok("", "run", "--session", session, "--submission-id", "m1", "--attach", notes, "look")
	if first.out != again.out {
		t.Errorf("%q, then %q", first.out, again.out)
	}
	if n := strings.Count(p.ok("", "events", session).out, "turn_accepted"); n != 2 {
		t.Errorf("%d messages were accepted of two", n)
	}
	if got := p.run("", "run", "--session", session, "--submission-id", "m1", "--attach", other, "look"); got.code != exitFailure || !strings.Contains(got.err, "submission_conflict") {
		t.Errorf("another file under the same ID: %+v", got)
	}
}

func TestAChatFromAPipeHasAttachAndDetach(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := p.withServer()
	p.env["HOME"] = p.dir
	p.file("my notes.txt", "first note")
	p.file("two.txt", "second note")
	dropped := strings.ReplaceAll(p.file("dropped one.txt", "third note"), " ", `\ `)
	input := []string{"start", "/attach ~/two.txt", "/attach '" + filepath.Join(p.dir, "my notes.txt") + "'", "/attach", "/detach two.txt", "look", "/attach", "/attach " + dropped, "//attach is a word", "end"}
	got := p.ok(strings.Join(input, "\n"), "chat", "--attach", p.file("dot.png", picture(t)))
	var files []string
	for _, r := range server.Requests() {
		last := r.Messages[len(r.Messages)-1]
		var in []string
		for _, note := range []string{"first note", "second note", "third note"} {
			if strings.Contains(last.Content, note) {
				in = append(in, note)
			}
		}
		if len(last.Parts) > 0 {
			in = append(in, "the picture")
		}
		files = append(files, strings.Fields(last.Content)[0]+": "+strings.Join(in, ", "))
	}
	if diff := cmp.Diff([]string{"start: the picture", "look: first note", "/attach: third note", "end: "}, files); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"attached two.txt (text/plain, 11 bytes)\n", "taken back: two.txt (text/plain, 11 bytes)\n", "attached dropped one.txt"} {
		if !strings.Contains(got.err, text) {
			t.Errorf("%q is not in\n%s", text, got.err)
		}
	}
	list := "openworker: these go with the next message; /detach takes one back:\nopenworker:   two.txt (text/plain, 11 bytes)\nopenworker:   my notes.txt (text/plain, 10 bytes)\n"
	if n := strings.Count(got.err, "attached my notes.txt"); n != 1 || !strings.Contains(got.err, list) {
		t.Errorf("%d previews, and the list:\n%s", n, got.err)
	}
	if !strings.Contains(got.err, "nothing is attached; /attach FILE adds a file to the next message") {
		t.Errorf("nothing in the list is not told:\n%s", got.err)
	}
}

func TestAChatFromAPipeEndsWhereAFileCannotGoWithItsMessage(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, input, says string }{
		{"a file that is not there", "/attach none.txt\nnever sent", `the file "none.txt": it is not there`},
		{"nothing to take back", "/detach\nnever sent", "nothing is attached"},
		{"no message behind a file", "/attach ~/a.txt\n\n", "attached and not sent: a.txt; no message followed\n  write a line behind it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env["HOME"] = p.dir
			p.file("a.txt", "a")
			if got := p.run(tt.input, "chat"); got.code != exitFailure || got.out != "" || !strings.Contains(got.err, tt.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestEveryErrorOfFilesAndImportsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for code, want := range map[api.Code]string{
		api.CodeUnsupportedMedia:     "convert it, or name another model with --model or OPENWORKER_MODEL",
		api.CodeAttachmentTooLarge:   "a file may have 8.0 MiB and the files of a message 16.0 MiB",
		api.CodeAttachmentQuota:      "in a new session",
		api.CodeAttachmentNotFound:   "send the message with the file once more",
		api.CodeUploadConflict:       "see that nothing writes to the file",
		api.CodeUninspectableContent: "without --guardrail",
		api.CodeInvalidHistory:       "openworker sessions import --help shows the form",
	} {
		if got := (&Main{}).nextStep(api.Errorf(code, "no")); !strings.Contains(got, want) {
			t.Errorf("%s: %q", code, got)
		}
	}
	for code, want := range map[api.Code]string{api.CodeUnsupportedMedia: "convert it, or name another model with /model", api.CodeAttachmentQuota: "/new begins another session"} {
		if got := (&Main{}).nextInChat(api.Errorf(code, "no")); !strings.Contains(got, want) || strings.Contains(got, "--") {
			t.Errorf("%s in a chat: %q", code, got)
		}
	}
}
