package choose

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"bellows/internal/require"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

// job returns figures of a job with so many clocks left.
func job(left int) *gauge.Figures {
	f := gaugetest.Uniform(gaugetest.Size{Nodes: 4, Splits: 4, Partitions: 4})
	f.Clocks.Expected = left
	return f
}

// about returns an interval around a value.
func about(v, spread float64) gauge.Interval {
	return gauge.Interval{Value: v, Low: v - spread, High: v + spread}
}

// TestStepWeighsGain: the lower end of the gain in the clocks that are left must exceed the upper end of the cost, and
// 3 %. An epoch has 10 clocks.
func TestStepWeighsGain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left    int
		now     Present
		then    Candidate
		change  bool
		because string
	}{
		"gain": {1000, Present{"a", about(10, 1), 20}, Candidate{"b", about(5, 1), about(10, 5)}, true,
			"an epoch takes 10 s and is expected to take 5 s; moving costs up to 15 s"},
		"same shape": {1000, Present{"a", about(10, 1), 20}, Candidate{"a", about(5, 1), about(0, 0)}, false,
			"no other shape is expected to be faster"},
		"too few clocks": {1000, Present{"a", about(10, 1), 19}, Candidate{"b", about(5, 1), about(10, 5)}, false,
			"measured for 19 clocks; it takes 1 more"},
		"uncertain": {1000, Present{"a", about(10, 3), 20}, Candidate{"b", about(5, 2), about(0, 0)}, false,
			"wins 0 s an epoch at least, which is not above 3 %"},
		"2 per cent": {100000, Present{"a", about(10, 0), 20}, Candidate{"b", about(9.8, 0), about(0, 0)}, false,
			"which is not above 3 %"},
		"dear": {1000, Present{"a", about(10, 1), 20}, Candidate{"b", about(5, 1), about(200, 101)}, false,
			"wins 300 s at least in the 100 epochs that are left, and moving costs up to 301 s"},
		"late": {10, Present{"a", about(10, 1), 20}, Candidate{"b", about(5, 1), about(2, 1)}, false,
			"wins 3 s at least in the 1 epochs that are left, and moving costs up to 3 s"},
	} {
		var m Memory
		v := m.Step(job(c.left), c.now, []Candidate{c.then})
		if v.Change != c.change || !strings.Contains(v.Reason, c.because) {
			t.Errorf("%s: %+v, want %t since %q", name, v, c.change, c.because)
		}
	}
	f := job(0)
	f.Clocks.Passed = 10 // so as many are left
	var m Memory
	if v := m.Step(f, Present{"a", about(10, 1), 20}, []Candidate{{"b", about(5, 1), about(2, 1)}}); v.Change {
		t.Errorf("as many clocks are left as have passed: %+v", v)
	}
}

// TestStepLeavesShapeThatDidNotHold: it returns to the best that it has measured, and does not try again.
func TestStepLeavesShapeThatDidNotHold(t *testing.T) {
	t.Parallel()
	var m Memory
	f, free := job(1000), about(0, 0)
	b, a := Candidate{"b", about(5, 1), free}, Candidate{"a", about(9, 1), free}
	for i, c := range []struct {
		now    Present
		list   []Candidate
		change bool
		reason string
	}{
		{Present{"a", about(10, 1), 20}, []Candidate{b}, true, "expected to take 5 s"},
		{Present{"b", about(15, 1), 5}, []Candidate{a}, false, "it takes 15 more"},
		{Present{"b", about(15, 1), 20}, []Candidate{a}, true, "5 s did not hold: an epoch takes 15 s; "},
		{Present{"a", about(10, 1), 20}, []Candidate{b}, false, "wins 0 s"},
		{Present{"a", about(90, 1), 90}, []Candidate{b}, false, "wins 0 s"},
	} {
		if v := m.Step(f, c.now, c.list); v.Change != c.change || !strings.Contains(v.Reason, c.reason) {
			t.Fatalf("step %d: %+v, want %t since %q", i, v, c.change, c.reason)
		}
	}
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var again Memory
	require.NoError(t, json.Unmarshal(text, &again))
	if !reflect.DeepEqual(again, m) {
		t.Errorf("%s is read as %+v", text, again)
	}
	f.Nodes[2].Item = gauge.Exactly(1e-3) // another world
	if v := m.Step(f, Present{"a", about(10, 1), 20}, []Candidate{b}); !v.Change {
		t.Errorf("figures that left their intervals: %+v", v)
	}
	f.Nodes = f.Nodes[:3]
	if m.Step(f, Present{"b", about(10, 1), 20}, nil); len(m.Tried) != 1 {
		t.Errorf("a node that left: %+v", m.Tried)
	}
}

// TestStepTriesEachShapeOnce: in one state of the world each shape is tried once at most, and changes end, whatever is
// predicted and measured, and whatever the cost.
func TestStepTriesEachShapeOnce(t *testing.T) {
	t.Parallel()
	changes := 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 6))
		shapes := 2 + rng.IntN(6)
		random := func() gauge.Interval {
			v := 1 + rng.Float64()*10
			low, high := rng.Float64()*rng.Float64(), rng.Float64()*rng.Float64()
			return gauge.Interval{Value: v, Low: v * (1 - low), High: v * (1 + high)}
		}
		var m Memory
		f := job(1 + rng.IntN(10000))
		at, moves, tried, measured := 0, 0, map[int]int{}, map[int]gauge.Interval{}
		other := false
		for round := range 200 {
			if rng.IntN(100) == 0 { // the world becomes another one
				f.Nodes[rng.IntN(4)].Item = gauge.Exactly(float64(1 + round))
				other = true
			}
			if rng.IntN(50) == 0 { // a death, or a person, makes another shape
				at, moves = rng.IntN(shapes), 0
			}
			now := Present{fmt.Sprint(at), random(), 10 + rng.IntN(40)}
			var list []Candidate
			for s := range shapes {
				if rng.IntN(3) > 0 {
					list = append(list, Candidate{fmt.Sprint(s), random(), about(rng.Float64(), 0)})
				}
			}
			_, known := measured[at]
			if other && known { // in another shape, figures might differ because of that
				clear(tried)
				clear(measured)
				moves, known = 0, false
			}
			other = other && !known && now.Clocks < gauge.ClocksLeast && len(measured) > 0
			if !known && now.Clocks >= gauge.ClocksLeast {
				measured[at] = now.Measured
			}
			v := m.Step(f, now, list)
			if !v.Change {
				continue
			}
			var to int
			_, _ = fmt.Sscan(list[v.To].Shape, &to)
			then, known := measured[to]
			if !known {
				tried[to]++
			}
			moves++
			switch {
			case to == at:
				t.Fatalf("seed %d: it changes to the shape that it has", seed)
			case known && then.High >= measured[at].Low:
				t.Fatalf("seed %d: it returns to a shape with %+v from one with %+v", seed, then, measured[at])
			case tried[to] > 1:
				t.Fatalf("seed %d: shape %d is tried %d times", seed, to, tried[to])
			case moves > 2*shapes:
				t.Fatalf("seed %d: %d changes between %d shapes", seed, moves, shapes)
			}
			at = to
			changes++
		}
	}
	if changes < 1000 {
		t.Errorf("only %d changes were made", changes)
	}
}

// TestShapesOwnFiguresMakeNoOtherWorld: figures that depend on the shape make no other world, so that a job does
// not change forth and back between two shapes with wrong predictions.
func TestShapesOwnFiguresMakeNoOtherWorld(t *testing.T) {
	t.Parallel()
	var m Memory
	at, changes := 0, 0
	for range 40 {
		f := job(1000)
		for i := range f.Nodes { // a node that works shows what others take, and one that serves does not
			if f.Nodes[i].Others = about(0.05, 0.01); i%3 == at {
				f.Nodes[i].Others = about(0.6, 0.05)
			}
			f.Nodes[i].Item = about(1e-3*float64(1+at), 1e-5)
		}
		var list []Candidate
		for s := range 3 {
			list = append(list, Candidate{fmt.Sprint(s), about(0.1, 0.01), about(0.1, 0)})
		}
		v := m.Step(f, Present{fmt.Sprint(at), about(float64(1+at), 0.01), gauge.ClocksLeast}, list)
		if v.Change {
			_, _ = fmt.Sscan(list[v.To].Shape, &at)
			changes++
		}
	}
	if at != 0 || changes > 3 {
		t.Errorf("%d changes, the last to shape %d", changes, at)
	}
	f := job(1000)
	for i := range f.Nodes {
		f.Nodes[i].Item = gauge.Exactly(1)
	}
	if m.Step(f, Present{"0", about(9, 0.01), gauge.ClocksLeast}, nil); len(m.Tried) != 1 {
		t.Errorf("other machines: %+v", m.Tried)
	}
}
