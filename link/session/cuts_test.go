package session_test

import (
	"testing"

	"bellows/link/session"
)

// TestPartsAreWhatAConnectionTakesInAWhile: 50 ms, and as short as a quarter of a MiB at most; short writes say nothing, and one that was slow by chance little.
func TestPartsAreWhatAConnectionTakesInAWhile(t *testing.T) {
	t.Parallel()
	const milli = 1_000_000
	for name, c := range map[string]struct {
		bytes, times       int
		nanos              int64
		wholeLow, wholeTop int
	}{
		"not known":    {0, 0, 0, 0, 0},
		"fast":         {1 << 20, 9, milli, 0, 0},
		"no time":      {1 << 20, 9, 0, 0, 0},
		"100 MB/s":     {10_000_000, 60, 100 * milli, 4_900_000, 5_100_000},
		"10 MB/s":      {2_000_000, 90, 200 * milli, 499_000, 505_000},
		"slower":       {1 << 20, 90, 10_000 * milli, 256 << 10, 256 << 10},
		"short ones":   {1000, 9, 1000 * milli, 0, 0},
		"one slow one": {1 << 20, 1, 1000 * milli, 13_000_000, 14_000_000},
	} {
		var cuts session.Cuts
		for range c.times {
			cuts.Wrote(c.bytes, c.nanos)
		}
		whole, part := cuts.Parts()
		if whole < c.wholeLow || whole > c.wholeTop || whole > 0 && part > whole || part > 1<<20 || part < 256<<10 {
			t.Errorf("%s: %d bytes are whole, parts have %d", name, whole, part)
		}
	}
	var cuts session.Cuts
	for range 90 {
		cuts.Wrote(1<<20, 1000*milli)
	}
	if whole, _ := cuts.Parts(); whole == 0 || whole > 300<<10 {
		t.Errorf("behind many slow writes what has %d bytes is whole", whole)
	}
	cuts.Wrote(1<<20, milli)
	if whole, _ := cuts.Parts(); whole != 0 {
		t.Errorf("behind a fast write parts have %d bytes", whole)
	}
}
