// Package gaugetest makes figures of jobs for tests.
package gaugetest

import (
	"math/rand/v2"

	"bellows"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// Size says how large a job is.
type Size struct{ Nodes, Splits, Partitions int }

// Uniform returns a job on machines that are alike, each able to work and to serve: half of them work. Its figures are
// exact, a node pulls the whole model whatever its splits, and pushes are hidden, as in Cruise.
func Uniform(s Size) *gauge.Figures {
	f := &gauge.Figures{
		Items: int64(10000 * s.Splits), Clocks: gauge.Clocks{Epoch: 10, Measured: 40, Passed: 43},
		Tables: []int{s.Partitions},
		Traffic: []gauge.Traffic{
			{Splits: 1, Pulled: gauge.Exactly(1e6), Pushed: gauge.Exactly(1e6), Rows: gauge.Exactly(0)},
			{Splits: 2, Pulled: gauge.Exactly(1e6), Pushed: gauge.Exactly(1e6), Rows: gauge.Exactly(0)},
		},
		Hidden: gauge.Hidden{Pushed: gauge.Exactly(1), Applied: gauge.Exactly(1)},
	}
	workers := max(1, s.Nodes/2)
	for i := range s.Nodes {
		f.Nodes = append(f.Nodes, gauge.Node{
			ID: bellows.NodeID(i), Works: i < workers, Serves: i >= workers || s.Nodes == 1, Slots: 1, Lanes: 1,
			Item: gauge.Exactly(1e-5), Row: gauge.Exactly(1e-6), In: gauge.Exactly(1e8), Out: gauge.Exactly(1e8),
		})
	}
	for i := range s.Splits {
		f.Splits = append(f.Splits, gauge.Split{Node: bellows.NodeID(i % workers), Bytes: 1000})
	}
	for i := range s.Partitions {
		at := workers + i%max(1, s.Nodes-workers)
		f.Partitions = append(f.Partitions, gauge.Partition{Node: bellows.NodeID(min(at, s.Nodes-1)), Bytes: 1 << 16})
	}
	return f
}

// Random returns a job with random figures on machines of so many kinds.
func Random(rng *rand.Rand, s Size, kinds int) *gauge.Figures {
	f := Uniform(s)
	around := func(v, spread float64) gauge.Interval {
		v *= 1 + spread*rng.Float64()
		return gauge.Interval{Value: v, Low: v * (1 - 0.1*rng.Float64()), High: v * (1 + 0.1*rng.Float64())}
	}
	share := func() gauge.Interval {
		v := rng.Float64()
		return gauge.Interval{Value: v, Low: v * rng.Float64(), High: v + (1-v)*rng.Float64()}
	}
	f.Hidden = gauge.Hidden{Pulled: share(), Pushed: share(), Applied: share()}
	more := 1 + rng.Float64() // what the traffic grows to when a node has twice the splits
	f.Traffic = f.Traffic[:0]
	pulled, pushed, rows := around(1e6, 3), around(1e6, 3), around(1000, 9)
	for i := range 2 {
		f.Traffic = append(f.Traffic, gauge.Traffic{Splits: 1 + i, Pulled: pulled, Pushed: pushed, Rows: rows})
		for _, v := range []*gauge.Interval{&pulled, &pushed, &rows} {
			*v = gauge.Interval{Value: v.Value * more, Low: v.Low * more, High: v.High * more}
		}
	}
	of := make([]gauge.Node, kinds)
	for i := range of {
		of[i] = gauge.Node{
			Slots: 1 + rng.IntN(2), Lanes: 1 + rng.IntN(2), Item: around(5e-6, 5), Row: around(1e-6, 9),
			Others: around(0.1, 3), In: around(5e7, 5), Out: around(5e7, 5),
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		kind := of[rng.IntN(kinds)]
		kind.ID, kind.Works, kind.Serves = n.ID, n.Works, n.Serves
		*n = kind
	}
	return f
}

// Deal deals the parts of a job evenly to so many workers, and to the other nodes as servers.
func Deal(f *gauge.Figures, workers int) (shape.Shape, error) {
	var nodes []shape.Node
	for i := range f.Nodes {
		n := shape.Node{ID: f.Nodes[i].ID}
		if i < workers {
			n.Slots = f.Nodes[i].Slots
		} else {
			n.Lanes = f.Nodes[i].Lanes
		}
		nodes = append(nodes, n)
	}
	d, err := shape.Deal(shape.Snapshot{Job: f.Job(), Shape: f.Shape()}, nodes)
	return d.Shape, err
}
