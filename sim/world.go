package sim

import (
	"fmt"
	"io"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/partition"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/sim/internal/advising"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/mailbox"
	"bellows/sim/internal/model"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/reshaping"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/steps"
	"bellows/sim/internal/trace"
	"bellows/sim/internal/transit"
	"bellows/sim/internal/virtual"
)

// Times, in milliseconds.
const (
	resendEvery = 5
	beatEvery   = 100
	stillMax    = 30000  // a job in which nothing has come about for so long hangs: every patience is shorter
	deadline    = 300000 // a job that is not over by then hangs too; sound ones have taken 120 s (seed 75550)
	afterwards  = 300    // how long the world runs when all is over, for messages that are late
)

// world is one life of a job: its actors on their nodes, and all that happens to them. Package lifecycle names the states that it
// goes through. At any time it may be invaded: then a node sends what no sound one would, and nothing but a panic counts any more.
// A life that was interrupted is followed by another world (again), with other nodes and the image that this one has left.
//
// There is one goroutine. Everything happens in an event of the queue, at a node or at none. An event of a node that is paused
// waits until the pause ends, and one of a node that is gone does not happen. All chance is the schedule's, and no
// map is walked if its order could show: so a seed has one trace (TestSameSeedSameTrace), and an observer that is added changes none.
//
// The world makes things happen, and its observers check them: against the model, an account kept from the messages alone, or the
// faults that were injected (faults.ends). The first promise that is broken ends the schedule. Nobody asks an actor what it believes
// and takes that for true: observers ask what an actor holds (images, counts), and compare.
type world struct {
	*schedule.Schedule
	*trace.Trace
	virtual.Queue[*node]
	observers
	leader
	life
	common   core.Job     // what the actors are made of
	route    *route.Route // the current one of node 0
	nodes    []*node
	lanes    []*lane
	workers  []*worker
	net      *transit.Network[*node]
	mail     *mailbox.World[*node]
	cuts     cutting.Shells
	steps    *steps.Life
	advice   *advising.Run
	oracle   *model.Oracle
	coverage *coverage.Coverage
	faults   faults
	hooks    grid.Hooks
}

// leader is the controller on node 0, and what it was asked for.
type leader struct {
	lead       *shell.Lead
	fx         coord.Effects
	driver     *driver.Driver
	followedAt int64               // when the last controller followed another
	losses     int                 // nodes that it knows to be lost
	taken      []schedule.Entry    // of what grows, what the controller was asked for
	removed    []wire.Address      // actors that were asked to leave
	shaper     *reshaping.Shaper   // drives the job to other shapes; nil: the schedule wants none
	commands   *reshaping.Commands // of the shaper
	persons    reshaping.Persons   // ask the shaper
	pending    []reshape.Ask       // what is to be asked of the next shaper
}

// life is how one life of a job goes.
type life struct {
	number  int   // how often the job was interrupted before
	over    int64 // when every node had left; 0: not yet
	movedAt int64 // when something last came about
	lost    bool  // all nodes are lost at once
	invaded bool  // a node has sent what no sound one would: nothing counts any more
}

// lane is a server lane on its node.
type lane struct {
	*lanewatch.Lane
	node *node
}

// actor is the mailbox of a state machine.
type actor = mailbox.Box[*node]

// letter is a message for an actor.
type letter = mailbox.Letter

func newWorld(seed uint64, log io.Writer, h grid.Hooks) *world {
	w := firstLife(schedule.New(seed), log)
	w.hooks = h
	w.build()
	return w
}

// firstLife makes the first life of a job, without nodes.
func firstLife(s *schedule.Schedule, log io.Writer) *world {
	w := &world{Schedule: s, Trace: &trace.Trace{Log: log}, coverage: new(coverage.Coverage), oracle: model.NewOracle(s.Job)}
	w.Clock, w.advice = &w.Now, advising.New(w.Trace, w.coverage, s.Advising)
	return w
}

// build makes the nodes and actors that the schedule decides on.
func (w *world) build() {
	var states []*nodestate.Node
	for i := range w.NodeCount {
		n := &node{w: w, drift: w.Schedule.Drift[i], heard: make([]uint64, w.NodeCount), doors: join.NewNewcomers(bellows.NodeID(w.NodeCount), w.Connections)}
		n.Number = bellows.NodeID(i)
		w.nodes, states = append(w.nodes, n), append(states, &n.Node)
	}
	w.connect()
	w.common = core.Job{Controller: wire.ControllerAt(), Nodes: len(w.nodes), NodesMost: w.nodesMost(), Lanes: w.LaneAt, Clients: w.ClientAt, Era: w.era(),
		Incarnations: slices.Repeat([]uint32{w.incarnation()}, len(w.ClientAt)), Tables: w.Job.Schemas,
		Route: w.FirstRoute(), Items: w.Job.Items, Units: w.Job.Units, Times: times}
	for _, n := range w.nodes {
		n.checker = validate.New(w.common, n.Number)
	}
	w.route = w.common.Route
	w.mail = &mailbox.World[*node]{Trace: w.Trace, Queue: &w.Queue, Rng: w.Rng, Observers: &w.list}
	w.observe(states)
	w.cutShells()
	for _, a := range w.LaneAt {
		w.addLane(a)
	}
	w.addController()
	for i, a := range w.ClientAt {
		w.addWorker(a, w.Slots[i])
	}
	w.faults.plans, w.faults.forger = w.Schedule.Plans, w.forger()
	w.expect()
}

func (w *world) addActor(a wire.Address, step func([]wire.Envelope)) {
	n := w.nodes[a.Node]
	n.actors = append(n.actors, mailbox.New(w.mail, a, n, step))
}

// actor returns the actor at an address, or nil for an address without one, such as a forged sender.
func (w *world) actor(a wire.Address) *actor {
	if int(a.Node) < len(w.nodes) {
		for _, at := range w.nodes[a.Node].actors {
			if at.Address == a {
				return at
			}
		}
	}
	return nil
}

func (w *world) addLane(a wire.Address) {
	l, err := server.NewLane(w.common, a, server.Options{HeldBytesMax: w.HeldMax, KeySeed: w.KeySeed, Limits: w.Limits.Lane, Follow: w.opened})
	if err != nil {
		panic(err)
	}
	at := &lane{Lane: &lanewatch.Lane{Lane: l, Address: a}, node: w.nodes[a.Node]}
	at.node.lanes = append(at.node.lanes, at)
	w.lanes = append(w.lanes, at)
	w.known.Add(at.Lane)
	w.flushes.AddLane(a)
	var out wire.Outbox
	w.addActor(a, func(batch []wire.Envelope) {
		for _, e := range batch {
			w.before(e)
		}
		l.Step(at.Due(batch), &out)
		w.list.After(a, out.Envelopes)
		w.post(at.node, &out)
		w.cuts.Hear(l, a)
	})
}

// opened gives a new partition to those that read its log.
func (w *world) opened(p *partition.Partition) {
	if w.hooks.OnPartition != nil {
		w.hooks.OnPartition(p)
	}
	w.mirrors.Follow(p)
}

func (w *world) addController() {
	w.driver = driver.New(w.Schedule, w.oracle, w.Violated)
	w.beginFailover()
	var err error
	if w.lead, err = shell.NewLead(w.common, w.controllerOptions()); err != nil {
		panic(err)
	}
	w.drive()
	w.addActor(wire.ControllerAt(), func(batch []wire.Envelope) {
		w.lead.Step(batch, &w.fx)
		w.obey()
	})
}

// post takes an actor's mail: straight to its receiver on the same node, else to the link.
func (w *world) post(from *node, out *wire.Outbox) {
	for _, e := range out.Envelopes {
		if m, ok := e.Message.(*wire.Complaint); ok && m.Breach && !from.refuses(m.Node) {
			w.Violated("an actor was sent what cannot be: %s", m.Reason)
			continue
		}
		w.Messages++
		w.list.Posted(e)
		to, sum := w.actor(e.To), uint64(0)
		if to != nil && to.Node != from || w.Messages%4 == 0 { // of a node's own, some are compared
			sum = msgcopy.Digest(e.Message)
		}
		switch {
		case w.loses(e):
		case to == nil: // the supposed sender of forged mail
			w.answerForged(e)
		case to.Node == from:
			w.Must(w.failover.Fresh.Judge(from.Number, wire.Header{Kind: e.Kind(), From: e.From, To: e.To}, e))
			to.Put(letter{Envelope: e, Digest: sum})
		case from.pairs.Find(to.Node.Number) == nil:
			w.unreachable(e)
		default:
			from.pairs[to.Node.Number].Send(e, sum)
		}
	}
	clear(out.Envelopes)
	out.Envelopes = out.Envelopes[:0]
}

// moved notes that something has come about which others may have waited for.
func (w *world) moved() { w.movedAt = w.Now }

// run lets everything happen until the job is over, a promise is broken, or it hangs.
func (w *world) run() {
	for _, n := range w.nodes {
		n.begin()
	}
	w.host(true)
	for w.Violation == "" && !w.invaded && !w.lost {
		e, ok := w.Next()
		switch {
		case w.over > 0 && (!ok || w.Now > w.over+afterwards):
			return
		case !ok || w.Now > deadline || w.Now > w.movedAt+stillMax:
			w.Violated("P8: the job hangs: %s", w.hanging())
			return
		case e.Node != nil && e.Node.Done():
			continue
		case e.Node != nil && e.Node.PausedUntil > w.Now:
			w.movedAt = max(w.movedAt, e.Node.PausedUntil)
			w.After(e.Node.PausedUntil-w.Now, e.Node, e.Do)
			continue
		}
		e.Do()
		w.consider()
		if w.over == 0 && w.states.Done() {
			w.over = w.Now
		}
	}
}

// hanging describes what the world waits for.
func (w *world) hanging() string {
	for _, k := range w.workers {
		for _, s := range k.scripts {
			if s != nil && s.waiting && !k.node.Done() && k.client.Ended() == nil {
				return fmt.Sprintf("%v at node %d waits in step %d since %d ms; %d commits", s.unit, k.node.Number, s.Position(), s.since, len(w.oracle.Log))
			}
		}
	}
	for _, n := range w.nodes {
		if !n.Done() {
			return fmt.Sprintf("node %d is still there, told of the end: %v; outcome %+v; %d commits", n.Number, n.released(), w.job.Outcome, len(w.oracle.Log))
		}
	}
	return "everybody has left"
}
