package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bellows"
)

// misses returns the sum of the squared relative errors.
func misses(rows []row, x counts) (sum float64) {
	for _, r := range rows {
		predicted := 0.0
		for i, c := range r.counts {
			predicted += c * x[i]
		}
		e := predicted/r.total - 1
		sum += e * e
	}
	return sum
}

// TestLeastSquaresFindsTheCosts makes totals from known costs, some of them zero, and a little noise.
func TestLeastSquaresFindsTheCosts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	want := counts{700, 30_000, 190_000, 20_000, 0.5, 0, 200, 0}
	var rows []row
	for range 40 {
		var r row
		for i, size := range (counts{54_000, 160, 16, 120, 1e6, 40, 300, 3e6}) {
			r.counts[i] = size * rng.Float64()
			r.total += r.counts[i] * want[i]
		}
		r.total *= 1 + 1e-4*(rng.Float64()-0.5)
		rows = append(rows, r)
	}
	got := leastSquares(rows)
	for i, x := range got {
		if x < 0 || math.Abs(x-want[i]) > 0.05*want[i]+10 {
			t.Errorf("cost %d is %v; want %v", i, x, want[i])
		}
	}
	if misses(rows, got) > misses(rows, want)*1.0001 {
		t.Errorf("the costs found miss the totals by %v, those sought by %v", misses(rows, got), misses(rows, want))
	}
	c := got.costs()
	if c.Send+c.Receive != got[3] || c.SendByte+c.ReceiveByte != got[4] || c.Item != got[0] || c.LocalByte != got[7] {
		t.Errorf("costs %v are %+v", got, c)
	}
}

// TestLeastSquaresWithTooFewRows solves for more unknowns than it has equations.
func TestLeastSquaresWithTooFewRows(t *testing.T) {
	t.Parallel()
	rows := []row{{counts{1000, 10}, 1e6}, {counts{1000, 40}, 1.3e6}}
	if got := leastSquares(rows); misses(rows, got) > 1e-12 || math.Abs(got[0]-900) > 1e-3 || math.Abs(got[1]-10_000) > 1e-2 {
		t.Errorf("costs %v miss by %v; want 900 and 10,000", got, misses(rows, got))
	}
}

func TestPatternsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		node bellows.NodeID
		at   time.Duration
		want float64
	}{
		{"constant:3:2", 2, 0, 3},
		{"constant:3:2", 3, 0, 1},
		{"rotating:4:1s", 2, 1500 * time.Millisecond, 4},
		{"rotating:4:1s", 2, 2500 * time.Millisecond, 1},
		{"persistent", 1, 0, 1.5},
	} {
		p, err := slowness(c.text, 8)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, _ := p(1, c.node, c.at); got != c.want {
			t.Errorf("%s: node %d is %v times slower at %v; want %v", c.text, c.node, got, c.at, c.want)
		}
	}
	for _, text := range []string{"worker:100ms:2", "disrupted:20s:3", "power:1s:4"} {
		if p, err := slowness(text, 8); err != nil || p == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if p, err := slowness("", 8); p != nil || err != nil {
		t.Errorf("no pattern is %v", err)
	}
}

func TestPatternsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"slow":           `there is no pattern "slow"`,
		"constant:3":     "a field is missing",
		"constant:x:1":   `"x" is not a number above 0`,
		"constant:3:0":   `"0" is not a number of nodes`,
		"rotating:2:1":   `"1" is not a time`,
		"rotating:2:-1s": `"-1s" is not a time`,
		"power:1s:1":     `"1" is not a number above 1`,
		"power:1s:NaN":   `"NaN" is not a number above 1`,
		"power:1s:4:5":   `"5" is one too many`,
		"persistent:2":   `"2" is one too many`,
	} {
		if _, err := slowness(text, 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", text, err, want)
		}
	}
}
