package main

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"bellows/sim/lab"
)

// fitted is what work costs on a machine.
type fitted struct {
	Costs        lab.Costs     `json:"costs"`
	LocalLatency time.Duration `json:"local_latency"`
	WakeLatency  time.Duration `json:"wake_latency"`
}

// The runs that costs are fitted to: tables of 31 and 314 KB, and clocks an epoch.
const (
	rowsFew     = 785
	rowsMany    = 7850
	clocksFew   = 10
	clocksMany  = 40
	clockEpochs = 12
)

// train is the order of the job with so many clocks an epoch.
func (b *bench) train(clocks int) order {
	o := b.order
	o.Epochs = warm + 20
	if b.options.Full {
		o.Epochs = warm + 60
	}
	o.Settings = map[string]string{}
	for k, v := range b.order.Settings {
		o.Settings[k] = v
	}
	o.Settings["clocks"] = strconv.Itoa(clocks)
	return o
}

func clock(rows int) order { return order{App: "clock", Rows: rows, Epochs: warm + clockEpochs} }

// counts is what costs, in an epoch: items, tasks, scoring tasks, messages between nodes and their bytes, wakes, messages
// within nodes and their bytes.
type counts [8]float64

// costs are the unknowns by what they are for. What sender and receiver of a message do cannot be told apart by their sum.
func (x counts) costs() lab.Costs {
	return lab.Costs{Item: x[0], Task: x[1], Score: x[2], Send: x[3] / 2, Receive: x[3] / 2, SendByte: x[4] / 2, ReceiveByte: x[4] / 2,
		Wake: x[5], Local: x[6], LocalByte: x[7]}
}

// virtual runs a job in the laboratory, and returns what an epoch takes there and what is in it.
func virtual(o order, site lab.Site, costs lab.Costs) (pace, counts, error) {
	m, err := o.make()
	if err != nil {
		return pace{}, counts{}, err
	}
	if o.App == "clock" {
		costs.Item, costs.Task, costs.Score = 0, 0, 0
	}
	r, err := lab.Run(lab.Config{Seed: 1, Job: m.job, Site: site, Costs: costs})
	if err != nil {
		return pace{}, counts{}, err
	}
	a, z := r.Epochs[warm-1], r.Epochs[len(r.Epochs)-1]
	n := float64(len(r.Epochs) - warm)
	var c counts
	if o.App != "clock" {
		c = counts{float64(m.items), float64(m.clocks-1) * float64(m.splits), float64(m.splits)}
	}
	for _, e := range r.Epochs[warm:] {
		for i, x := range []int64{e.Traffic.Messages, e.Traffic.Bytes, e.Wakes, e.Local.Messages, e.Local.Bytes} {
			c[3+i] += float64(x) / n
		}
	}
	return pace{wall: (z.Time - a.Time).Seconds() / n, trained: (z.Trained - a.Trained).Seconds() / n, cpu: (z.Cores - a.Cores).Seconds() / n}, c, nil
}

// evidence is a real run that costs are fitted to.
type evidence struct {
	order     order
	shape     shape
	pace      pace
	disturbed float64
}

// gather makes the real runs: a job that only exchanges, and training.
func (b *bench) gather() ([]evidence, error) {
	list := []evidence{
		{order: clock(rowsFew), shape: shape{"", 0, 1, 0, true}}, {order: clock(rowsMany), shape: shape{"", 0, 1, 0, true}},
		{order: clock(rowsFew), shape: shape{"", 2, 2, 0, true}}, {order: clock(rowsMany), shape: shape{"", 2, 2, 0, true}},
	}
	for _, s := range shapes {
		if s.fitted {
			list = append(list, evidence{order: b.train(s.clocks), shape: s})
		}
	}
	for i := range list {
		var err error
		e := &list[i]
		if e.pace, e.disturbed, err = b.measure(e.order, e.shape.processes, e.shape.slots); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// exchange is the place of the run between two processes that only exchanges, among those gathered. The last of them
// trains between two.
const exchange = 2

// nap is how long a processor stays awake without work, in Linux on virtual machines (guest_halt_poll_ns).
const nap = 200 * time.Microsecond

// rounds is how often costs are fitted anew: what is counted depends a little on them.
const rounds = 4

// fit finds the costs of this machine that explain the CPU time of real runs best, and the latency that explains the time
// of one.
func (b *bench) fit() (fitted, error) {
	list, err := b.gather()
	if err != nil {
		return fitted{}, err
	}
	var f fitted
	for range rounds {
		var rows []row
		for _, e := range list {
			_, c, err := virtual(e.order, e.shape.site(f), f.Costs)
			if err != nil {
				return f, err
			}
			rows = append(rows, e.rows(c)...)
		}
		f.Costs = leastSquares(rows).costs()
		if err := f.fitLatency(list[exchange], &f.LocalLatency); err != nil {
			return f, err
		}
		if err := f.fitLatency(list[len(list)-1], &f.WakeLatency); err != nil {
			return f, err
		}
	}
	if f.Costs.Item == 0 {
		return f, fmt.Errorf("the cost of an item cannot be told from others; measure again, when nothing else runs")
	}
	return f, b.keep(f)
}

// rows are what a run says of costs: in one process on one slot, training and scoring are told apart by time.
func (e evidence) rows(c counts) []row {
	cpu := e.pace.cpu * 1e9
	if e.order.App == "clock" || e.shape.processes > 0 {
		return []row{{c, cpu}}
	}
	score := counts{2: c[2]}
	c[2] = 0
	share := e.pace.trained / e.pace.wall
	return []row{{c, cpu * share}, {score, cpu * (1 - share)}}
}

// fitLatency finds the latency that makes an epoch of a run as long as it was: one of those of f.
func (f *fitted) fitLatency(e evidence, latency *time.Duration) error {
	low, high := time.Duration(0), time.Millisecond
	for high-low > time.Microsecond {
		*latency = (low + high) / 2
		p, _, err := virtual(e.order, e.shape.site(*f), f.Costs)
		if err != nil {
			return err
		}
		if p.wall < e.pace.wall {
			low = *latency
		} else {
			high = *latency
		}
	}
	*latency = low
	return nil
}

// cores is how many this machine has.
func cores() int { return runtime.NumCPU() }
