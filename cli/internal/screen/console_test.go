package screen

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"bellows"
)

// TestForeignTextCannotCommandTheTerminal writes sentences with control sequences.
func TestForeignTextCannotCommandTheTerminal(t *testing.T) {
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

// full is a disk that takes some bytes.
type full struct {
	room int
	strings.Builder
}

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	}
	f.room -= len(b)
	return f.Builder.Write(b)
}

// TestNothingIsWrittenAfterALostLine writes lines; the second has no room, and the third would.
func TestOutputEndsAtALostLine(t *testing.T) {
	t.Parallel()
	out := &full{room: 8}
	var talk strings.Builder
	c := &Console{Out: out, Err: &talk}
	c.Printf("one\n")
	if c.Lost() != nil {
		t.Error(c.Lost())
	}
	c.Printf("a longer line\n")
	c.Printf("two\n")
	if err := c.Lost(); bellows.KindOf(err) != bellows.IO || err.Error() != "write standard output: no space left on device" {
		t.Error(err)
	}
	c.JSON = true
	if err := c.Object(1); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if code := c.Fail(c.Lost()); code != 74 || strings.Count(talk.String(), "no space") != 1 || out.String() != "one\n" {
		t.Errorf("code %d, %q, %q", code, talk.String(), out.String())
	}
}

func TestAgainIsTheSameWithoutFresh(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     string
		overrule bool
		want     string
	}{
		{"train mf r.tsv --fresh --seed 2", false, "bellows train mf r.tsv --seed 2"},
		{"train mf --fresh=true r.tsv", false, "bellows train mf r.tsv"},
		{"train mf --fresh=false r.tsv", false, "bellows train mf --fresh=false r.tsv"},
		{"train mf --fresh -- --fresh", false, "bellows train mf -- --fresh"},
		{"train mf --fresh -- --fresh", true, "bellows train mf --fresh=false -- --fresh"},
		{"train mf r?.tsv", true, "bellows train mf 'r?.tsv' --fresh=false"},
	} {
		if got := (&Console{Name: "bellows", Args: strings.Fields(c.args)}).Again(c.overrule); got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.args, c.overrule, got, c.want)
		}
	}
}

func TestACommandWithoutAFlag(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"train mf r.tsv --cv 5 --seed 2": "bellows train mf r.tsv --seed 2",
		"train mf --cv=5 r?.tsv":         "bellows train mf 'r?.tsv'",
		"train mf r.tsv --cv 5":          "bellows train mf r.tsv",
		"train mf --cvx 5 -- --cv 5":     "bellows train mf --cvx 5 -- --cv 5",
		"train mf --cv 5 -- --cv=5":      "bellows train mf -- --cv=5",
	} {
		if got := (&Console{Name: "bellows", Args: strings.Fields(args)}).WithoutFlag("cv"); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// TestRepeatReturnsGivenFlags reads command lines with both forms of a flag, with another flag, and with words after "--".
func TestRepeatReturnsGivenFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"up --workers 2":                      "",
		"up --state /tmp/a --workers 2":       " --state /tmp/a",
		"jobs --cluster=h:1 --state=/tmp/a b": " --cluster h:1 --state '/tmp/a b'",
		"submit -- train --state x":           "",
		"up --state":                          " --state ''",
	} {
		args := strings.Split(line, " ")
		if args[len(args)-1] == "b" { // a folder with a space
			args = append(args[:len(args)-2], args[len(args)-2]+" b")
		}
		if got := (&Console{Args: args}).Repeat("state", "cluster"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
