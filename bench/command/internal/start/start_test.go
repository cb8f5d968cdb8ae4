package start

import (
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

func TestWatcherWaitsForItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted func(string) bool
		text   []string
		found  bool
		last   string
	}{
		{firstEpoch, []string{"title\n  1  0.5 0.6\nthe end"}, true, "the end"},
		{firstEpoch, []string{"title\n  1  0", ".5 0.6\n", "the", " end\n"}, true, "the end"},
		{firstEpoch, []string{"title\n"}, false, "title"},
		{anything, []string{"x"}, true, "x"},
		{anything, []string{""}, false, ""},
	} {
		w := &watcher{wanted: c.wanted, start: time.Now().Add(-time.Second)}
		for _, text := range c.text {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: %d bytes were taken, %v", text, n, err)
			}
		}
		if found := w.took >= time.Second; found != c.found || w.last != c.last {
			t.Errorf("%q: took %v, last %q", c.text, w.took, w.last)
		}
	}
}
