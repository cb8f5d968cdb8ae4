package gauge

import (
	"fmt"
	"slices"

	"bellows/core/planted"
	"bellows/core/tally"
)

// estimate is the figures of a node that were measured.
type estimate struct {
	item, row, others        Interval
	works, serves, shares    bool     // item, row and others were measured
	delay                    Interval // share of the time of its ready threads in which they had no processor
	delays                   bool     // delay was measured
	pullWait, pushWait, held Interval
	idle                     float64 // seconds of a clock in which it waits for its commits and for others
	waits                    bool
	rows                     Interval // a clock, in the present shape
	applies                  bool
}

// list returns a figure of the samples of a node that satisfy a condition. per 0 leaves a sample out.
func (n *node) list(keep []bool, amount func(*reading) (amount, per float64)) []sample {
	var list []sample
	for i := range n.n {
		d := n.get(i)
		if a, per := amount(d); keep[i] && per > 0 {
			list = append(list, sample{a, per, d.clocks})
		}
	}
	return list
}

// judgedClocks is how many clocks are judged together, but for rounding. A sample of less begins and ends in the midst
// of tasks: their items count in the next one.
const judgedClocks = 0.99

// usual returns which samples count: not those while the node was slow for a few clocks.
func (n *node) usual() []bool {
	var list []sample
	var of [][]int // the samples of each
	for i := range n.n {
		d := n.get(i)
		if d.items <= 0 {
			continue
		}
		if last := len(list) - 1; last < 0 || list[last].clocks >= judgedClocks {
			list, of = append(list, sample{}), append(of, nil)
		}
		s := &list[len(list)-1]
		s.amount, s.per, s.clocks = s.amount+d.spent[tally.Compute], s.per+d.items, s.clocks+d.clocks
		of[len(of)-1] = append(of[len(of)-1], i)
	}
	keep := slices.Repeat([]bool{true}, n.n)
	for i, k := range steady(list) {
		for _, at := range of[i] {
			keep[at] = k
		}
	}
	return keep
}

// ownShare returns the share of the processor that the node had in a sample. A task that waits for a disk uses no
// processor, and yet others take nothing from it: where the system tells how long threads had no processor, others took
// no more than that. Threads besides those of tasks were delayed too, so that others took no larger share than of all
// threads.
func (d *reading) ownShare() float64 {
	wall := d.spent[tally.Compute] + d.serving
	switch {
	case d.cpu == 0 && !d.delays || wall == 0 || planted.On("wall-as-processor"):
		return 1
	case d.delays && d.delayed <= 0:
		return 1
	case d.delays:
		return max(1-d.delayed/wall, d.cpu/(d.cpu+d.delayed))
	}
	return min(1, d.cpu/wall)
}

// estimate returns the figures of a node.
func (n *node) estimate(shape int) estimate {
	var e estimate
	keep := n.usual()
	of := func(amount func(*reading) (float64, float64)) (Interval, bool) { return medianOf(n.list(keep, amount)) }
	present := func(amount func(*reading) (float64, float64)) (Interval, bool) {
		return of(func(d *reading) (float64, float64) {
			if d.shape != shape {
				return 0, 0
			}
			return amount(d)
		})
	}
	e.item, e.works = of(func(d *reading) (float64, float64) {
		busy := d.spent[tally.Compute]
		if planted.On("wait-as-compute") {
			busy += d.spent[tally.PullWait] + d.spent[tally.PushWait] + d.spent[tally.CommitWait]
		}
		return d.ownShare() * busy, d.items
	})
	e.row, e.serves = of(func(d *reading) (float64, float64) { return d.ownShare() * d.serving, d.rows })
	e.others, e.shares = of(func(d *reading) (float64, float64) {
		wall := d.spent[tally.Compute] + d.serving
		return (1 - d.ownShare()) * wall, wall
	})
	e.others = Interval{e.others.Value, e.others.Low - resolution, e.others.High + resolution}.within(0, othersMost)
	e.delay, e.delays = of(func(d *reading) (float64, float64) {
		if !d.delays {
			return 0, 0
		}
		return d.delayed, d.cpu + d.delayed
	})
	e.rows, e.applies = present(func(d *reading) (float64, float64) { return d.rows, d.clocks })
	wait := func(p tally.Phase) Interval {
		v, enough := present(func(d *reading) (float64, float64) { return d.spent[p], d.slots * d.clocks })
		e.waits = enough
		return v
	}
	e.pullWait, e.pushWait, e.held = wait(tally.PullWait), wait(tally.PushWait), wait(tally.CommitWait)
	e.idle = wait(tally.Idle).Value + e.held.Value
	return e
}

// othersMost is the largest share of others that figures may have.
const othersMost = 0.99

// sameKind reports whether two nodes may be machines of a kind: they have as many cores, and need as long for an item
// or a row, if both have shown how long.
func sameKind(a, b *Node, x, y *estimate) bool {
	const close = 0.1
	same := func(v, w Interval) bool { return v.Low*(1-close) <= w.High && w.Low*(1-close) <= v.High }
	return a.Slots == b.Slots && a.Lanes == b.Lanes &&
		(!x.works || !y.works || same(x.item, y.item)) && (!x.serves || !y.serves || same(x.row, y.row))
}

// comparable reports whether both nodes have shown how long they need for the same.
func comparable(x, y *estimate) bool { return x.works && y.works || x.serves && y.serves }

// fill sets the figures of the nodes' processors. A node that has not shown a figure has that of nodes of its kind, or
// else of all.
func fill(nodes []Node, of []estimate) {
	for _, figure := range []struct {
		to    func(*Node) *Interval
		value func(*estimate) (Interval, bool)
	}{
		{func(n *Node) *Interval { return &n.Item }, func(e *estimate) (Interval, bool) { return e.item, e.works }},
		{func(n *Node) *Interval { return &n.Row }, func(e *estimate) (Interval, bool) { return e.row, e.serves }},
		{func(n *Node) *Interval { return &n.Others },
			func(e *estimate) (Interval, bool) { return e.others, e.shares }},
	} {
		for i := range nodes {
			if v, known := figure.value(&of[i]); known {
				*figure.to(&nodes[i]) = v
				continue
			}
			var kind, all []Interval
			for j := range of {
				if v, known := figure.value(&of[j]); known && sameKind(&nodes[i], &nodes[j], &of[i], &of[j]) {
					kind = append(kind, v)
				} else if known {
					all = append(all, v)
				}
			}
			if len(kind) == 0 {
				kind = all
			}
			if len(kind) > 0 {
				*figure.to(&nodes[i]) = joined(kind)
			}
		}
	}
}

// suspended sets what others take of nodes without tasks, where tasks wait for something else than processors. Threads
// of a server are ready or idle, and others may take most of the time in which they are ready; of the time of a task
// they would take no larger part than at workers.
func suspended(nodes []Node, of []estimate) {
	var parts []float64
	for i := range of {
		if e := &of[i]; e.works && e.shares && e.delays && e.delay.Value > resolution {
			parts = append(parts, min(1, e.others.Value/e.delay.Value))
		}
	}
	if len(parts) == 0 {
		return
	}
	part := median(parts).Value
	for i := range nodes {
		if e := &of[i]; !e.works && e.shares && e.delays {
			nodes[i].Others = nodes[i].Others.scaled(part)
		}
	}
}

// few returns the error of too few clocks.
func few(measured, more int) error {
	return fmt.Errorf("%d clocks were measured, which is too few; it takes %d clocks more", measured, more)
}
