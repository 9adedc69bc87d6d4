package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStoredIsPagesOfDatabasesAndWholeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long.json"), []byte(strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "a.db")+"?_pragma=page_size(4096)&_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	stored := func(statement string) int64 {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		size, err := storedBytes(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	// Nothing leaves the log here, so what is counted has been read through it.
	empty := stored(`CREATE TABLE t (x BLOB)`)
	if empty != 2*4096+100 {
		t.Errorf("an empty table takes %d bytes", empty)
	}
	if got := stored(`INSERT INTO t VALUES (zeroblob(40960))`) - empty; got < 40960 || got > 3*4096+40960 {
		t.Errorf("a row of 40,960 bytes takes %d", got)
	}
	if got := stored(`DELETE FROM t`); got != empty {
		t.Errorf("%d bytes when the row has gone, want %d", got, empty)
	}
}
