package lab

import (
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/policy/choose"
	"bellows/policy/shape"
	"bellows/sim/lab/link"
	"bellows/sim/lab/pattern"
	"bellows/sim/lab/script"
	"bellows/train"
)

// Config is one experiment.
type Config struct {
	Seed  uint64
	Job   train.Job
	Site  Site
	Shape *shape.Shape // with which the job begins; nil: production's, with all that the nodes are able to do
	Costs Costs
	Slow  pattern.Slow // nil: no node is slow
	Load  pattern.Load // nil: the machines have no other work
	// Jitter is how much the cost of a task varies by chance: it is between 1 and 1+Jitter times what Costs say.
	Jitter float64
	// Limit is the virtual time after which the job is given up, with an error; 0: 1,000 hours.
	Limit time.Duration
	// Tick is the time between two heartbeats of a node; 0: as in production.
	Tick    time.Duration
	OnEpoch func(Epoch) // called in order, during Run; nil: not told
	// Growth are nodes that join while the job runs. They have the numbers behind those of the site, in the order of their times.
	// Each gets an even share of the splits.
	Growth []Arrival
	// SplitBytes returns how many bytes of a split's data must be at a node before the split may move there. They come
	// from the node where it runs. nil: none, so that only the protocol takes time.
	SplitBytes func(bellows.SplitID) int
	Script     []script.Event // other events of the job
	Cuts       Cuts
	Recovery   Recovery
	Measure    bool // make figures of the job, as its controller does
	// Choose lets the job change its shape by its figures, within what is asked. nil: it does not.
	Choose *choose.Ask
}

const limitDefault = 1000 * time.Hour

// patience makes every wait as long as the experiment's limit. No node dies here: a silent node is slow.
func (c *Config) patience() liveness.Times {
	p := c.Limit.Milliseconds() + 1
	return liveness.Times{Lease: p, Broken: p, Complaint: p, Leader: p, Notice: p, Ready: p, Task: p, End: p, Collect: p, Tasks: p}.Or()
}

// Site is a cluster.
type Site struct {
	Nodes    []Node
	Machines []Machine
	// Latency is how long a frame is under way between two machines, in addition to its time on the links; LocalLatency
	// between two nodes of one machine, which have no links: a socket and the waking of the receiver.
	Latency, LocalLatency time.Duration
	// WakeLatency is how much longer it takes until a node looks at a message from another that comes when it has
	// handled none for longer than Nap, and its machine has a core without work: that core sleeps.
	Nap, WakeLatency time.Duration
	// Slice is how long a core has one job while others wait, as under a scheduler; 0: all share the cores evenly.
	Slice time.Duration
	// Window is how many bytes of a connection between two machines may be under way; 0: link.DefaultWindow.
	Window int
	// Packet is how many bytes of a connection leave in one turn of its uplink; 0: link.PacketMost. A model that is
	// smaller than in production has smaller packets, so that connections share a link as they do there.
	Packet int
	// Budgets bound what one machine sends to another.
	Budgets []link.Pair
}

// hasMachine reports whether a machine has that index.
func (s *Site) hasMachine(machine int) bool { return machine >= 0 && machine < len(s.Machines) }

// links returns the links of a site.
func (s *Site) links() link.Config {
	c := link.Config{Latency: int64(s.Latency), Window: s.Window, Packet: s.Packet, Pairs: s.Budgets}
	for _, m := range s.Machines {
		c.Ports = append(c.Ports, link.Port{Up: m.Up, Down: m.Down})
	}
	return c
}

// Node is a process.
type Node struct {
	Machine int         // index in Site.Machines
	Slots   int         // compute slots; 0: it runs no tasks
	Lanes   int         // server lanes; 0: it holds no partitions
	Budget  link.Budget // of what it sends to other machines
}

// Machine is a computer with its link.
type Machine struct {
	Cores    int
	Speed    float64 // of a core, 1 being the one that Costs are for; 0: 1
	Up, Down float64 // of its link, in bytes per second; 0: unlimited
}

// Costs is what work costs on one core of speed 1, in nanoseconds.
type Costs struct {
	Item  float64 `json:"item"`  // an item visited
	Task  float64 `json:"task"`  // a task that visits items, besides those
	Score float64 `json:"score"` // a task that visits none

	Send        float64 `json:"send"`         // a message to another node
	SendByte    float64 `json:"send_byte"`    // each byte of its frame
	Receive     float64 `json:"receive"`      // a message from another node, with what it sets off
	ReceiveByte float64 `json:"receive_byte"` // each byte of its frame
	Wake        float64 `json:"wake"`         // messages from other nodes for a node that naps: to look at them
	Local       float64 `json:"local"`        // a message within a node, with what it sets off
	LocalByte   float64 `json:"local_byte"`   // each byte of deltas in it
	ApplyByte   float64 `json:"apply_byte"`   // each byte of deltas that a lane writes, of any sender
}

// Alone returns the site of one node on one machine, as a job in one process.
func Alone(cores, slots int) Site {
	return Site{Nodes: []Node{{Slots: slots, Lanes: slots}}, Machines: []Machine{{Cores: cores}}}
}

// Processes returns the site of a job in several processes of one machine: node 0 leads and computes nothing, the
// others share the slots, at least one each, and hold the tables.
func Processes(count, cores, slots int) Site {
	s := Site{Nodes: []Node{{}}, Machines: []Machine{{Cores: cores}}}
	for i := range count {
		own := max(1, slots*(i+1)/count-slots*i/count)
		s.Nodes = append(s.Nodes, Node{Slots: own, Lanes: own})
	}
	return s
}

// Cluster returns the site of a job on so many machines, one node each, in addition to that of node 0, which leads.
// Each of the first servers of them holds tables in as many lanes as it has cores; all compute.
func Cluster(count, servers int, machine Machine) Site {
	s := Site{Nodes: []Node{{}}, Machines: []Machine{machine}}
	for i := range count {
		n := Node{Machine: i + 1, Slots: machine.Cores}
		if i < servers {
			n.Lanes = machine.Cores
		}
		s.Nodes, s.Machines = append(s.Nodes, n), append(s.Machines, machine)
	}
	return s
}

// nodesMost bounds what addresses can name.
const nodesMost = 1 << 16

func (c *Config) validate() error {
	bad := func(format string, args ...any) error {
		return bellows.Errorf(bellows.Config, "run experiment", "", format, args...)
	}
	j := &c.Job
	switch {
	case j.Splits < 1 || j.Driver == nil || j.NewExecutor == nil || j.Items == nil:
		return bad("a job needs splits, Items, a Driver and NewExecutor")
	case len(c.Site.Nodes) < 1 || len(c.Site.Nodes) > nodesMost:
		return bad("%d nodes; must be 1 to %d", len(c.Site.Nodes), nodesMost)
	case min(c.Site.Latency, c.Site.LocalLatency, c.Site.Nap, c.Site.WakeLatency, c.Site.Slice, time.Duration(c.Site.Packet), c.Limit, c.Tick, c.Cuts.Every, c.Cuts.Latency, c.Recovery.Detect, c.Recovery.Restart) < 0 || !(c.Jitter >= 0) || !(c.Cuts.Rate >= 0):
		return bad("latencies, times, rates and jitter may not be negative")
	}
	for i := range j.Tables {
		if err := j.Tables[i].Validate(); err != nil {
			return err
		}
	}
	for i, m := range c.Site.Machines {
		if m.Cores < 1 || !(m.Speed > 0) || !(m.Up >= 0) || !(m.Down >= 0) {
			return bad("machine %d is %+v; it needs a core, and nothing negative", i, m)
		}
	}
	for i, b := range c.Site.Budgets {
		if !c.Site.hasMachine(b.From) || !c.Site.hasMachine(b.To) || !(b.Rate > 0) || b.Burst < 0 {
			return bad("budget %d is %+v, between two of %d machines", i, b, len(c.Site.Machines))
		}
	}
	for _, check := range []func(func(string, ...any) error) error{c.validateNodes, c.validateShape, c.validateGrowth} {
		if err := check(bad); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) validateGrowth(bad func(string, ...any) error) error {
	workers := 0
	for _, n := range c.Site.Nodes {
		if n.Slots > 0 {
			workers++
		}
	}
	for i, a := range c.Growth {
		n := a.Node
		if !c.Site.hasMachine(n.Machine) || n.Slots < 0 || n.Lanes < 0 || n.Slots+n.Lanes == 0 || n.Lanes >= nodesMost || a.At < 0 || a.Start < 0 {
			return bad("arrival %d is %+v, on one of %d machines", i, a, len(c.Site.Machines))
		}
		if n.Slots > 0 {
			workers++
		}
	}
	if workers > c.Job.Splits && c.Shape == nil {
		return bad("%d nodes are to compute in the end and the job has %d splits; set splits", workers, c.Job.Splits)
	}
	return nil
}

func (c *Config) validateNodes(bad func(string, ...any) error) error {
	workers, lanes := 0, 0
	for i, n := range c.Site.Nodes {
		if !c.Site.hasMachine(n.Machine) || n.Slots < 0 || n.Lanes < 0 || n.Lanes >= nodesMost || !(n.Budget.Rate >= 0) || n.Budget.Burst < 0 {
			return bad("node %d is %+v, on one of %d machines", i, n, len(c.Site.Machines))
		}
		if lanes += n.Lanes; n.Slots > 0 {
			workers++
		}
	}
	switch {
	case workers == 0 || lanes == 0:
		return bad("no node has compute slots, or none has lanes")
	case workers > c.Job.Splits && c.Shape == nil:
		return bad("%d nodes compute and the job has %d splits, so that some would have none; use fewer nodes, or set splits", workers, c.Job.Splits)
	}
	for _, cost := range []float64{c.Costs.Item, c.Costs.Task, c.Costs.Score, c.Costs.Send, c.Costs.SendByte, c.Costs.Receive,
		c.Costs.ReceiveByte, c.Costs.Wake, c.Costs.Local, c.Costs.LocalByte, c.Costs.ApplyByte} {
		if !(cost >= 0) {
			return bad("a cost is %v", cost)
		}
	}
	return nil
}
