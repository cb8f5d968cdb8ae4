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

// flow returns a direction of the link in a reading.
func (d *reading) flow(to direction) *flow {
	if to == in {
		return &d.in
	}
	return &d.out
}

// end is what a direction of a node's link has carried in the present shape.
type end struct {
	rate    Interval // bytes a second while it was busy; 0: unknown
	all     flow     // over all of its flows, with the time of the longest
	times   float64  // seconds of all of its flows
	even    float64  // share of the longest time in which its flows were under way, in the mean over bytes
	busy    float64  // seconds of a clock
	bytes   float64  // of a clock
	slower  float64  // bytes of flows that are slower than the others at their other end
	weighed float64  // bytes of flows that share their other end
}

// link returns the flows from a node to another one, in a direction as seen from the first.
func (m *Meter) link(i, j int, to direction) *flow {
	if to == in {
		i, j = j, i
	}
	return &m.nodes[i].links[j].sum
}

// ends returns what the links of all nodes have carried.
func (m *Meter) ends() [][2]end {
	all := make([][2]end, len(m.nodes))
	for i := range all {
		for to := range all[i] {
			e := &all[i][to]
			for j := range m.nodes {
				if f := m.link(i, j, direction(to)); f.busy > 0 {
					e.all.bytes, e.all.busy = e.all.bytes+f.bytes, max(e.all.busy, f.busy)
					e.times, e.even = e.times+f.busy, e.even+f.bytes*f.busy
				}
			}
			if e.all.busy > 0 {
				e.even /= e.all.bytes * e.all.busy
			}
			m.nodes[i].rate(e, direction(to), m.shape)
		}
	}
	for i := range all {
		for to := range all[i] {
			e := &all[i][to]
			for j := range m.nodes {
				f, other := m.link(i, j, direction(to)), &all[j][out-direction(to)]
				rest := flow{other.all.bytes - f.bytes, other.times - f.busy}
				if f.busy > 0 && rest.bytes > 0 && rest.busy > 0 {
					if e.weighed += f.bytes; f.rate() <= slowFlow*rest.rate() {
						e.slower += f.bytes
					}
				}
			}
		}
	}
	return all
}

// rate sets the rate of an end. Samples of one node give its bounds. Those of received bytes are sums of what several
// nodes have sent in times that differ a little, which makes a rate too small: its value is that of all samples.
//
// A system counts busy times in ticks, which are right on average: a short one is 0 now and then. The bytes of a sample
// without a busy time belong to the next one that has one.
func (n *node) rate(e *end, to direction, shape int) {
	var rates, busy, bytes []sample
	var short sample
	for i := range n.n {
		d := n.get(i)
		f := d.flow(to)
		if d.shape != shape || f.bytes <= 0 || d.clocks <= 0 {
			continue
		}
		bytes = append(bytes, sample{f.bytes, d.clocks, d.clocks})
		busy = append(busy, sample{f.busy, d.clocks, d.clocks})
		short.amount, short.clocks = short.amount+f.bytes, short.clocks+d.clocks
		if f.busy > 0 {
			rates = append(rates, sample{short.amount, f.busy, short.clocks})
			short = sample{}
		}
	}
	value := func(list []sample) float64 { v, _ := medianOf(list); return v.Value }
	e.bytes, e.busy = value(bytes), value(busy)
	rate, enough := medianOf(rates)
	if !enough || e.all.busy == 0 {
		return
	}
	if to == in {
		rate = rate.scaled(e.all.rate() / rate.Value)
	}
	e.rate = rate
}

// Limits of what shows that a link was full. A flow is slowed by one of its two ends, and neither sees which. It is
// this one if all of its flows are under way for as long as any of the job. They are also slower than other flows at
// their other ends, or these ends have carried more in another shape. In that case both ends may seem to be full,
// as the link of a single worker and those of its servers. Then none is, unless it is nearer than others to what it can
// carry.
const (
	longBusy   = 0.5     // of the time that the busiest link of the job is busy in a clock, at least
	longFlows  = 0.75    // of its busy time in which its flows are under way: those of a full link share it
	slowFlow   = 0.6     // of the rate of other flows, at most
	slowShare  = 0.75    // of its bytes are in such flows, at least
	slackEnds  = 0.75    // of what other ends are known to carry is what they carried, at most
	nearEnd    = 1.25    // times as near as other ends to what is known to be carried: else these may be full instead
	shortBusy  = 0.005   // seconds of a clock: less is latency
	shortBytes = 1 << 16 // of a clock
)

// full reports whether a direction of a node's link limits its flows.
func (m *Meter) full(i int, to direction, ends [][2]end, known []Interval, longest float64) bool {
	e := &ends[i][to]
	if e.busy < max(shortBusy, longBusy*longest) || e.bytes < shortBytes || e.even < longFlows {
		return false
	}
	if e.weighed >= slowShare*e.all.bytes && e.slower >= slowShare*e.all.bytes {
		return true
	}
	carried, bytes := 0.0, 0.0
	for j := range m.nodes {
		if f := m.link(i, j, to); f.busy > 0 && known[j].Value > 0 {
			carried, bytes = carried+f.bytes*ends[j][out-to].rate.Value/known[j].Value, bytes+f.bytes
		}
	}
	return bytes > 0 && carried <= slackEnds*bytes && e.rate.Value*bytes >= nearEnd*known[i].Value*carried
}

// links finds the rates of the links of nodes. A link shows no more than that it is no slower than what it carried,
// unless it was full. Until then it is taken to carry, both ways, what any link of a machine of its kind has carried.
// A budget limits what links carry without filling them. A link that was never seen to be busy carries in a clock what
// it did carry, at least.
func (m *Meter) links(nodes []Node, of []estimate, budget, clock float64) {
	ends := m.ends()
	passed := make([]float64, len(nodes)) // bytes a second of whole clocks
	known := make([]Interval, len(nodes)) // that the link of a node has carried, and links of nodes known to be alike
	carry := make([]Interval, len(nodes)) // and links of nodes that may be alike
	longest := 0.0
	for i := range nodes {
		for _, e := range ends[i] {
			longest = max(longest, e.busy)
		}
	}
	for i := range nodes {
		for j := range nodes {
			if i != j && !sameKind(&nodes[i], &nodes[j], &of[i], &of[j]) {
				continue
			}
			if clock > 0 {
				passed[i] = max(passed[i], ends[j][in].bytes/clock, ends[j][out].bytes/clock)
			}
			for _, v := range []Interval{m.nodes[j].best, ends[j][in].rate, ends[j][out].rate} {
				carry[i] = faster(carry[i], v)
				if i == j || comparable(&of[i], &of[j]) {
					known[i] = faster(known[i], v)
				}
			}
		}
	}
	fallback := unseen(carry)
	for i, n := range m.nodes {
		for to, figure := range []*Interval{in: &nodes[i].In, out: &nodes[i].Out} {
			e := &ends[i][to]
			free := budget == 0 || e.rate.Value < 0.9*budget
			if free && m.full(i, direction(to), ends, known, longest) {
				n.full[to] = e.rate
				n.full[to].High /= e.even // as if its flows had the link to themselves for all of the time
			} else if e.rate.Value > n.full[to].High {
				n.full[to] = Interval{}
			}
			switch {
			case n.full[to].Value > 0:
				*figure = n.full[to]
			case planted.On("idle-link-as-slow") && e.rate.Value > 0:
				*figure = e.rate
			case carry[i].Value > 0:
				*figure = Interval{carry[i].Value, carry[i].Low, math.Inf(1)}
			default:
				*figure = Interval{
					max(fallback.Value, passed[i]), max(fallback.Low, passed[i]), math.Inf(1),
				}
			}
			*figure = figure.within(1, math.Inf(1))
		}
	}
}

// faster returns the larger of two rates.
func faster(a, b Interval) Interval {
	if b.Value > a.Value {
		return b
	}
	return a
}

// rateUnseen is what a link is expected to carry if no link of the job has carried anything: 1 Gbit/s. It has no
// bounds.
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

// remember keeps what the links have carried in the present shape, before another one follows.
func (m *Meter) remember() {
	for i, e := range m.ends() {
		n := m.nodes[i]
		n.best = faster(n.best, faster(e[in].rate, e[out].rate))
	}
}
