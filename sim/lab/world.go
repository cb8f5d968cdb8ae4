package lab

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"bellows"
	"bellows/core"
	"bellows/route"
	"bellows/server"
	"bellows/sim/internal/agenda"
	"bellows/sim/internal/parcel"
	"bellows/train"
	"bellows/wire"
)

// world is a job on a site, and all that happens there. Its time is in nanoseconds.
type world struct {
	cfg      *Config
	agenda   agenda.Agenda[event]
	common   core.Job // what the actors are made of
	machines []*machine
	nodes    []*node
	lanes    map[wire.Address]*server.Lane // for look-ups only
	hands    []*hand                       // per split
	batch    wire.Batch                    // to encode with
	joiner   wire.Joiner                   // and to decode
	over     []*job                        // scratch

	goroutines sync.WaitGroup
	sum        parcel.Hash // of everything that happened
	events     int64
	work       float64 // nanoseconds of cores that were asked for
	epochs     []Epoch
	before     Epoch // what epochs are counted from
	err        error
}

// event is something that is due.
type event struct {
	what    what
	machine *machine
	node    *node
	frame   *frame
	stamp   uint32
}

// what is a kind of event.
type what uint8

const (
	machineTick what = iota // a job of the machine is done, or its speed changes
	frameAtLink             // the frame comes to the receiver's downlink
	frameIn                 // the frame is at the receiver
	nodeWakes               // the node looks at its mail again
)

// Run runs an experiment to its end. An error says why the job ended early, as it would in production; or what is
// wrong with the Config; or that the job hangs.
func Run(cfg Config) (*Result, error) {
	cfg.Site.Machines = slices.Clone(cfg.Site.Machines)
	for i := range cfg.Site.Machines {
		if m := &cfg.Site.Machines[i]; m.Speed == 0 {
			m.Speed = 1
		}
	}
	if cfg.Limit == 0 {
		cfg.Limit = limitDefault
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w, err := newWorld(&cfg)
	if err != nil {
		return nil, err
	}
	for _, n := range w.nodes {
		n.meter.Compute(0, 0) // slots are idle from the beginning on
	}
	w.nodes[0].lead.start()
	w.run()
	if err := w.close(); err != nil {
		return nil, err
	}
	return w.result()
}

func newWorld(cfg *Config) (*world, error) {
	w := &world{cfg: cfg, lanes: map[wire.Address]*server.Lane{}, hands: make([]*hand, cfg.Job.Splits)}
	for _, m := range cfg.Site.Machines {
		w.machines = append(w.machines, &machine{Machine: m, w: w})
	}
	var workers []bellows.NodeID
	var counts []int // of lanes
	for i, n := range cfg.Site.Nodes {
		at := &node{w: w, id: bellows.NodeID(i), machine: w.machines[n.Machine]}
		at.service.node = at
		w.nodes, counts = append(w.nodes, at), append(counts, n.Lanes)
		if n.Slots > 0 {
			workers = append(workers, at.id)
		}
	}
	lanes := route.Lanes(counts)
	w.common = core.Job{Controller: wire.ControllerAt(), Nodes: len(w.nodes), Lanes: lanes, Clients: route.Clients(workers),
		Tables: cfg.Job.Tables, Route: route.Spread(cfg.Job.Tables, cfg.Job.Splits, lanes, workers), Items: cfg.Job.Items}
	w.nodes[0].addLead()
	for i, n := range cfg.Site.Nodes {
		if err := w.nodes[i].addLanes(n.Lanes); err != nil {
			return nil, err
		}
		if n.Slots == 0 {
			continue
		}
		if err := w.nodes[i].addClient(n.Slots); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// now is the time since the job began.
func (w *world) now() time.Duration { return time.Duration(w.agenda.Now()) }

// run lets everything happen until the job is over.
func (w *world) run() {
	lead := w.nodes[0].lead
	for lead.outcome == nil && w.err == nil {
		e, ok := w.agenda.Next()
		switch {
		case !ok:
			w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "the job hangs after %v: %s", w.now(), w.hanging()))
			return
		case w.now() > w.cfg.Limit:
			w.fail(bellows.Errorf(bellows.Config, "run experiment", "", "the job is not over after %v of virtual time; set a higher limit", w.cfg.Limit))
			return
		}
		w.events++
		switch e.what {
		case machineTick:
			e.machine.tick(e.stamp)
		case frameAtLink:
			w.atLink(e.frame)
		case frameIn:
			e.frame.to.arrives(e.frame)
		case nodeWakes:
			e.node.awake()
		}
	}
}

// fail ends the experiment with its first error.
func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// notice takes a sentence about a wait that lasts. The world tells actors no time, so that none should come.
func (w *world) notice(sentence string) {
	w.fail(bellows.Errorf(bellows.Bug, "run experiment", "", "%s", sentence))
}

// hanging says what the job waits for.
func (w *world) hanging() string {
	asleep := 0
	var first *hand
	for _, h := range w.hands {
		if h != nil && h.asleep {
			if asleep++; first == nil {
				first = h
			}
		}
	}
	if first == nil {
		return "no task waits"
	}
	return fmt.Sprintf("%d tasks wait, the first of them clock %d of split %d at node %d", asleep, first.task.Clock(), first.task.Split(), first.node.id)
}

// close ends all goroutines and closes the executors.
func (w *world) close() error {
	for _, n := range w.nodes {
		if n.runner != nil { // one that has been told already does not mind
			n.runner.Step([]wire.Envelope{{From: wire.ControllerAt(), To: wire.ClientAt(n.id), Message: &wire.End{}}})
		}
	}
	for _, h := range w.hands {
		h.abandon()
	}
	w.goroutines.Wait()
	var first error
	for _, n := range w.nodes {
		if n.runner == nil {
			continue
		}
		if err := n.runner.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// trace adds something that happens to the hash.
func (w *world) trace(a, b uint64) {
	w.sum.Word(uint64(w.agenda.Now()))
	w.sum.Word(a)
	w.sum.Word(b)
}

func (w *world) traceUnit(what uint64, t *train.Task) {
	w.trace(what<<56|uint64(t.Split()), uint64(t.Clock()))
}
