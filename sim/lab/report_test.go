package lab

import (
	"testing"
	"time"

	"bellows"
	"bellows/core/tally"
	"bellows/policy/gauge"
	"bellows/sim/lab/pattern"
	"bellows/table"
	"bellows/train"
)

// adder changes all rows of a table in each task.
type adder []float32

// RunTask implements train.Executor.
func (a adder) RunTask(t *train.Task) error {
	t.PullRange(0, 0, 8)
	t.PushRange(0, 0, a)
	return nil
}

// reported runs a job of four splits and five clocks to its end, and returns the last reports of all nodes, and the world.
func reported(t *testing.T, site Site, load pattern.Load) ([]gauge.Report, *world) {
	t.Helper()
	const width = 1000
	job := train.Job{
		Tables: []table.Schema{{Name: "shared", Rows: 8, Width: width, Partitions: 4}}, Splits: 4,
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 10} },
		Driver:      &train.Clocks{Splits: 4, Count: 5},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return make(adder, 8*width), nil },
	}
	cfg := Config{Job: job, Site: site, Load: load, Costs: Costs{Item: 1e5, Send: 2000, Receive: 3000, ReceiveByte: 0.25, Local: 1000}, Limit: limitDefault,
		Tick: time.Second}
	w, err := newWorld(&cfg, nil, life{})
	if err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.run()
	var list []gauge.Report
	for _, n := range w.nodes {
		list = append(list, n.report())
	}
	if err := w.close(); err != nil || w.err != nil {
		t.Fatal(err, w.err)
	}
	return list, w
}

// TestReportsOfNodes runs a job on a worker, a server, and a node that is both: each has the items, rows and times of its
// work, and what it sent.
func TestReportsOfNodes(t *testing.T) {
	t.Parallel()
	site := Site{Latency: 50 * time.Microsecond, Nodes: []Node{{}, {Machine: 1, Slots: 1}, {Machine: 2, Lanes: 1}, {Machine: 3, Slots: 1, Lanes: 1}}}
	for range site.Nodes {
		site.Machines = append(site.Machines, Machine{Cores: 1, Speed: 1, Up: 1e7, Down: 1e7})
	}
	list, w := reported(t, site, nil)
	var all tally.Work
	for i := range list {
		m := &list[i]
		all.Add(&m.Tally.Work)
		s, elapsed := m.Tally.Spent, w.elapsed()
		if int(m.Node) != i || m.Millis != elapsed.Milliseconds() || m.Tally.Sent != w.nodes[i].sent || m.Spare != 0 {
			t.Errorf("node %d reports %+v after %v", i, m, elapsed)
		}
		works, serves := site.Nodes[i].Slots > 0, site.Nodes[i].Lanes > 0
		if k := m.Tally.Work; works != (k.Items == 100) || serves != (k.Rows > 0) || serves != (k.Serving > 0) || works != (s[tally.Compute] >= 10*time.Millisecond) {
			t.Errorf("node %d has %+v, and has computed for %v", i, k, s[tally.Compute])
		}
		if k := m.Tally.Work; k.Serving+s[tally.Compute] > 2*k.Processor || k.Processor > elapsed {
			t.Errorf("node %d has worked for %v of %v: %v for lanes, %v for tasks", i, k.Processor, elapsed, k.Serving, s[tally.Compute])
		}
		checkSent(t, m, elapsed)
	}
	if all.Items != 200 || all.Rows != 5*8*2 { // the two workers change each row in each clock
		t.Errorf("all have %+v", all)
	}
	if left := time.Duration(w.work) - all.Processor; left.Abs() > time.Microsecond {
		t.Errorf("processors have worked for %v, and %v were asked for", all.Processor, time.Duration(w.work))
	}
}

// checkSent wants the bytes of a node's links to be those that it sent, as far as they have arrived, at no more than the
// rate of its link.
func checkSent(t *testing.T, m *gauge.Report, elapsed time.Duration) {
	t.Helper()
	sum, last := int64(0), -1
	for _, l := range m.Links {
		sum += l.Bytes
		if int(l.To) <= last || l.Busy <= 0 || l.Busy > elapsed || float64(l.Bytes) > 1e7*l.Busy.Seconds() {
			t.Errorf("node %d: %+v", m.Node, l)
		}
		last = int(l.To)
	}
	if sent := m.Tally.Sent.Total().Bytes; sum > sent || sum < sent/2 {
		t.Errorf("node %d has sent %d bytes, and %d on its links", m.Node, sent, sum)
	}
}

// TestProcessorTimeLeavesOutOthers runs a job on machines with other work: a task takes twice as long, and no more
// processor time. Nodes of one machine have links without a rate.
func TestProcessorTimeLeavesOutOthers(t *testing.T) {
	t.Parallel()
	site := Processes(2, 2, 2)
	site.LocalLatency = 20 * time.Microsecond
	site.Machines[0].Speed = 1
	alone, _ := reported(t, site, nil)
	beside, _ := reported(t, site, func(uint64, int, time.Duration) (float64, time.Duration) { return 0.5, pattern.Always })
	for i := range site.Nodes[1:] {
		a, b := &alone[i+1].Tally, &beside[i+1].Tally
		if own := b.Work.Processor - a.Work.Processor; own.Abs() > a.Work.Processor/100 || b.Spent[tally.Compute] < a.Spent[tally.Compute]*3/2 {
			t.Errorf("node %d has used %v and computed for %v; with other work %v and %v", i+1, a.Work.Processor, a.Spent[tally.Compute], b.Work.Processor, b.Spent[tally.Compute])
		}
		for _, l := range alone[i+1].Links {
			if l.Bytes <= 0 || l.Busy <= 0 || l.Busy%site.LocalLatency != 0 && l.To == 0 {
				t.Errorf("node %d: %+v", i+1, l)
			}
		}
	}
}
