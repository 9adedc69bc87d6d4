package modeltest

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/model"
)

// Options are what the suite wants of a provider.
type Options struct {
	URL        string        // of the recording server; paths under it are the provider's to choose
	StreamIdle time.Duration // silence after which the stream is cut
}

// Subject is a provider under test.
type Subject struct {
	// New makes a provider. What it holds is released by t.Cleanup.
	New func(t *testing.T, options Options) model.Provider
	// Recordings holds a file for each case: its [Case.File].
	Recordings fs.FS
	// Extra are cases that only this protocol has.
	Extra []Case
	// Without are cases that this protocol cannot have, by name, with the reason.
	Without map[string]string
}

// Credential is what the suite gives to providers. It must appear in no error.
const Credential = "sk-modeltest-0123456789"

// Run runs the suite. The calling test must not be parallel: goroutines are counted.
func Run(t *testing.T, subject Subject) {
	cases := selected(t, subject)
	t.Run("a cancelled stream", func(t *testing.T) { testCancel(t, subject) })
	t.Run("a call cancelled before the first byte", func(t *testing.T) { testCancelEarly(t, subject) })
	t.Run("a context that has ended makes no request", func(t *testing.T) { testEnded(t, subject) })
	t.Run("connections are used again", func(t *testing.T) { testReuse(t, subject) })
	t.Run("a server that is not there is unreachable", func(t *testing.T) { testUnreachable(t, subject) })
	t.Run("a missing credential makes no request", func(t *testing.T) { testNoCredential(t, subject) })
	t.Run("many calls at once", func(t *testing.T) { testConcurrent(t, subject) })
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.run(t, subject)
		})
	}
}

// selected returns the cases to run, and fails when a recording is missing or is no case's.
func selected(t *testing.T, subject Subject) []Case {
	t.Helper()
	var cases []Case
	known := map[string]bool{}
	for _, c := range append(Cases(), subject.Extra...) {
		if _, excused := subject.Without[c.Name]; excused {
			continue
		}
		if known[c.File()] {
			t.Fatalf("two cases have the recording %s", c.File())
		}
		known[c.File()] = true
		cases = append(cases, c)
	}
	files, err := fs.Glob(subject.Recordings, "*.http")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[path.Base(file)] {
			t.Errorf("the recording %s belongs to no case", file)
		}
		delete(known, path.Base(file))
	}
	for file := range known {
		t.Errorf("the recording %s is missing", file)
	}
	return cases
}

// File is the name of the case's recording: its name in small letters, with _ for what is no letter or digit.
func (c Case) File() string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(c.Name))
	return clean + ".http"
}
