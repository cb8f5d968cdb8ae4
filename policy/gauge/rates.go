package gauge

import (
	"math"

	"bellows/core/planted"
)

// direction of a node's link.
type direction int

// The directions.
const (
	in direction = iota
	out
)

// flow returns a direction of the link in a sample.
func (d *reading) flow(to direction) *flow {
	if to == in {
		return &d.in
	}
	return &d.out
}

// flows is what a direction of a node's link has carried.
type flows struct {
	rate  Interval // bytes a second while it was busy
	seen  bool     // rate was measured
	now   float64  // median rate in the present shape; 0: not measured
	busy  float64  // seconds of a clock
	bytes float64  // of a clock
	even  float64  // share of its busy time in which all of its flows were under way
}

// flows returns what a direction of the node's link has carried.
func (n *node) flows(to direction, shape int) flows {
	var all, present, busy, bytes, even []sample
	for i := range n.n {
		d := n.get(i)
		f := d.flow(to)
		if f.busy <= 0 || d.clocks <= 0 {
			continue
		}
		all = append(all, sample{f.bytes, f.busy, d.clocks})
		if d.shape == shape {
			present = append(present, sample{f.bytes, f.busy, d.clocks})
			busy = append(busy, sample{f.busy, d.clocks, d.clocks})
			bytes = append(bytes, sample{f.bytes, d.clocks, d.clocks})
			even = append(even, sample{f.even * f.busy, f.busy, d.clocks})
		}
	}
	var r flows
	r.rate, r.seen = medianOf(all)
	value := func(list []sample) float64 { v, _ := medianOf(list); return v.Value }
	r.now, r.busy, r.bytes, r.even = value(present), value(busy), value(bytes), value(even)
	return r
}

// Limits of what shows that a link was full. Each must hold.
const (
	longBusy   = 0.5     // of the time that the busiest link of the job is busy in a clock
	longFlows  = 0.75    // of its busy time in which its flows are under way: those of a full link share it
	slackEnds  = 0.75    // of what the other ends of its flows can carry, at most
	shortBusy  = 0.005   // seconds of a clock: less is latency
	shortBytes = 1 << 16 // of a clock
)

// links finds the rates of the links of nodes. A link shows no more than that it is no slower than what it carried,
// unless it was full. Which end of a flow is full is not visible at one end. The evidence is that all flows of a link
// are busy for as long as any link of the job, while their other ends are seen to carry more.
func (m *Meter) links(nodes []Node, of []estimate) {
	rates := make([][2]flows, len(m.nodes))
	longest := 0.0
	for i, n := range m.nodes {
		for to := range rates[i] {
			r := n.flows(direction(to), m.shape)
			rates[i][to], longest = r, max(longest, r.busy)
		}
	}
	carry := make([]Interval, len(nodes)) // what links of the kind were seen to carry, at most
	for i := range nodes {
		for j := range nodes {
			if i == j || sameKind(&nodes[i], &nodes[j], &of[i], &of[j]) {
				for to := range rates[j] {
					if r := &rates[j][to]; r.seen && r.rate.Value > carry[i].Value {
						carry[i] = r.rate
					}
				}
			}
		}
	}
	fallback := unseen(carry)
	for i, n := range m.nodes {
		for to, figure := range []*Interval{in: &nodes[i].In, out: &nodes[i].Out} {
			r := &rates[i][to]
			long := r.busy >= longBusy*longest && r.even >= longFlows && r.busy >= shortBusy && r.bytes >= shortBytes
			if long && m.slack(i, direction(to), rates, carry) <= slackEnds {
				n.full[to] = r.rate
			} else if r.now > n.full[to].High {
				n.full[to] = Interval{}
			}
			switch {
			case n.full[to].Value > 0:
				*figure = n.full[to]
			case planted.On("idle-link-as-slow") && r.seen:
				*figure = r.rate
			case carry[i].Value > 0:
				*figure = Interval{carry[i].Value, carry[i].Low, math.Inf(1)}
			default:
				*figure = fallback
			}
			*figure = figure.within(1, math.Inf(1))
		}
	}
}

// slack returns the share of what the other ends of a link's flows can carry that they carried, in the mean over bytes.
func (m *Meter) slack(i int, to direction, rates [][2]flows, carry []Interval) float64 {
	sum, all := 0.0, 0.0
	for j := range m.nodes {
		bytes := m.nodes[i].links[j].sum
		if to == in {
			bytes = m.nodes[j].links[i].sum
		}
		if other := &rates[j][out-to]; bytes > 0 && carry[j].Value > 0 {
			sum, all = sum+bytes*other.now/carry[j].Value, all+bytes
		}
	}
	if all == 0 {
		return 1
	}
	return sum / all
}

// rateUnseen is what a link is expected to carry if no link of the job has carried anything: 1 Gbit/s. It
// has no bounds.
const rateUnseen = 125e6

// unseen returns the rate of links of a kind that has carried nothing.
func unseen(carry []Interval) Interval {
	least := Interval{}
	for _, v := range carry {
		if v.Value > 0 && (least.Value == 0 || v.Value < least.Value) {
			least = v
		}
	}
	if least.Value == 0 {
		return Interval{rateUnseen, 1, math.Inf(1)}
	}
	return Interval{least.Value, 1, math.Inf(1)}
}
