package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestABackupIsAStoreThatHoldsTheSessions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("hello\n", "chat").session(t)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(copied, "openworker.db")
	p.ok("", "backup", file)
	events := p.ok("", "events", session).out
	if again := p.ok("", "events", session, "--state-dir", copied).out; again != events {
		t.Errorf("the copy's journal is\n%s\nand not\n%s", again, events)
	}
	if r := p.run("", "backup", file); r.code == 0 {
		t.Errorf("a second back-up went over the first: %+v", r)
	}
}
