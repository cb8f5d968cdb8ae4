package screen

import (
	"strings"
	"testing"
)

// TestTextOfOthersDoesNotCommandTheTerminal writes sentences with what terminals obey.
func TestTextOfOthersDoesNotCommandTheTerminal(t *testing.T) {
	var out, err strings.Builder
	c := &Console{Out: &out, Err: &err}
	c.Talk("node 2 says %q and %s", "quoted", "\x1b]0;title\x07\u009b2Jred\ttab\r")
	c.Printf("%s\n", "one\ntwo\x7f")
	if want := "node 2 says \"quoted\" and \uFFFD]0;title\uFFFD\uFFFD2Jred\ttab\uFFFD\n"; err.String() != want {
		t.Errorf("%q, want %q", err.String(), want)
	}
	if want := "one\ntwo\uFFFD\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
