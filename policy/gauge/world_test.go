package gauge_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// noise says what else happens to a played job.
type noise struct {
	jitter   float64 // of computing, about its median
	work     float64 // of processor time and bytes, about their median
	outliers float64 // share of clocks in which a node needs three times as long
	lane     float64 // share of clocks in which a report is made in the midst
	late     float64 // share of reports that come a clock late
	twice    float64 // share of reports that come again, then or much later
	event    float64 // share of clocks in which an event begins
}

var noisy = noise{jitter: 0.03, work: 0.02, outliers: 0.02, lane: 0.1, late: 0.03, twice: 0.05, event: 0.02}

// world plays a job with true figures, and tells a meter of it.
type world struct {
	rng    *rand.Rand
	truth  *gauge.Figures
	noise  noise
	meter  *gauge.Meter
	now    time.Duration
	clock  int
	nodes  map[bellows.NodeID]*played
	former []gauge.Report             // that come again
	after  []gauge.Report             // that come late
	again  float64                    // share of reports that come again at once, with those before
	bsp    bool                       // other nodes are waited for as commits
	stride int                        // clocks that complete together; 0: one
	silent bool                       // nodes do not know processor times
	sleeps bool                       // tasks sleep: nodes use little processor time, and know their delays
	unseen int                        // 1: nodes do not know busy times; more: once in so many clocks
	last   float64                    // seconds of the last clock
	slow   map[bellows.NodeID]float64 // how many times as long a node computes
	took   []float64                  // seconds of clocks without an event
}

// played is the counters of a node.
type played struct {
	report   gauge.Report
	sent     time.Duration
	items    float64
	rows     float64
	serving  float64
	cpu      float64
	spent    [tally.Phases]float64
	received [tally.Classes]float64
	pushed   [tally.Classes]float64
	links    map[bellows.NodeID]*[3]float64 // bytes, busy seconds, and those that it knows of
}

func newWorld(rng *rand.Rand, truth *gauge.Figures, n noise) *world {
	w := &world{rng: rng, truth: truth, noise: n, meter: gauge.NewMeter(cost.Times), clock: -1,
		nodes: map[bellows.NodeID]*played{}}
	for i := range truth.Nodes {
		w.nodes[truth.Nodes[i].ID] = &played{links: map[bellows.NodeID]*[3]float64{}}
	}
	w.meter.Shape(w.base())
	return w
}

// base returns what the caller of a meter knows of the true figures.
func (w *world) base() *gauge.Figures {
	f := *w.truth
	f.Traffic, f.Hidden, f.Moved, f.Pairs = nil, gauge.Hidden{}, nil, nil
	f.Clocks = gauge.Clocks{Epoch: f.Clocks.Epoch}
	f.Nodes = append([]gauge.Node(nil), f.Nodes...)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		f.Nodes[i] = gauge.Node{ID: n.ID, Works: n.Works, Serves: n.Serves, Slots: n.Slots, Lanes: n.Lanes}
	}
	return &f
}

// about returns an amount with noise.
func (w *world) about(v float64) float64 { return v * math.Exp(w.noise.work*w.rng.NormFloat64()) }

// flow is what one node sends another one in a clock.
type flow struct{ pull, push float64 }

// flows returns what nodes send each other in a clock, by places.
func (w *world) flows() map[[2]int]flow {
	f := w.truth
	m := cost.New(f)
	s := f.Shape()
	groups := m.Loads(&s)
	free := 0.0
	for i := range groups {
		free += float64(groups[i].Free)
	}
	all := map[[2]int]flow{}
	for i := range groups {
		g := &groups[i]
		if g.Splits == 0 || free == 0 {
			continue
		}
		pulled, pushed, _ := m.Traffic(g.Splits)
		for j := range groups {
			share := float64(groups[j].Free) / free
			to, from := g.Node, groups[j].Node
			if to == from || share == 0 {
				continue
			}
			a, b := all[[2]int{from, to}], all[[2]int{to, from}]
			a.pull += pulled * share
			b.push += pushed * share
			all[[2]int{from, to}], all[[2]int{to, from}] = a, b
		}
	}
	return all
}

// carry adds the flows of a clock to counters, and returns nothing else.
func (w *world) carry() {
	f, flows := w.truth, w.flows()
	pullIn, pullOut := make([]float64, len(f.Nodes)), make([]float64, len(f.Nodes))
	pushIn, pushOut := make([]float64, len(f.Nodes)), make([]float64, len(f.Nodes))
	for at, v := range flows {
		pullOut[at[0]], pullIn[at[1]] = pullOut[at[0]]+v.pull, pullIn[at[1]]+v.pull
		pushOut[at[0]], pushIn[at[1]] = pushOut[at[0]]+v.push, pushIn[at[1]]+v.push
	}
	for i := range f.Nodes {
		for j := range f.Nodes {
			v, found := flows[[2]int{i, j}]
			if !found {
				continue
			}
			from, to := w.nodes[f.Nodes[i].ID], w.nodes[f.Nodes[j].ID]
			l := from.links[f.Nodes[j].ID]
			if l == nil {
				l = &[3]float64{}
				from.links[f.Nodes[j].ID] = l
			}
			v.pull, v.push = w.about(v.pull), w.about(v.push)
			l[0] += v.pull + v.push
			if v.pull > 0 {
				l[1] += max(pullOut[i]/f.Nodes[i].Out.Value, pullIn[j]/f.Nodes[j].In.Value)
			}
			if v.push > 0 {
				l[1] += max(pushOut[i]/f.Nodes[i].Out.Value, pushIn[j]/f.Nodes[j].In.Value)
			}
			from.pushed[tally.Rows] += v.pull
			to.received[tally.Rows] += v.pull
			from.pushed[tally.Pushes] += v.push
			to.received[tally.Pushes] += v.push
		}
	}
}

// play plays a clock that takes so many times as long as the model says, and tells the meter.
func (w *world) play(slow float64) {
	f := w.truth
	times := cost.Times(f)
	took, rows := 0.0, 0.0
	model := cost.New(f)
	s := f.Shape()
	groups := model.Loads(&s)
	free := 0.0
	for i := range groups {
		_, _, r := model.Traffic(max(1, groups[i].Splits))
		if groups[i].Splits > 0 {
			rows += r
		}
		free += float64(groups[i].Free)
	}
	type part struct{ compute, pull, push, apply, own float64 }
	parts := make([]part, len(times))
	for i, t := range times {
		n := &f.Nodes[groups[i].Node]
		p := &parts[i]
		shake := slow * math.Exp(w.noise.jitter*w.rng.NormFloat64())
		if by := w.slow[n.ID]; by > 0 {
			shake *= by
		}
		if w.rng.Float64() < w.noise.outliers {
			shake *= 3
		}
		p.own = 1 - n.Others.Value
		p.compute = t.Compute * shake
		p.pull, p.push = (1-f.Hidden.Pulled.Value)*t.Pull, (1-f.Hidden.Pushed.Value)*t.Push
		p.apply = (1 - f.Hidden.Applied.Value) * t.Apply
		if took = max(took, t.Busy); t.Works {
			took = max(took, p.compute+p.pull+p.push+p.apply)
		}
		if w.noise.jitter > 0 { // the processor time does not depend on what others take
			p.own = min(1, p.own/shake*slow)
		}
	}
	took += f.Clocks.Latency.Value
	w.last = took
	w.carry()
	w.clock++
	for i, t := range times {
		g := &groups[i]
		n, node := &f.Nodes[g.Node], w.nodes[f.Nodes[g.Node].ID]
		p := &parts[i]
		if t.Works {
			items := float64(f.Items) / float64(f.Clocks.Epoch) / float64(len(f.Splits)) * float64(g.Splits)
			wall := items * n.Item.Value / (1 - n.Others.Value) * (p.compute / t.Compute)
			half := w.rng.Float64() < w.noise.lane
			if half {
				node.spent[tally.Compute] += wall / 2
				node.cpu += w.about(wall / 2 * p.own)
				w.report(n.ID, true)
				wall /= 2
			}
			node.items += items
			node.spent[tally.Compute] += wall
			node.cpu += w.about(wall * p.own)
			slots := float64(n.Slots)
			for phase, d := range map[tally.Phase]float64{
				tally.PullWait: p.pull, tally.PushWait: p.push, tally.CommitWait: p.apply,
			} {
				node.spent[phase] += d * slots
			}
		}
		if g.Parts > 0 && free > 0 {
			applied := rows * float64(g.Free) / free
			wall := applied * n.Row.Value / (1 - n.Others.Value)
			node.rows, node.serving, node.cpu = node.rows+applied, node.serving+wall, node.cpu+wall*(1-n.Others.Value)
		}
		w.report(n.ID, false)
		if t.Works {
			phase := tally.Idle
			if w.bsp {
				phase = tally.CommitWait
			}
			node.spent[phase] += max(0, took-p.compute-p.pull-p.push-p.apply) * float64(n.Slots)
		}
	}
	w.now += time.Duration(took * 1e9)
	if w.stride == 0 || (w.clock+1)%w.stride == 0 {
		w.meter.Clock(w.now, w.clock)
	}
	for i := range w.after {
		w.meter.Report(&w.after[i])
	}
	w.after = w.after[:0]
}

// report makes a node report, unless it has just done so.
func (w *world) report(id bellows.NodeID, midst bool) {
	n := w.nodes[id]
	if w.now-n.sent < 50*time.Millisecond && n.sent > 0 {
		return
	}
	n.sent = w.now
	r := &n.report
	r.Node, r.Millis = id, r.Millis+int64(1+w.rng.IntN(1000))
	for p, d := range n.spent {
		r.Tally.Spent[p] = time.Duration(d * 1e9)
	}
	for c := range n.received {
		r.Tally.Received[c].Bytes, r.Tally.Sent[c].Bytes = int64(n.received[c]), int64(n.pushed[c])
	}
	r.Tally.Work = tally.Work{Items: int64(n.items), Rows: int64(n.rows),
		Serving: time.Duration(n.serving * 1e9), Processor: time.Duration(n.cpu * 1e9)}
	if w.sleeps {
		busy := n.spent[tally.Compute] + n.serving
		r.Tally.Work.Processor = 1 + time.Duration(busy*1e8)
		r.Tally.Work.Delayed = 1 + time.Duration(max(0, busy-n.cpu)*1e9)
		if n.items == 0 { // its threads are ready all the time, and delayed as often as those of workers
			r.Tally.Work.Processor, r.Tally.Work.Delayed = 10*r.Tally.Work.Processor, 10*r.Tally.Work.Delayed
		}
	}
	if w.silent {
		r.Tally.Work.Processor = 0
	}
	r.Links = r.Links[:0]
	for i := range w.truth.Nodes {
		if l := n.links[w.truth.Nodes[i].ID]; l != nil {
			if w.unseen == 1 {
				l[1], l[2] = 0, 0
			} else if w.unseen == 0 || w.clock%w.unseen == 0 {
				l[2] = l[1]
			}
			r.Links = append(r.Links, tally.Link{To: uint16(w.truth.Nodes[i].ID), Bytes: int64(l[0]),
				Busy: time.Duration(l[2] * 1e9)})
		}
	}
	copied := *r
	copied.Links = append([]tally.Link(nil), r.Links...)
	if w.rng.Float64() < w.noise.twice {
		w.former = append(w.former, copied)
	}
	if w.rng.Float64() < w.noise.late && !midst {
		w.after = append(w.after, copied)
		return
	}
	w.meter.Report(&copied)
	if w.again > 0 && w.rng.Float64() < w.again {
		for i := len(w.former) - 1; i >= max(0, len(w.former)-9); i-- {
			w.meter.Report(&w.former[i])
		}
		w.former = append(w.former, copied)
	}
	if len(w.former) > 0 && w.rng.Float64() < w.noise.twice {
		i := w.rng.IntN(len(w.former))
		w.meter.Report(&w.former[i])
	}
}

// warm plays the clocks that do not count.
func (w *world) warm() {
	for range 3 {
		w.play(4)
	}
}

// run plays clocks until so many more have counted, with events.
func (w *world) run(clocks int) {
	for clocks > 0 {
		if w.rng.Float64() >= w.noise.event {
			w.play(1)
			w.took = append(w.took, w.last)
			clocks--
			continue
		}
		switch e := gauge.Event(w.rng.IntN(4)); e {
		case gauge.Rollback:
			back := min(w.clock, w.rng.IntN(3))
			w.meter.Begin(e)
			w.clock -= back
			clocks += back
			w.play(5)
			w.meter.End(e)
		default:
			w.meter.Begin(e)
			for range 1 + w.rng.IntN(3) {
				w.play(map[gauge.Event]float64{gauge.Move: 2, gauge.Cut: 1.5, gauge.Help: 0.6}[e])
			}
			w.meter.End(e)
			w.play(1)
		}
	}
}

// quantile returns a quantile of values, which it sorts.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[int(share*float64(len(values)-1))]
}
