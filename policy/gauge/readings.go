package gauge

import (
	"time"

	"bellows"
	"bellows/core/planted"
	"bellows/core/tally"
)

// readingsKept is the number of samples of a node that are kept. Each is of one clock at least.
const readingsKept = 64

// reading is what a node has counted between two reports, in clocks that count.
type reading struct {
	clock   int     // the last one
	clocks  float64 // by the items that were visited, or by those that have passed
	shape   int     // number of the shape
	splits  int
	slots   float64
	spent   [tally.Phases]float64 // seconds of slots
	items   float64
	rows    float64
	serving float64 // seconds
	cpu     float64 // seconds of the processor; 0: unknown
	delayed float64 // seconds in which threads had no processor
	delays  bool    // delayed is known
	// pulled and pushed are what it would have moved if it held no partition.
	pulled, pushed float64
	moved          bool // pulled and pushed are known
	out, in        flow
}

// flow is bytes on links in one direction, and the time in which the longest of them was busy.
type flow struct{ bytes, busy float64 }

// node is what is known of a node.
type node struct {
	id       bellows.NodeID
	heard    bool
	fresh    bool // a report has come in the present clock
	millis   int64
	spare    int64
	span     int // in which base was set
	count    int // clocks that counted before base
	last     tally.Tally
	base     tally.Tally
	links    []link // by place of the receiver
	aged     int    // samples since their sums were halved
	in       []load // by place of the sender, since the last sample
	readings [readingsKept]reading
	first    int
	n        int
	full     [2]Interval // rates of its link in each direction while it was full; 0: it was not
	best     Interval    // the largest rate of its link in former shapes, whatever the direction
}

// link is what a node has sent to another one.
type link struct {
	last, base load
	sum        flow // of samples in the present shape; the older ones count for less
}

// load is bytes, and the time in which they waited or were on their way.
type load struct {
	bytes int64
	busy  time.Duration
}

// report takes a report.
func (n *node) report(r *Report, p *present) bool {
	if n.heard && r.Millis <= n.millis && !planted.On("old-report-newer") {
		return false
	}
	if n.heard && (r.Tally.Work.Items < n.last.Work.Items || r.Tally.Spent.Total() < n.last.Spent.Total()) {
		n.span = -1 // another process counts from 0
	}
	n.heard, n.millis, n.spare, n.last = true, r.Millis, r.Spare, r.Tally
	at := 0
	for i := range r.Links {
		l := &r.Links[i]
		if at >= len(p.places) || p.places[at].id != bellows.NodeID(l.To) {
			at = p.find(bellows.NodeID(l.To))
		}
		if at < 0 {
			at = 0
			continue
		}
		n.links[at].last = load{l.Bytes, l.Busy}
		at++
	}
	return true
}

// add keeps a sample.
func (n *node) add() *reading {
	if n.n == readingsKept {
		n.first, n.n = (n.first+1)%readingsKept, n.n-1
	}
	d := &n.readings[(n.first+n.n)%readingsKept]
	n.n++
	*d = reading{}
	return d
}

// get returns a sample by its age, the oldest first.
func (n *node) get(i int) *reading { return &n.readings[(n.first+i)%readingsKept] }

// void removes samples of clocks from a number on.
func (n *node) void(clock int) {
	for n.n > 0 && n.get(n.n-1).clock >= clock {
		n.n--
	}
}

// settle makes the last report the base of the next sample.
func (n *node) settle(span, count int) {
	n.base, n.span, n.count = n.last, span, count
	for i := range n.links {
		n.links[i].base, n.in[i] = n.links[i].last, load{}
	}
}

// sample makes a sample of the last report and its base, when so many clocks have counted.
func (n *node) sample(p *place, now *present, counted int) {
	d := n.add()
	spent := n.last.Spent.Since(&n.base.Spent)
	for i := range spent {
		d.spent[i] = spent[i].Seconds()
	}
	work, before := &n.last.Work, &n.base.Work
	d.items, d.rows = float64(work.Items-before.Items), float64(work.Rows-before.Rows)
	d.serving, d.cpu = (work.Serving - before.Serving).Seconds(), (work.Processor - before.Processor).Seconds()
	d.delayed, d.delays = (work.Delayed - before.Delayed).Seconds(), work.Delayed > 0
	d.splits, d.slots = p.splits, float64(p.slots)
	if d.clocks = float64(counted - n.count); p.splits > 0 && now.work > 0 {
		d.clocks = d.items / (now.work * float64(p.splits))
	}
}

// traffic adds what the node has pulled and pushed, given the clocks.
func (n *node) traffic(d *reading, p *place) {
	if d.splits == 0 || p.own > ownMost {
		return
	}
	of := func(last, base *tally.Traffic, class tally.Class) float64 {
		return float64(last[class].Since(base[class]).Bytes)
	}
	leases := 1.0
	if p.serves { // Half of the partitions that it receives are lent by it and come back.
		leases = 0.5
	}
	last, base := &n.last, &n.base
	borrowed := float64(p.borrowed) * d.clocks
	pulled := of(&last.Received, &base.Received, tally.Rows) + leases*of(&last.Received, &base.Received, tally.Leases)
	pushed := of(&last.Sent, &base.Sent, tally.Pushes) + leases*of(&last.Sent, &base.Sent, tally.Leases)
	d.pulled, d.pushed = max(0, pulled-borrowed)/(1-p.own), max(0, pushed-borrowed)/(1-p.own)
	d.moved = true
}

// ownMost is the largest share of the partitions that a node may hold, if its traffic is to tell what it would be
// without them.
const ownMost = 0.95

// send adds what the node has sent to a sample, and to what the receivers have received.
func (n *node) send(d *reading, self int, nodes []*node) {
	for to := range n.links {
		l := &n.links[to]
		sent := load{l.last.bytes - l.base.bytes, l.last.busy - l.base.busy}
		if sent.bytes <= 0 {
			continue
		}
		d.out.add(sent)
		l.sum.bytes, l.sum.busy = l.sum.bytes+float64(sent.bytes), l.sum.busy+sent.busy.Seconds()
		got := &nodes[to].in[self]
		got.bytes, got.busy = got.bytes+sent.bytes, got.busy+sent.busy
	}
	if n.aged++; n.aged == readingsKept {
		n.aged = 0
		for i := range n.links {
			l := &n.links[i].sum
			l.bytes, l.busy = l.bytes/2, l.busy/2
		}
	}
}

// receive adds what the node has received to a sample.
func (n *node) receive(d *reading) {
	for from := range n.in {
		if l := &n.in[from]; l.bytes > 0 {
			d.in.add(*l)
		}
	}
}

// add adds a link of a node.
func (f *flow) add(l load) {
	f.bytes, f.busy = f.bytes+float64(l.bytes), max(f.busy, l.busy.Seconds())
}

// rate returns bytes a second, or 0.
func (f *flow) rate() float64 {
	if f.busy <= 0 {
		return 0
	}
	return f.bytes / f.busy
}
