package plain_test

import (
	"strings"
	"testing"

	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	if got, want := plain.Printable("a\x1b[1mb\x00\u009bc\r\n\td\u202e\u2066e\u2069\u200f"), "a[1mbc\n\tde"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := plain.Brief("a\n\tb  "+strings.Repeat("é", 200)), "a b "+strings.Repeat("é", 120-4)+"…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
