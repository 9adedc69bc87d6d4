package chatui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// desktop is a directory with files in it, as somebody's home.
func desktop(t *testing.T, files ...string) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func names(m Message) (names []string) {
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	return names
}

func TestFilesAreAttachedShownAndSent(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt", "my notes.txt")
	f := newFake("")
	d := sit(t, f, 80, 24, func(o *Options) { o.Home = home })
	d.press("/attach ~/a.txt ~/my\\ notes.txt" + enter)
	d.See(t, "+ a.txt (text/plain, 13 bytes)\n+ my notes.txt (text/plain, 20 bytes)\n>")
	message := d.say("look")
	if diff := cmp.Diff([]string{"a.txt", "my notes.txt"}, names(message)); diff != "" || message.Text != "look" {
		t.Errorf("%q with %s", message.Text, diff)
	}
	if string(message.Files[1].Data) != "text of my notes.txt" {
		t.Errorf("%q is sent", message.Files[1].Data)
	}
	d.Gone(t, "+ a.txt (text/plain, 13 bytes)\n+ my notes.txt (text/plain, 20 bytes)\n>")
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "look", Content: []api.AcceptedBlock{
		{Type: api.BlockText, Text: "look"},
		{Type: api.BlockDocument, Name: "a.txt", ID: "s1-a1", MediaType: "text/plain", Size: 13},
		{Type: api.BlockImage, Name: "b\x1b[2J\u202e.png", ID: "s1-a2", MediaType: "image/png", Size: 20},
	}})
	d.See(t, "\n> look\n  + a.txt (text/plain, 13 bytes)\n  + b[2J.png (image/png, 20 bytes)\n")
	f.tell("r1", api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted})
	if next := d.say("and now"); len(next.Files) != 0 {
		t.Errorf("the next message has %q", names(next))
	}
}

func TestFilesAloneAreAMessage(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt")
	f := newFake("")
	d := sit(t, f, 80, 24, func(o *Options) { o.Home = home })
	d.press("/attach ~/a.txt" + enter)
	d.See(t, "+ a.txt (text/plain, 13 bytes)\n>")
	d.press(enter)
	message := get(t, f.sent)
	if diff := cmp.Diff([]string{"a.txt"}, names(message)); diff != "" || message.Text != "" {
		t.Errorf("%q with %s", message.Text, diff)
	}
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Content: []api.AcceptedBlock{{Type: api.BlockDocument, Name: "a.txt", ID: "s1-a1", MediaType: "text/plain", Size: 13}}})
	d.See(t, "\n> + a.txt (text/plain, 13 bytes)\n")
}

func TestARefusedMessageKeepsItsFiles(t *testing.T) {
	t.Parallel()
	for _, code := range []api.Code{api.CodeAttachmentTooLarge, api.CodeSessionBusy, api.CodeGuardrailBlocked} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			home := desktop(t, "a.txt", "b.txt")
			f := newFake("s1")
			f.refuse = api.Errorf(code, "not like this")
			d := sit(t, f, 80, 24, func(o *Options) { o.Home = home })
			d.press("/attach ~/a.txt" + enter)
			d.See(t, "+ a.txt (")
			first := d.say("look")
			d.See(t, string(code)+": not like this", "\n+ a.txt (text/plain, 13 bytes)\n> look\nthe message was not sent")
			f.mu.Lock()
			f.refuse = nil
			f.mu.Unlock()
			d.press(enter)
			if again := get(t, f.sent); !cmp.Equal(first, again) {
				t.Errorf("the second attempt is another submission: %+v", again)
			}
			d.Gone(t, "+ a.txt (text/plain, 13 bytes)\n>")
		})
	}
}

func TestOtherFilesAreAnotherSubmission(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt")
	f := newFake("s1")
	f.refuse = errors.New("not like this")
	d := sit(t, f, 80, 24, func(o *Options) { o.Home = home })
	d.press("/attach ~/a.txt" + enter)
	d.See(t, "+ a.txt (")
	first := d.say("look")
	d.See(t, "\n> look\nthe message was not sent")
	d.press(ctrlC) // clears the text alone
	d.See(t, "\n+ a.txt (text/plain, 13 bytes)\n>\n")
	d.press("/detach" + enter)
	d.See(t, "taken back: a.txt")
	d.Gone(t, "+ a.txt (")
	if again := d.say("look"); again.ID == first.ID || len(again.Files) != 0 {
		t.Errorf("%+v, then %+v", first.ID, again.ID)
	}
}

func TestWhatIsAttachedIsListedAndTakenBack(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt")
	s := newStage(t, func(o *Options) { o.Home = home })
	attach := func(line string) { s.Update(s.command("/attach " + line)()) }
	s.command("/attach")
	s.compose()
	if live := s.live(); !strings.Contains(live, "nothing is attached; /attach FILE adds") {
		t.Errorf("%s", live)
	}
	attach("~/a.txt ~/b.txt ~/c.txt ~/d.txt ~/e.txt ~/f.txt")
	if live := s.live(); !strings.Contains(live, "+ d.txt (text/plain, 13 bytes)\n  … and 2 more, which /attach lists\n>") {
		t.Errorf("%s", live)
	}
	s.command("/attach")
	if all := s.scrollback(); !strings.Contains(all, "these go with the next message") || !strings.Contains(all, "\n  f.txt (text/plain, 13 bytes)") {
		t.Errorf("%s", all)
	}
	for _, tt := range []struct{ line, says string }{
		{"/detach", "6 files are attached; name one, or all: a.txt, b.txt"},
		{"/detach z", `no file "z" is attached`},
		{"/attach ~/a.txt", "attached already"},
		{"/attach ~/zz.txt", "it is not there; check its name"},
		{"/attach ~/'a.txt", "is not closed"},
		{"/attach " + home, "it is a directory"},
		{"/detach e.txt", "taken back: e.txt"},
	} {
		line, says := tt.line, tt.says
		s.input.clear()
		if cmd := s.command(line); strings.HasPrefix(line, "/attach") {
			s.Update(cmd())
		}
		if !strings.Contains(s.hint, says) {
			t.Errorf("%s says %q, want %q", line, s.hint, says)
		}
		if back := s.input.text(); strings.HasPrefix(line, "/attach") && back != line {
			t.Errorf("%s comes back as %q", line, back)
		}
	}
	if diff := cmp.Diff([]string{"a.txt", "b.txt", "c.txt", "d.txt", "f.txt"}, s.tray.Names()); diff != "" {
		t.Error(diff)
	}
	s.input.clear()
	s.command("/detach all")
	if n := len(s.tray.Files()); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestAMessageWaitsForFilesThatAreBeingRead(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt")
	s := newStage(t, func(o *Options) { o.Home = home })
	read := s.command("/attach ~/a.txt")
	s.Update(tea.PasteMsg{Content: "look"})
	s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(s.outbox) != 0 || !strings.Contains(s.hint, "still being read") {
		t.Errorf("%d messages are on their way; %q", len(s.outbox), s.hint)
	}
	s.Update(read())
	s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(s.outbox) != 1 || len(s.outbox[0].Files) != 1 {
		t.Errorf("%+v", s.outbox)
	}
	if live := s.live(); !strings.Contains(live, "> look + a.txt (text/plain, 13 bytes)") {
		t.Errorf("what is on its way is not shown: %s", live)
	}
}

func TestSeveralMessagesThatAreRefusedComeBackAsOne(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt", "b.txt", "c.txt")
	s := newStage(t, func(o *Options) { o.Home = home })
	for _, name := range []string{"a", "b"} {
		s.Update(s.command("/attach ~/" + name + ".txt")())
		s.Update(tea.PasteMsg{Content: name})
		s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	s.Update(s.command("/attach ~/c.txt")())
	s.Update(sentMsg{message: s.outbox[0], err: errors.New("no")})
	if diff := cmp.Diff([]string{"a.txt", "b.txt", "c.txt"}, s.tray.Names()); diff != "" || s.input.text() != "a\nb" {
		t.Errorf("%q with %s", s.input.text(), diff)
	}
}

func TestPathsAndNamesAreCompleted(t *testing.T) {
	t.Parallel()
	home := desktop(t, "my notes.txt", "my music.txt", "photo.png")
	s := newStage(t, func(o *Options) { o.Home = home })
	complete := func(typed string) string {
		s.input.set(typed)
		_, cmd := s.Update(tea.KeyPressMsg{Code: tea.KeyTab})
		for _, msg := range batched(cmd) {
			if path, ok := msg.(pathMsg); ok {
				s.Update(path)
			}
		}
		return s.input.text()
	}
	if got := complete("/att"); got != "/attach " {
		t.Errorf("%q", got)
	}
	if got := complete("/attach ~/ph"); got != "/attach ~/photo.png " {
		t.Errorf("%q", got)
	}
	if got := complete("/attach ~/m"); got != `/attach ~/my\ ` || s.hint != "my music.txt my notes.txt" {
		t.Errorf("%q, %q", got, s.hint)
	}
	s.Update(pathMsg{typed: "/attach ~/other", completed: "/attach ~/otherwise"})
	if got := s.input.text(); got != `/attach ~/my\ ` {
		t.Errorf("a completion of what is no longer there makes %q", got)
	}
	s.input.clear()
	s.Update(s.command(`/attach ~/my\ notes.txt ~/my\ music.txt`)())
	if got := complete("/detach m"); got != "/detach my " || s.hint != "my notes.txt my music.txt" {
		t.Errorf("%q, %q", got, s.hint)
	}
	if got := complete("/detach my n"); got != "/detach my notes.txt" {
		t.Errorf("%q", got)
	}
	s.input.clear()
	s.command("/detach my notes.txt")
	if diff := cmp.Diff([]string{"my music.txt"}, s.tray.Names()); diff != "" {
		t.Error(diff)
	}
}

// batched runs a command that does not wait, and returns what comes of it and of those within it.
func batched(cmd tea.Cmd) (msgs []tea.Msg) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			msgs = append(msgs, batched(cmd)...)
		}
		return msgs
	}
	return append(msgs, msg)
}

func TestQueuedMessagesAreShownWithTheirFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "first"})
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "second", Queued: true, Content: []api.AcceptedBlock{
		{Type: api.BlockText, Text: "second"}, {Type: api.BlockDocument, Name: "a.pdf", MediaType: "application/pdf", Size: 2048}}})
	if live := s.live(); !strings.Contains(live, "queued: second + a.pdf (application/pdf, 2.0 KiB)") {
		t.Errorf("%s", live)
	}
}

func TestLeavingTellsWhichFilesWereNotSent(t *testing.T) {
	t.Parallel()
	home := desktop(t, "a.txt", "b.txt")
	s := newStage(t, func(o *Options) { o.Home = home })
	s.Update(s.command("/attach ~/a.txt")())
	s.Update(tea.PasteMsg{Content: "look"})
	s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.Update(s.command("/attach ~/b.txt")())
	s.Update(ctrl('d'))
	want := "  it is not known whether this was sent: look + a.txt (text/plain, 13 bytes)\n  attached and not sent: b.txt"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
}

func TestAnImportedConversationIsShown(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for _, items := range [][]api.ImportedItem{
		{{Type: api.ImportUser, Text: "Is it open?\x1b[2J"}},
		{{Type: api.ImportAssistant, Text: "Let me **look**."}, {Type: api.ImportToolCall, CallID: "1", Name: "look", Arguments: `{"at":"door"}`},
			{Type: api.ImportToolCall, CallID: "2", Name: "knock", Arguments: `{}`},
			{Type: api.ImportToolResult, CallID: "2", Output: "come in"}, {Type: api.ImportToolResult, CallID: "1", Output: "open"}},
		{{Type: api.ImportAssistant, Text: "It is."}},
	} {
		s.tell(api.EventHistoryImported, api.HistoryImported{Items: items})
	}
	want := "> Is it open?[2J\n\nLet me look.\n\n● look(at: door) ✓\n  └ open\n● knock() ✓\n  └ come in\n\nIt is."
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
	s.Update(tea.KeyPressMsg{Code: tea.KeyUp})
	if got := s.input.text(); got != "Is it open?[2J" {
		t.Errorf("up brings back %q", got)
	}
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go on"})
	if all := s.scrollback(); !strings.HasSuffix(all, "\n\n> go on") || strings.Count(all, "knock") != 1 {
		t.Errorf("%s", all)
	}
}
