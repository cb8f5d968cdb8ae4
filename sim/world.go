package sim

import (
	"fmt"
	"io"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/await"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/model"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/steps"
	"bellows/sim/internal/trace"
	"bellows/sim/internal/transit"
	"bellows/sim/internal/virtual"
	"bellows/sim/internal/witness"
)

// Times, in milliseconds.
const (
	resendEvery = 5
	beatEvery   = 100
	stillMax    = 30000  // a job in which nothing has come about for so long hangs: every patience is shorter
	deadline    = 300000 // a job that is not over by then hangs too; sound ones have taken 120 s (seed 75550)
	afterwards  = 300    // how long the world goes on when all is over, for what comes late
)

// world is a job's actors on their nodes, and all that happens to them: one life of the job. What it goes through is
//
//	joining      until the first tasks leave (begun)
//	training     until a controller says End (ending); lanes and clients may be added, and controllers lost
//	ending       until there is an outcome; its state is collected meanwhile
//	letting go   until node 0 has closed its connections (released) and everybody has left (over), and a while longer for what comes late
//
// or, at any time, invaded: then a node says what no sound one would, and nothing but a panic counts any more. A life that was interrupted is followed
// by another world (again), with other nodes and the image that this one has left.
//
// There is one goroutine. Everything happens in an event of the queue, at a node or at none; an event of a node that has stopped waits until
// it wakes, and one of a node that is gone does not happen. All chance is the schedule's, and no map is walked whose order could show: so a seed has one trace
// (TestSameSeedSameTrace), and adding to what the world looks at changes none.
//
// What is checked is checked where it happens, against the model (oracle, witness), an account kept from the messages alone (ledger), or what was
// injected (faults.ends). The first promise that is broken ends the schedule. The world never asks an actor what it believes and takes that for true;
// it asks what an actor holds (images, counts), and compares.
type world struct {
	*schedule.Schedule
	*trace.Trace
	virtual.Queue[*node]
	common      core.Job         // what the actors are made of
	route       *route.Route     // of now, as node 0 has it
	taken       []schedule.Entry // of what grows, what the controller was asked for
	nodes       []*node
	lanes       []*lane
	workers     []*worker
	lead        *shell.Lead
	fx          coord.Effects
	driver      *driver.Driver
	outcome     *coord.Outcome
	released    bool     // node 0 has let the others go
	followedAt  int64    // when the last controller followed another
	named       []string // the controller's notices
	await       await.Watch
	lastWords   int  // that node 0 has heard
	asked       bool // lanes for their state
	surrendered int  // messages with state that have come
	losses      int  // nodes that it knows to be lost
	failover    failover
	cuts        cutting.Shells
	lost        bool // all nodes are, at once
	moves       moves
	net         *transit.Network[*node]
	whole       bool           // the state has come together
	life        int            // how often the job has gone on after an interruption
	before      *cutting.Image // what the life before has left; nil: none
	over        int64          // when everybody had left; 0: not yet
	movedAt     int64          // when something last came about

	oracle      *model.Oracle
	witness     *witness.Witness
	steps       *steps.Life
	ledger      account.Ledger
	faults      faults
	stages      [][schedule.Stages]int // per node
	begun       bool                   // tasks have been dispatched
	removed     []wire.Address         // actors that were to take part no more
	ending      bool                   // a controller has said End
	endedBy     bellows.Term           // of the last that has
	interrupted bool                   // the user wants out
	invaded     bool                   // a node has said what no sound one would: nothing counts any more

	bits     msgcopy.Hash // of the tables at the end
	coverage *coverage.Coverage
	hooks    grid.Hooks
}

// lane is a server lane and what the world has seen of it.
type lane struct {
	*server.Lane
	address wire.Address
	node    *node
	told    bool // by the controller that the job is over
	closed  bool
	gaveAt  int64                // when it had given all of its state to node 0, which may hear in one step that it is lost; 0: not yet
	lied    bool                 // somebody has spoken in its name
	kept    bellows.CommitNumber // what its images show; 0: it has none
	deaf    bool                 // it has been told a time at which it had not heard node 0 for a lease, and has not heard it since
	lost    []bellows.NodeID     // of which it was told that they are gone
	fenced  []bellows.NodeID     // whose clients it was told are gone
	buried  []bellows.NodeID     // of these, by a record
	parted  int                  // of these, before the batch that it is taking
	look    bool                 // at its images, after the step
	term    bellows.Term         // it has heard
}

// part is what the lane has of a flush.
func (l *lane) part(id bellows.FlushID) account.PartAt {
	return account.PartAt{Lane: l.address, Flush: id}
}

// actor is one state machine's mailbox. What comes is taken all at once, a moment after the first of it has come, so that batches have one message or many, as in production; messages of one sender stay
// in their order. Every message has a digest from where it was posted, and some are looked at again here: what an actor goes on writing into after it has sent it shows.
type actor struct {
	w       *world
	address wire.Address
	node    *node
	inbox   []letter
	batch   []wire.Envelope
	awake   bool
	woken   func() // wake
	step    func(batch []wire.Envelope)
}

// letter is mail, with the digest that it had when it was posted. What the world forges is nobody's to account for.
type letter struct {
	envelope wire.Envelope
	digest   uint64
	forged   bool
}

func newWorld(seed uint64, log io.Writer) *world {
	w := firstLife(schedule.New(seed), log)
	w.build()
	return w
}

// firstLife makes the first life of a job, without nodes.
func firstLife(s *schedule.Schedule, log io.Writer) *world {
	w := &world{Schedule: s, Trace: &trace.Trace{Log: log}, coverage: new(coverage.Coverage), oracle: model.NewOracle(s.Job)}
	w.Clock = &w.Now
	return w
}

// build makes the nodes and actors that the schedule decides on.
func (w *world) build() {
	for i := range w.NodeCount {
		w.nodes = append(w.nodes, &node{w: w, id: bellows.NodeID(i), drift: w.Schedule.Drift[i], heard: make([]uint64, w.NodeCount),
			doors: join.NewNewcomers(bellows.NodeID(w.NodeCount), w.Connections)})
	}
	w.stages = make([][schedule.Stages]int, len(w.nodes))
	w.connect()
	nodes := make([]bellows.NodeID, 0, len(w.ClientAt))
	for _, a := range w.ClientAt {
		nodes = append(nodes, a.Node)
	}
	w.common = core.Job{Controller: wire.ControllerAt(), Nodes: len(w.nodes), NodesMost: w.nodesMost(), Lanes: w.LaneAt, Clients: w.ClientAt, Era: w.era(),
		Incarnations: slices.Repeat([]uint32{w.incarnation()}, len(w.ClientAt)), Tables: w.Job.Schemas,
		Route: route.Spread(w.Job.Schemas, w.Job.Splits, w.LaneAt, nodes), Items: w.Job.Items, Units: w.Job.Units, Times: times}
	for _, n := range w.nodes {
		n.checker = validate.New(w.common, n.id)
	}
	w.ledger = account.NewLedger(w.common.Route)
	w.witness = witness.New(w.Schedule, w.oracle, w.Violated)
	w.steps = &steps.Life{Schedule: w.Schedule, Route: w.common.Route, Witness: w.witness, Coverage: w.coverage, Violated: w.Violated,
		Leased: func(n bellows.NodeID) { w.enter(n, schedule.LeaseHeld) }}
	w.cutShells()
	for _, a := range w.LaneAt {
		w.addLane(a)
	}
	w.addController()
	for i, a := range w.ClientAt {
		w.addWorker(a, w.Slots[i])
	}
	w.faults.plans = w.Schedule.Plans
	if w.willInvade() {
		w.faults.hostile = new(hostile.Memory)
	}
	w.route = w.common.Route
	w.moves.History, w.moves.phases = account.NewHistory(w.route), map[bellows.PartitionRef]*moveState{}
	w.expect()
}

func (w *world) addActor(a wire.Address, step func([]wire.Envelope)) {
	at := &actor{w: w, address: a, node: w.nodes[a.Node], step: step}
	at.woken = at.wake
	at.node.actors = append(at.node.actors, at)
}

// actor is that of an address; nil: there is none, as of whoever the world forges mail from.
func (w *world) actor(a wire.Address) *actor {
	if int(a.Node) < len(w.nodes) {
		for _, at := range w.nodes[a.Node].actors {
			if at.address == a {
				return at
			}
		}
	}
	return nil
}

func (w *world) addLane(a wire.Address) {
	l, err := server.NewLane(w.common, a, server.Options{HeldBytesMax: w.HeldMax, KeySeed: w.KeySeed, Limits: w.Limits.Lane})
	if err != nil {
		panic(err)
	}
	at := &lane{Lane: l, address: a, node: w.nodes[a.Node]}
	at.node.lanes = append(at.node.lanes, at)
	w.lanes = append(w.lanes, at)
	var out wire.Outbox
	w.addActor(a, func(batch []wire.Envelope) {
		w.beforeLane(at, batch)
		l.Step(at.due(batch), &out)
		w.afterLane(at, out.Envelopes)
		w.post(at.node, &out)
		w.cuts.Hear(l, a)
	})
}

// due is a batch as a node gives it to a lane that copies partitions: without words of which a later one says all that they do.
func (l *lane) due(batch []wire.Envelope) []wire.Envelope {
	said := func(e wire.Envelope) bool {
		m, ok := e.Message.(*wire.Taken)
		return ok && l.CopyOf(e.From, m) == server.CopyUnderWay
	}
	if !slices.ContainsFunc(batch, said) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), said)
}

func (w *world) addController() {
	w.driver = driver.New(w.Schedule, w.oracle, w.Violated)
	w.failover.begin(w)
	var err error
	if w.lead, err = shell.NewLead(w.common, w.controllerOptions()); err != nil {
		panic(err)
	}
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
		w.sees(e)
		to, sum := w.actor(e.To), uint64(0)
		if to != nil && to.node != from || w.Messages%4 == 0 { // of a node's own, some are looked at
			sum = msgcopy.Digest(e.Message)
		}
		switch {
		case w.loses(e):
		case to == nil: // whoever the world forged mail from
			w.answerForged(e)
		case to.node == from:
			w.Must(w.failover.fresh.Judge(from.id, wire.Header{Kind: e.Kind(), From: e.From, To: e.To}, e))
			to.put(letter{envelope: e, digest: sum})
		case from.pairs.To(to.node.id) == nil:
			w.unreachable(e)
		default:
			from.pairs[to.node.id].Send(e, sum)
		}
	}
	clear(out.Envelopes)
	out.Envelopes = out.Envelopes[:0]
}

// put leaves mail for an actor, which takes all it has at once, soon.
func (a *actor) put(l letter) {
	if a.node.done() {
		return
	}
	a.inbox = append(a.inbox, l)
	if !a.awake {
		a.awake = true
		a.w.After(int64(a.w.Rng.IntN(4))/2, a.node, a.woken)
	}
}

func (a *actor) wake() {
	a.awake = false
	batch := a.batch[:0]
	for _, l := range a.inbox {
		e := l.envelope
		// What came from another node nobody else has: some of that is looked at. Of what came from here, what has a digest.
		if here := e.From.Node == a.node.id; l.digest != 0 && (here || l.digest%8 == 0) && msgcopy.Digest(e.Message) != l.digest {
			a.w.Violated("a message changed between its sender and its receiver: %T from %v to %v", e.Message, e.From, e.To)
		}
		a.w.Event(1, uint64(e.From.Node)<<32|uint64(e.To.Node), l.digest)
		if a.w.Log != nil {
			a.w.Print("%v to %v: %s", e.From, e.To, msgcopy.Describe(e.Message))
		}
		if !l.forged {
			a.w.delivers(e)
		}
		batch = append(batch, e)
	}
	clear(a.inbox)
	a.inbox = a.inbox[:0]
	a.batch = batch
	a.step(batch)
	clear(batch)
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
		case e.Node != nil && e.Node.done():
			continue
		case e.Node != nil && e.Node.pausedUntil > w.Now:
			w.movedAt = max(w.movedAt, e.Node.pausedUntil)
			w.After(e.Node.pausedUntil-w.Now, e.Node, e.Do)
			continue
		}
		e.Do()
		w.consider()
		if w.over == 0 && w.allLeft() {
			w.over = w.Now
		}
	}
}

// allLeft reports whether the work of every node is over.
func (w *world) allLeft() bool {
	for _, n := range w.nodes {
		if !n.done() {
			return false
		}
	}
	return true
}

// hanging says what the world waits for.
func (w *world) hanging() string {
	for _, k := range w.workers {
		for _, s := range k.scripts {
			if s != nil && s.waiting && !k.node.done() && k.client.Ended() == nil {
				return fmt.Sprintf("%v at node %d waits in step %d since %d ms; %d commits", s.unit, k.node.id, s.At(), s.since, len(w.oracle.Log))
			}
		}
	}
	for _, n := range w.nodes {
		if !n.done() {
			return fmt.Sprintf("node %d is still there, told of the end: %v; outcome %+v; %d commits", n.id, n.told(), w.outcome, len(w.oracle.Log))
		}
	}
	return "everybody has left"
}
