package pair

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An error ends a part of a command: deferred calls run and the error comes back. What is no such error goes on.
func TestAttemptReturnsWhatEndedIt(t *testing.T) {
	t.Parallel()
	cause, cleaned, reached := errors.New("no data"), false, false
	err := Attempt(func() {
		defer func() { cleaned = true }()
		if got := Must(strconv.Atoi("12")); got != 12 {
			t.Errorf("Must gave %d", got)
		}
		Check(nil)
		Check(fmt.Errorf("read: %w", cause))
		reached = true
	})
	if !errors.Is(err, cause) || !cleaned || reached {
		t.Errorf("error %v, cleaned %v, continued %v", err, cleaned, reached)
	}
	defer func() {
		if r := recover(); r != "a mistake" {
			t.Errorf("recovered %v", r)
		}
	}()
	t.Error("a panic became the error ", Attempt(func() { panic("a mistake") }))
}

func TestPartsRunAllOrOne(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]string{"": "ab", "b": "b", "c": ""} {
		ran := ""
		err := Attempt(func() {
			new(Bench).Parts(only, Part{"a", func() { ran += "a" }}, Part{"b", func() { ran += "b" }})
		})
		if ran != want || (err != nil) != (only == "c") {
			t.Errorf("--only %q ran %q, %v", only, ran, err)
		}
	}
}

func TestTurnsAreThoseOfTheForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want int // 0: refused
	}{{"", 3}, {"--full", 9}, {"--full --turns 5", 5}, {"--turns -1", 0}, {"--json extra", 0}} {
		b, flags := new(Bench), flag.NewFlagSet("bench", flag.ContinueOnError)
		b.define(flags)
		if err := flags.Parse(strings.Fields(c.line)); err != nil {
			t.Fatal(err)
		}
		if err := b.settle(flags.Args(), 3, 9); (err == nil) != (c.want > 0) || err == nil && b.Turns != c.want {
			t.Errorf("%q: %d turns, %v; want %d", c.line, b.Turns, err, c.want)
		}
	}
}

func TestRaceFillsInTheRow(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	b := &Bench{Table: NewTable(&text, true), Turns: 2}
	side := func(name string, wall time.Duration) Side {
		return Side{Name: name, Run: func() Turn { return Turn{Work: 1, Wall: wall} }}
	}
	b.Race(Row{Figure: "f", Target: 1}, side("ours", time.Second), side("peer", 2*time.Second))
	b.Race(Row{Figure: "g"}, side("ours", time.Second))
	if got := text.String(); !strings.Contains(got, `"peer_name":"peer","ratio":{"median":2,`) || strings.Count(got, "peer_name") != 1 {
		t.Errorf("printed %s", got)
	}
}
