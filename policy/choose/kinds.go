package choose

import (
	"math"

	"bellows/policy/gauge"
)

// kindsMost is how many kinds of machines are counted apart. Numbers of workers are counted by kind.
const kindsMost = 4

// alikeMost is how much figures of machines of one kind may differ, whatever their intervals.
const alikeMost = 0.05

// kindsOf returns the places of nodes by kind of machine. Machines are of one kind if their measured figures may be the
// same. If there are more than kindsMost kinds, the closest ones are merged. The bound takes the best figures of a
// kind, so that it stays a bound.
func kindsOf(f *gauge.Figures, list []place, nodes []int) [][]int {
	var kinds [][]int
	distance := func(i, j int) float64 {
		if list[i].work != list[j].work || list[i].serve != list[j].serve {
			return math.Inf(1)
		}
		return distance(&f.Nodes[i], &f.Nodes[j])
	}
next:
	for _, i := range nodes {
		for k := range kinds {
			if distance(kinds[k][0], i) == 0 {
				kinds[k] = append(kinds[k], i)
				continue next
			}
		}
		kinds = append(kinds, []int{i})
	}
	for len(kinds) > kindsMost {
		a, b, least := 0, 1, math.Inf(1)
		for i := range kinds {
			for j := i + 1; j < len(kinds); j++ {
				if d := distance(kinds[i][0], kinds[j][0]); d < least {
					a, b, least = i, j, d
				}
			}
		}
		kinds[a] = append(kinds[a], kinds[b]...)
		kinds = append(kinds[:b], kinds[b+1:]...)
	}
	return kinds
}

// distance returns how far two machines are apart: the largest ratio of a figure, as a logarithm. It is 0 if they may
// be of one kind.
func distance(a, b *gauge.Node) float64 {
	most := 0.0
	add := func(v, w float64) {
		if v > 0 && w > 0 {
			most = max(most, math.Abs(math.Log(v/w)))
		} else if v != w {
			most = math.Inf(1)
		}
	}
	for _, figure := range figuresOf {
		v, w := figure(a), figure(b)
		if v.Low <= w.High && w.Low <= v.High || math.Abs(v.Value-w.Value) <= alikeMost*max(v.Value, w.Value) {
			continue
		}
		if figure(a) == &a.Others {
			add(1-v.Value, 1-w.Value)
		} else {
			add(v.Value, w.Value)
		}
	}
	if a.Slots != b.Slots || a.Lanes != b.Lanes {
		add(float64(a.Slots), float64(b.Slots))
		add(float64(a.Lanes), float64(b.Lanes))
	}
	return most
}
