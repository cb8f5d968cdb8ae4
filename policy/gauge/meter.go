package gauge

import (
	"slices"
	"time"

	"bellows"
	"bellows/core/planted"
	"bellows/core/tally"
)

// Report is what a node has counted since the job began.
type Report struct {
	Node   bellows.NodeID
	Millis int64 // when it was made, by the node's own clock
	// Tally has the processor time of the node's process. It is 0 if the process hosts several nodes.
	Tally tally.Tally
	Links []tally.Link // that it sends on
	Spare int64        // bytes of memory that its process may still use; 0: unknown
}

// Event is something that happens to a job, and takes time that its shape does not explain.
type Event uint8

// The events.
const (
	Move     Event = iota // of a split or a partition
	Cut                   // for a checkpoint
	Rollback              // to a checkpoint: measurements after it are void
	Help                  // of a node for a slower one
	events
)

// Change is what a finished change of shape has moved.
type Change struct {
	Bytes int64
	Steps int
}

// Times are the seconds of a clock that a cost model gives a node of the present shape.
type Times struct {
	Node                       bellows.NodeID
	Works                      bool
	Compute, Pull, Push, Apply float64 // of a worker, if nothing is hidden
	Busy                       float64 // of its processors or of a direction of its link, the longest
}

// Model returns the times of each node in the present shape of some figures. The shares that Hidden says are left out.
type Model func(*Figures) []Times

// warmUp is the number of clocks at the beginning that do not count: caches and connections are cold.
const warmUp = 3

// Meter makes figures of a job's reports (Cruise, §IV.A.1): moving medians with bounds.
//
// The caller's duties:
//
//  1. It calls Shape before the first clock, and whenever splits, partitions or nodes have changed. Reports of nodes
//     that are not part of the shape are ignored.
//  2. It passes each report to Report and each completed clock to Clock, in the order in which it learns of them. The
//     report of a node precedes the clock that the node has completed with it.
//  3. It calls Begin and End around each event. Events of different kinds, and several of a kind, may overlap.
//  4. A change of shape lies between Begin(Move) and End(Move). Before its end it calls Shape, then Reshaped.
//
// A clock does not count if it is one of the first, or if an event lasts for any part of it. A clock with a number that
// was there before follows a rollback: measurements of that clock and of later ones are void. Figures of machines and
// traffic outlive a change of shape; times of clocks do not. Memory is bounded by the nodes and their links. A step
// allocates nothing, unless the shape changes.
type Meter struct {
	model   Model
	now     present
	shape   int // number of the present shape
	laps    laps
	nodes   []*node // by place
	fresh   []int   // places of those with a report in the present clock
	active  [events]int
	dirty   bool // an event has lasted during the present clock
	last    int  // number of the last clock
	began   bool // last is set
	passed  int  // clocks since the job began
	counted int  // those that count, and are not void
	at      time.Duration
	span    int // increases with each clock that does not count
	moving  moving
	found   findings
}

// NewMeter returns a meter of a job that begins. The model is that by which other shapes are predicted.
func NewMeter(m Model) *Meter { return &Meter{model: m} }

// Begin notes that an event begins. It lasts until as many calls of End.
func (m *Meter) Begin(e Event) {
	if e == Move {
		m.moving.begin(m)
	}
	if e == Move && planted.On("move-counted") || e == Help && planted.On("helped-as-speed") {
		return
	}
	m.active[e]++
	m.dirty = true
}

// End notes that an event is over.
func (m *Meter) End(e Event) { m.active[e] = max(0, m.active[e]-1) }

// Clock notes that all splits have completed a clock, and when.
func (m *Meter) Clock(now time.Duration, clock int) {
	if m.began && clock <= m.last {
		m.void(clock)
		m.dirty = true
	}
	steps := 1
	if m.began {
		steps = max(1, clock-m.last)
	}
	warm := m.passed >= warmUp || planted.On("warm-up-counted")
	if m.began && warm && !m.dirty {
		m.laps.add(clock, steps, (now - m.at).Seconds())
		m.counted += steps
		m.moving.end()
		m.sample(clock)
	} else {
		if m.began {
			m.moving.add(now-m.at, steps)
		}
		m.span++
		for _, i := range m.fresh {
			m.nodes[i].fresh = false
		}
		m.fresh = m.fresh[:0]
	}
	m.began, m.last, m.at = true, clock, now
	m.passed += steps
	m.dirty = m.active != [events]int{}
}

// sample makes samples of the nodes that have reported in a clock that counts. The first report after a clock that does
// not count is only the base of a sample. A worker without a finished task since its base waits for its next report.
func (m *Meter) sample(clock int) {
	ready := m.fresh[:0]
	for _, i := range m.fresh {
		n, p := m.nodes[i], &m.now.places[i]
		n.fresh = false
		if n.span != m.span {
			n.settle(m.span, m.counted)
		} else if p.splits == 0 || n.last.Work.Items > n.base.Work.Items {
			n.sample(p, &m.now, m.counted)
			d := n.get(n.n - 1)
			d.clock, d.shape = clock, m.shape
			n.traffic(d, p)
			n.send(d, i, m.nodes)
			ready = append(ready, i)
		}
	}
	for _, i := range ready {
		n := m.nodes[i]
		n.receive(n.get(n.n - 1))
		n.settle(m.span, m.counted)
	}
	m.fresh = m.fresh[:0]
}

// void removes measurements of clocks from a number on.
func (m *Meter) void(clock int) {
	m.counted -= m.laps.void(clock)
	for _, n := range m.nodes {
		n.void(clock)
	}
	m.passed = max(0, m.passed-(m.last-clock+1))
	m.moving.void()
}

// Report takes the report of a node. A report that is older than the last one of the node is ignored. The report may be
// reused after the call.
func (m *Meter) Report(r *Report) {
	i := m.now.find(r.Node)
	if i < 0 || !m.nodes[i].report(r, &m.now) || m.nodes[i].fresh {
		return
	}
	m.nodes[i].fresh = true
	m.fresh = append(m.fresh, i)
}

// Shape notes the present shape. It reads items, clocks of an epoch, nodes with their roles, splits and partitions of
// the figures, and keeps nothing of them. If the shape has changed, times of clocks begin anew. A node that is not
// among the nodes is forgotten.
func (m *Meter) Shape(f *Figures) {
	next := presentOf(f)
	if next.same(&m.now) {
		return
	}
	m.keep()
	nodes := make([]*node, len(next.places))
	for i := range nodes {
		if at := m.now.find(next.places[i].id); at >= 0 {
			nodes[i] = m.nodes[at]
		} else {
			nodes[i] = &node{id: next.places[i].id}
		}
		n := nodes[i]
		n.fresh, n.span = false, -1
		n.aged = 0
		n.links, n.in = make([]link, len(nodes)), make([]load, len(nodes))
	}
	m.now, m.nodes = next, nodes
	m.fresh = slices.Grow(m.fresh[:0], len(nodes))
	m.laps.clear()
	m.shape++
	m.dirty = true
}

// Reshaped notes that a change of shape is over, and what it has moved.
func (m *Meter) Reshaped(c Change) { m.moving.change, m.moving.over = c, true }

// Epoch returns the measured seconds of an epoch of so many clocks in the present shape, and the clocks on which they
// rest. It returns no seconds if there are too few clocks.
func (m *Meter) Epoch(clocks int) (Interval, int) {
	v, n := m.laps.median(m.now.epoch)
	return v.scaled(float64(clocks)), n
}
