package main

import (
	"time"

	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
	"bellows/sim/lab"
)

// check is a time that was measured, and what the laboratory says of it.
type check struct {
	What      string  `json:"what"`
	Measured  float64 `json:"measured_seconds"`
	Predicted float64 `json:"predicted_seconds"`
	Error     float64 `json:"error"`
	Fitted    bool    `json:"fitted"`
}

// The cost of messages, as bench/lab fits it to processes of one machine.
const (
	messageNanoseconds = 10_000
	byteNanoseconds    = 0.3
	between            = 50 * time.Microsecond
)

// check compares the medians of the turns with the laboratory: from the end of the first epoch to that of the last, and
// from the request on. The cost of an item, with all that a busy machine adds, is fitted to the job on the first
// workers; the others are predicted.
func (p *plan) check(o subject.Order, turns []turn) (list []check, err error) {
	item := float64(p.item.Nanoseconds())
	for _, w := range ways {
		if w.restarts {
			continue // nothing stops in the laboratory
		}
		var measured, starts []float64
		for _, t := range turns {
			switch {
			case t.Way != w.name || t.Late:
			case w.from == w.to:
				measured = append(measured, t.end()-t.Epochs[0])
			default:
				measured = append(measured, t.end()-t.Asked)
				starts = append(starts, t.Ready-t.Asked)
			}
		}
		if len(measured) == 0 {
			continue
		}
		c := check{What: w.name, Measured: report.IntervalOf(measured).Median}
		start := 0.0
		if w.from < w.to {
			start = report.IntervalOf(starts).Median
		}
		if c.Predicted, err = p.predict(o, w, item, start); err != nil {
			return nil, err
		}
		if c.Fitted = len(list) == 0; c.Fitted {
			item *= c.Measured / c.Predicted
			if c.Predicted, err = p.predict(o, w, item, 0); err != nil {
				return nil, err
			}
		}
		c.Error = c.Predicted/c.Measured - 1
		list = append(list, c)
	}
	return list, nil
}

// predict returns the seconds of a way in the laboratory, with so many nanoseconds for an item and seconds for the
// start of processes.
func (p *plan) predict(o subject.Order, w way, item, start float64) (float64, error) {
	r, err := p.virtual(o, w.from, w.from, item, 0, 0)
	if err != nil {
		return 0, err
	}
	from := r.Epochs[0].Time
	if w.from < w.to {
		from = r.Epochs[max(1, int(asked*float64(o.Epochs)))-1].Time
		if r, err = p.virtual(o, w.from, w.to, item, from, time.Duration(start*float64(time.Second))); err != nil {
			return 0, err
		}
	}
	return (r.Epochs[len(r.Epochs)-1].Time - from).Seconds(), nil
}

// virtual runs the job in the laboratory, with so many workers at first and in the end.
func (p *plan) virtual(o subject.Order, first, last int, item float64, at, start time.Duration) (*lab.Result, error) {
	run, err := o.Make()
	if err != nil {
		return nil, err
	}
	site := lab.Site{Nodes: []lab.Node{{Lanes: 1}}, Machines: []lab.Machine{{Cores: 1}}, Latency: between}
	cfg := lab.Config{Seed: 1, Job: run.Job, Costs: lab.Costs{Item: item, Send: messageNanoseconds / 2, Receive: messageNanoseconds / 2,
		SendByte: byteNanoseconds / 2, ReceiveByte: byteNanoseconds / 2}}
	for i := range last {
		n := lab.Node{Machine: i + 1, Slots: 1}
		site.Machines = append(site.Machines, lab.Machine{Cores: 1})
		if i < first {
			site.Nodes = append(site.Nodes, n)
		} else {
			cfg.Growth = append(cfg.Growth, lab.Arrival{Node: n, At: at, Start: start})
		}
	}
	cfg.Site = site
	return lab.Run(cfg)
}
