//go:build unix

package attached

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsAsPeopleTypeQuoteAndDropThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := write(t, dir, "a report, Bob's.pdf", []byte("x"))
	tests := []struct {
		name, line string
		want       []string
	}{
		{"nothing", "  ", nil},
		{"one", "a.txt", []string{"a.txt"}},
		{"several", " a.txt  b/c.txt ", []string{"a.txt", "b/c.txt"}},
		{"home", "~/a.txt ~", []string{"/house/ada/a.txt", "/house/ada"}},
		{"somebody else's home stays", "~bob/a.txt", []string{"~bob/a.txt"}},
		{"a backslash before a space", `/x/my\ notes.txt b`, []string{"/x/my notes.txt", "b"}},
		{"in quotes", `'/x/my notes.txt' "/y/it's.txt"`, []string{"/x/my notes.txt", "/y/it's.txt"}},
		{"backslashes in quotes", `"a\"b\\c\d" 'e\f'`, []string{`a"b\c\d`, `e\f`}},
		{"quotes within a word", `/x/"my notes"/'a b'.txt`, []string{"/x/my notes/a b.txt"}},
		{"a file's address", "file:///x/my%20notes.txt", []string{"/x/my notes.txt"}},
		{"an address that is no file's", "https://example.com/a", []string{"https://example.com/a"}},
		{"a name as it stands, where it is there", there, []string{there}},
		{"a backslash at the end", `a\`, []string{`a\`}},
		{"nothing in quotes", `""`, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Paths(tt.line, "/house/ada")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, err := Paths("it's.txt", ""); err == nil {
		t.Errorf("an open quotation mark gives %q", got)
	}
}

func TestAPathIsCompletedAsFarAsItIsClear(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"my notes.txt", "my music.txt", "photo.png", ".secret"} {
		write(t, home, name, []byte("x"))
	}
	for _, name := range []string{"a dir", "b"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, home, "a dir/in it.txt", []byte("x"))
	for _, name := range []string{"b/film.MP4", "b/film.zip", "b/findings.go", "b/findings.svg"} {
		write(t, home, name, []byte("x"))
	}
	if err := os.Mkdir(filepath.Join(home, "b", "fine.tar"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, line, want string
		names            []string
	}{
		{"a file", "~/ph", "~/photo.png ", nil},
		{"a directory", "~/a", `~/a\ dir/`, nil},
		{"within it", `~/a\ dir/i`, `~/a\ dir/in\ it.txt `, nil},
		{"as far as it is clear", "~/m", `~/my\ `, []string{"my music.txt", "my notes.txt"}},
		{"on from there", `~/my\ n`, `~/my\ notes.txt `, nil},
		{"behind a space that belongs to it", `~/my\ `, `~/my\ `, []string{"my music.txt", "my notes.txt"}},
		{"within quotes", `"~/my n`, `~/my\ notes.txt `, nil},
		{"behind another", "a.txt ~/ph", "a.txt ~/photo.png ", nil},
		{"all but hidden ones", "~/", "~/", []string{"a dir/", "b/", "my music.txt", "my notes.txt", "photo.png"}},
		{"a hidden one", "~/.s", "~/.secret ", nil},
		{"directories, and files that are perhaps taken", "~/b/f", "~/b/fin", []string{"findings.go", "findings.svg", "fine.tar/"}},
		{"files that are never taken", "~/b/fil", "~/b/fil", nil},
		{"what is not there", "~/zz", "~/zz", nil},
		{"in a directory that is not there", "~/zz/y", "~/zz/y", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, names := Complete(tt.line, home)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.names, names); diff != "" {
				t.Error(diff)
			}
			if tt.names == nil && got != tt.line {
				paths, err := Paths(got, home)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(paths[len(paths)-1]); err != nil {
					t.Errorf("what was completed is not there: %v", err)
				}
			}
		})
	}
}
