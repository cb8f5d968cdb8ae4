package validation

import (
	"slices"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
	"bellows/bench/lab/internal/netns"
	"bellows/sim/lab"
	"bellows/sim/lab/link"
	"bellows/sim/lab/pattern"
	"bellows/sim/lab/script"
)

// plain returns the case without its change. It takes cuts if the case does, in a store without a limit.
func (c Case) plain() *Case {
	c.change, c.links, c.cores = change{cuts: c.change.cuts}, nil, nil
	return &c
}

// order returns the job. Only a real run's tasks take their time themselves.
func (c *Case) order(real bool) jobs.Order {
	p := c.job
	if !real {
		p.Item = 0
	}
	return jobs.Order{App: jobs.PacedApp, Epochs: c.epochs, Paced: &p}
}

// ports returns the links of nodes from 1 on, on the wire.
func (c *Case) ports() []link.Port {
	if c.links != nil {
		return c.links
	}
	var list []link.Port
	for _, m := range c.nodes {
		list = append(list, link.Port{Up: m.up, Down: m.down})
	}
	return list
}

// wires returns the links as the system limits them. The budget of a node is a bucket in the place of its uplink.
func (c *Case) wires() []netns.Link {
	var list []netns.Link
	for i, p := range c.ports() {
		l := netns.Link{Up: p.Up, Down: p.Down}
		if b := c.change.budget; i == 0 && b.Rate > 0 {
			l.Up, l.Burst = b.Rate, b.Burst
		}
		list = append(list, l)
	}
	return list
}

// core returns the core that a node keeps to; 0: none.
func (c *Case) core(i int) int {
	if c.cores != nil {
		return c.cores[i]
	}
	return c.nodes[i].core
}

// Model is what was fitted to plain runs.
type Model struct {
	Costs lab.Costs
	Start time.Duration // of all processes, again, after the death of a node with tables
	Store time.Duration // the store's latency: a cut waits for its parts, and then for its manifest
}

// Properties of the namespaces and of Linux: how long a packet takes, and how long a core has one thread.
const (
	latency = 60 * time.Microsecond
	slice   = 3 * time.Millisecond
	// payload is the share of a link's bytes that TCP leaves to its user: of 1,514 bytes on the wire 1,448.
	payload = 1448.0 / 1514
	// detect is how long it takes until node 0 knows of a process that was killed.
	detect = 2 * time.Millisecond
	// reaction is the time from the end of an epoch until the event begins.
	reaction = time.Millisecond
)

// site returns the laboratory's cluster.
func (c *Case) site() lab.Site {
	s := lab.Site{Nodes: []lab.Node{{}}, Machines: []lab.Machine{{Cores: 2}}, Latency: latency, LocalLatency: latency}
	ports, cores := c.ports(), map[int]int{}
	for i, m := range c.nodes {
		n := lab.Node{Machine: len(s.Machines), Slots: m.slots, Lanes: m.lanes}
		machine := lab.Machine{Cores: 1, Up: payload * ports[i].Up, Down: payload * ports[i].Down}
		if !c.job.Spin {
			machine.Cores = m.slots + 1 // tasks rest, and leave their core to messages
		}
		core := c.core(i)
		if at, some := cores[core]; some && core > 0 {
			n.Machine = at
		} else {
			cores[core] = n.Machine
			s.Machines = append(s.Machines, machine)
		}
		if b := c.change.budget; i == 0 {
			n.Budget = link.Budget{Rate: payload * b.Rate, Burst: b.Burst}
		}
		s.Nodes = append(s.Nodes, n)
	}
	if c.job.Spin {
		s.Slice = slice
	}
	return s
}

// config returns an experiment without an event.
func (c *Case) config(m Model) lab.Config {
	cfg := lab.Config{Seed: 1, Job: pair.Must(c.order(false).Make()).Job, Site: c.site(), Costs: m.Costs}
	cfg.Cuts = lab.Cuts{Every: c.change.cuts, Rate: c.change.store, Latency: m.Store}
	cfg.Recovery = lab.Recovery{Detect: detect, Restart: m.Start}
	if l := c.change.load; l != nil {
		cfg.Load = pattern.Bursts(0.5, l.period, float64(l.busy)/float64(l.period), cfg.Site.Nodes[1].Machine)
	}
	return cfg
}

// Predict runs the case in the laboratory: first without its event, to find the end of its epoch.
func (c *Case) Predict(m Model) (out Outcome) {
	r := pair.Must(lab.Run(c.config(m)))
	if c.change.event != nil || c.change.slower > 0 {
		cfg := c.config(m)
		from := r.Epochs[c.begins(r)].Time
		if e := c.change.event; e != nil {
			cfg.Script = []script.Event{*e}
		} else {
			cfg.Script = []script.Event{{Kind: script.Slow, Node: 2, Slower: c.change.slower, For: time.Hour}}
		}
		cfg.Script[0].At = from + reaction
		r = pair.Must(lab.Run(cfg))
	}
	out.Seconds = (r.Epochs[len(r.Epochs)-1].Time - r.Epochs[c.at-1].Time).Seconds()
	for _, e := range r.Script {
		if e.Err != "" {
			pair.Check(bellows.Errorf(bellows.Bug, "predict", c.Name, "%s", e.Err))
		}
		if e.Kind != script.Slow {
			out.Event = (e.Done - e.Began).Seconds()
		}
	}
	out.Count = len(r.Cuts)
	for _, t := range r.Cuts {
		out.Cuts += (t.Done - t.Began).Seconds() / float64(len(r.Cuts))
	}
	from := slices.IndexFunc(r.Epochs, func(e lab.Epoch) bool { return e.Number == c.at })
	for _, e := range r.Epochs[from+1:] {
		out.MB += float64(e.Traffic.Bytes) / 1e6
	}
	return out
}

// begins returns the index of the epoch before the event, by a run without it.
func (c *Case) begins(r *lab.Result) (i int) {
	since := 0
	for i = range r.Epochs {
		cuts := 0
		for _, t := range r.Cuts {
			if t.Done <= r.Epochs[i].Time {
				cuts++
			}
		}
		if since = c.since(since, cuts, r.Epochs[i].Number); since == c.change.after+1 {
			break
		}
	}
	return i
}

// fit returns the model by which the laboratory predicts the time of the plain run.
func (c *Case) fit(was Outcome) (m Model) {
	m.Costs = lab.Costs{Item: float64(c.job.Item), Send: messageCost, Receive: messageCost, SendByte: byteCost, ReceiveByte: byteCost, Local: messageCost / 10}
	plain := c.plain()
	if c.change.cuts > 0 {
		m.Store = max(0, time.Duration((was.Cuts-plain.Predict(m).Cuts)/2*float64(time.Second)))
	}
	if c.job.Spin {
		items := 0
		for _, n := range c.job.Items {
			items += n
		}
		rest := was.CPU - float64(c.epochs-c.at)*(time.Duration(items)*c.job.Item).Seconds()
		if mb := plain.Predict(m).MB; mb > 0 && rest > 0 {
			m.Costs.SendByte = rest * 1e3 / mb / 2
			m.Costs.ReceiveByte = m.Costs.SendByte
		}
	}
	for range fitRounds {
		here := plain.Predict(m).Seconds
		step := m
		step.Costs.Task += fitStep
		slope := (plain.Predict(step).Seconds - here) / fitStep
		if slope > 0 {
			m.Costs.Task = max(0, m.Costs.Task+(was.Seconds-here)/slope)
		}
	}
	return m
}

// Costs of messages where computing is not what limits a run, in nanoseconds; and the steps of the fit.
const (
	messageCost = 15_000
	byteCost    = 1
	fitRounds   = 2
	fitStep     = 1e6
)
