package main

import (
	"errors"
	"maps"
	"runtime"
	"strconv"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
	"bellows/sim/lab"
)

// fitted is what work costs on a machine.
type fitted struct {
	Costs        lab.Costs     `json:"costs"`
	LocalLatency time.Duration `json:"local_latency"`
	WakeLatency  time.Duration `json:"wake_latency"`
	Runs         []measured    `json:"runs"` // that they were fitted to, and others
}

// The runs that costs are fitted to: tables of 31 and 314 KB, and clocks an epoch.
const (
	rowsFew     = 785
	rowsMany    = 7850
	clocksFew   = 10
	clocksMany  = 40
	clockEpochs = 12
)

// train returns the order of the job with so many clocks an epoch.
func (b *bench) train(clocks int) jobs.Order {
	o := b.order
	o.Epochs = jobs.Warm + 20
	if b.Full {
		o.Epochs = jobs.Warm + 60
	}
	o.Settings = map[string]string{}
	maps.Copy(o.Settings, b.order.Settings)
	o.Settings["clocks"] = strconv.Itoa(clocks)
	return o
}

func clock(rows int) jobs.Order {
	return jobs.Order{App: jobs.ClockApp, Rows: rows, Epochs: jobs.Warm + clockEpochs}
}

// counts is what costs, in an epoch: items, tasks, scoring tasks, messages between nodes and their bytes, wakes, messages
// within nodes and their bytes.
type counts [8]float64

// costs returns the unknowns by what they are for. What sender and receiver of a message do cannot be told apart by
// their sum.
func (x counts) costs() lab.Costs {
	return lab.Costs{Item: x[0], Task: x[1], Score: x[2], Send: x[3] / 2, Receive: x[3] / 2, SendByte: x[4] / 2, ReceiveByte: x[4] / 2,
		Wake: x[5], Local: x[6], LocalByte: x[7]}
}

// virtualEpochs is how many epochs of a run in the laboratory are measured: they are all alike.
const virtualEpochs = 2

// virtual runs a job in the laboratory, and returns what an epoch takes there and what is in it.
func virtual(o jobs.Order, site lab.Site, costs lab.Costs) (pace, counts) {
	o.Epochs = jobs.Warm + virtualEpochs
	m := pair.Must(o.Make())
	if o.App == jobs.ClockApp {
		costs.Item, costs.Task, costs.Score = 0, 0, 0
	}
	r := pair.Must(lab.Run(lab.Config{Seed: 1, Job: m.Job, Site: placed(site, m.Job.Tables), Costs: costs}))
	a, z := r.Epochs[jobs.Warm-1], r.Epochs[len(r.Epochs)-1]
	n := float64(len(r.Epochs) - jobs.Warm)
	var c counts
	if o.App != jobs.ClockApp {
		c = counts{float64(m.Items), float64(m.Clocks-1) * float64(m.Splits), float64(m.Splits)}
	}
	for _, e := range r.Epochs[jobs.Warm:] {
		for i, x := range []int64{e.Traffic.Frames, e.Traffic.Bytes, e.Wakes, e.Local.Frames, e.Local.Bytes} {
			c[3+i] += float64(x) / n
		}
	}
	return pace{Wall: (z.Time - a.Time).Seconds() / n, Trained: (z.Trained - a.Trained).Seconds() / n, CPU: (z.Cores - a.Cores).Seconds() / n}, c
}

// exchanges returns the runs of a job that does nothing but exchange.
func exchanges() []measured {
	var list []measured
	for _, processes := range []int{0, 2} {
		for _, rows := range []int{rowsFew, rowsMany} {
			list = append(list, measured{Order: clock(rows), Shape: shape{Name: "exchange", Processes: processes, Slots: max(1, processes), Fitted: true}})
		}
	}
	return list
}

// trainings returns the runs of the job.
func (b *bench) trainings() []measured {
	var list []measured
	for _, s := range shapes {
		list = append(list, measured{Order: b.train(s.Clocks), Shape: s})
	}
	return list
}

// nap is how long a processor stays awake without work, in Linux on virtual machines (guest_halt_poll_ns).
const nap = 200 * time.Microsecond

// rounds is how often costs are fitted anew: what is counted depends a little on them.
const rounds = 4

// fit finds the costs that explain the CPU time of the fitted runs best, and the latencies that explain the time of two.
func fit(list []measured) (f fitted) {
	for range rounds {
		var rows []row
		for _, m := range list {
			if m.Shape.Fitted {
				_, c := virtual(m.Order, m.Shape.site(f), f.Costs)
				rows = append(rows, m.rows(c)...)
			}
		}
		f.Costs = leastSquares(rows).costs()
		for _, m := range list {
			f.fitLatencies(m)
		}
	}
	if f.Costs.Item == 0 {
		pair.Check(errors.New("the cost of an item cannot be separated from others; measure again, when nothing else runs"))
	}
	return f
}

// rows returns what a run says of costs: in one process on one slot, training and scoring are told apart by time.
func (m measured) rows(c counts) []row {
	cpu := m.Pace.CPU * 1e9
	if m.Order.App == jobs.ClockApp || m.Shape.Processes > 0 {
		return []row{{c, cpu}}
	}
	score := counts{2: c[2]}
	c[2] = 0
	share := m.Pace.Trained / m.Pace.Wall
	return []row{{c, cpu * share}, {score, cpu * (1 - share)}}
}

// fitLatencies fits the latency between processes to the exchange of small tables, and that of waking to the training.
func (f *fitted) fitLatencies(m measured) {
	switch {
	case !m.Shape.Fitted || m.Shape.Processes == 0:
	case m.Order.App != jobs.ClockApp:
		f.fitLatency(m, &f.WakeLatency)
	case m.Order.Rows == rowsFew:
		f.fitLatency(m, &f.LocalLatency)
	}
}

// fitLatency moves one of the latencies of f to where an epoch of a run is as long as it was: a step of the secant, since
// that length is almost a straight line.
func (f *fitted) fitLatency(e measured, latency *time.Duration) {
	const step, most = 50 * time.Microsecond, 10 * time.Millisecond
	was := *latency
	here, _ := virtual(e.Order, e.Shape.site(*f), f.Costs)
	*latency = was + step
	there, _ := virtual(e.Order, e.Shape.site(*f), f.Costs)
	*latency = was
	if slope := (there.Wall - here.Wall) / step.Seconds(); slope > 0 {
		*latency += time.Duration((e.Pace.Wall - here.Wall) / slope * float64(time.Second))
	}
	*latency = min(max(*latency, 0), most)
}

// cores returns how many this machine has.
func cores() int { return runtime.NumCPU() }
