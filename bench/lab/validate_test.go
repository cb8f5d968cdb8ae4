package main

import (
	"slices"
	"testing"

	"bellows/bench/lab/internal/validation"
)

func TestKindsOfOnly(t *testing.T) {
	t.Parallel()
	for only, want := range map[string][]string{"real": {}, "real,move": {"move"}, "real,move,cuts": {"move", "cuts"}} {
		if got, err := kinds(only); err != nil || !slices.Equal(got, want) {
			t.Errorf("--only %s: %q, %v", only, got, err)
		}
	}
	if _, err := kinds("move"); err == nil {
		t.Error("a kind alone is taken")
	}
}

func TestRatioOfFittedRow(t *testing.T) {
	t.Parallel()
	if got := ratio(validation.Row{Ratio: 1.0349}); got != "1.035" {
		t.Errorf("ratio %q", got)
	}
	if got := ratio(validation.Row{Ratio: 1, Fitted: true}); got != "1.000 fitted" {
		t.Errorf("ratio %q of a row that was fitted", got)
	}
}
