package pattern_test

import (
	"math"
	"testing"
	"time"

	"bellows"
	"bellows/sim/lab/pattern"
)

// walk looks at a pattern piece by piece, for a node and so long, and returns the mean slowness and the share of time
// with a slowness above 1.
func walk(t *testing.T, p pattern.Slow, seed uint64, n bellows.NodeID, long time.Duration) (mean, slow float64) {
	t.Helper()
	for now := time.Duration(0); now < long; {
		slower, until := p(seed, n, now)
		if until <= now {
			t.Fatalf("at %v the pattern holds until %v", now, until)
		}
		until = min(until, long)
		for _, at := range []time.Duration{now, now + (until-now)/2, until - 1} {
			if again, _ := p(seed, n, at); again != slower {
				t.Fatalf("node %d is %v times slower at %v, until %v, but %v times at %v", n, slower, now, until, again, at)
			}
		}
		part := float64(until-now) / float64(long)
		mean += slower * part
		if slower > 1 {
			slow += part
		}
		now = until
	}
	return mean, slow
}

func TestPatternsAreAsDescribed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern    pattern.Slow
		mean, slow float64
		long       time.Duration // in multiples of what the others take
	}{
		"constant": {pattern.Constant(3, 2, 7), 3, 1, 1},
		"others":   {pattern.Constant(3, 1), 1, 0, 1},
		"rotating": {pattern.Rotating(5, time.Second, 8), 1 + 4.0/8, 1.0 / 8, 1},
		// A point in ten iterations of ten points begins a period of one iteration on average; they overlap seldom.
		"slow worker": {pattern.SlowWorker(time.Second, 2), 1 + 2*0.0945, 0.0945, 1},
		"disrupted":   {pattern.Disrupted(20*time.Second, 3), 1 + 3*0.2, 0.2, 20},
		// The mean of a density in proportion to t^-a from 1 on is (a-1)/(a-2).
		"power law 4":  {pattern.PowerLaw(time.Second, 4), 3.0 / 2, 1, 1},
		"power law 11": {pattern.PowerLaw(time.Second, 11), 10.0 / 9, 1, 1},
		"persistent":   {pattern.Persistent(), 0.5, 0, 1},
	} {
		mean, slow := walk(t, c.pattern, 1, 2, max(1, c.long)*20_000*time.Second)
		if math.Abs(mean/c.mean-1) > 0.03 || math.Abs(slow-c.slow) > 0.01 {
			t.Errorf("%s: %.4f times slower on average, slow for %.4f of the time; want %.4f and %.4f", name, mean, slow, c.mean, c.slow)
		}
	}
	even, _ := walk(t, pattern.Persistent(), 1, 1, time.Hour)
	odd, _ := walk(t, pattern.Persistent(), 1, 2, time.Hour)
	if even+odd != 2 || even/(even+odd) != 0.75 {
		t.Errorf("half of the nodes have %v and half %v of the usual work; want 75 %% and 25 %%", even, odd)
	}
}

func TestPatternsDependOnSeedAndNode(t *testing.T) {
	t.Parallel()
	p := pattern.PowerLaw(time.Second, 4)
	base, _ := walk(t, p, 1, 1, time.Minute)
	seed, _ := walk(t, p, 2, 1, time.Minute)
	other, _ := walk(t, p, 1, 2, time.Minute)
	if again, _ := walk(t, p, 1, 1, time.Minute); base == seed || base == other || base != again {
		t.Errorf("slowness %v; with another seed %v, of another node %v, again %v", base, seed, other, again)
	}
}
