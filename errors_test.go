package bellows_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"bellows"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"node 1 é 世界 is lost; why":      "node 1 é 世界 is lost; why",
		"\x1b[2J\x1b]0;title\aall fine": "?[2J?]0;title?all fine",
		"over\rwritten\x00\x7f\u009b1m": "over?written???1m",
		"a\u202eb\u2066c\u200bd":        "a?b?c?d",
		"bad \xff\xfe bytes":            "bad \uFFFD bytes",
		"first\nbellows: forged":        "first\n  bellows: forged",
		"last lines:\n  panic\n\tat x":  "last lines:\n  panic\n   at x",
	} {
		if got := bellows.Printable(text, 1000); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\n\x1b[31mé\xff", 4)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most &= 1<<10 - 1
		got := bellows.Printable(text, most)
		if len(got) > most || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\a\b\t\x7f") {
			t.Errorf("%q with at most %d bytes becomes %q", text, most, got)
		}
		if again := bellows.Printable(got, most); again != got {
			t.Errorf("%q becomes %q, and that %q", text, got, again)
		}
	})
}
