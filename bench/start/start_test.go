package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestFirstEpochKnowsALossLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"    1   1.0211   0.9790    0.04s      2.2M     1%    2w 1s\n":   true,
		"epoch   train     test     time   ratings/s   wait   members\n": false,
		"   11   1.0211   0.9790    0.04s\n":                             false,
		"1 file of ratings\n":                                            false,
		"":                                                               false,
		"matrix factorisation · ratings.tsv: 100 000 ratings, 943 × 1 682\n": false,
	} {
		if got := firstEpoch(line); got != want {
			t.Errorf("firstEpoch(%q) = %v", line, got)
		}
	}
}

func TestWatchWaitsForTheLineAndKeepsTheLast(t *testing.T) {
	t.Parallel()
	text := "title\n  1  0.5 0.6\nthe end"
	start := time.Now().Add(-time.Second)
	if took, last := watch(bufio.NewReader(strings.NewReader(text)), start, firstEpoch); took < time.Second || last != "the end" {
		t.Errorf("took %v, last %q", took, last)
	}
	if took, _ := watch(bufio.NewReader(strings.NewReader("title\n")), start, firstEpoch); took != 0 {
		t.Errorf("took %v without the line", took)
	}
	if took, _ := watch(bufio.NewReader(strings.NewReader("x")), start, anything); took < time.Second {
		t.Errorf("the first byte took %v", took)
	}
	if took, _ := watch(bufio.NewReader(strings.NewReader("")), start, anything); took != 0 {
		t.Errorf("no byte took %v", took)
	}
}
