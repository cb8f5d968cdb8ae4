package coord

import (
	"cmp"
	"fmt"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/claim"
	"bellows/core/finish"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/planted"
	"bellows/core/roster"
	"bellows/core/route"
	"bellows/link/wire"
)

// Options are what is a controller's own beside its job.
type Options struct {
	// Term is how many controllers the job has had with this one; 0: it is the first.
	Term   bellows.Term
	Driver Driver
	// Collector is given the state of the tables when the job has finished or was interrupted; nil:
	// nobody wants it.
	Collector *checkpoint.Collector
	// Fingerprint is what this node's job is; others must show the same when they are ready. Zero:
	// they are not asked.
	Fingerprint bellows.Fingerprint
	// Stays is why splits cannot go to other nodes; empty: they can.
	Stays string
	// TellFrom is the first record of which a controller that follows another tells again what it has come to,
	// epochs and visits: the one before may have told of it, or not. It has told of those before, which must be
	// there; but of the epoch that ends by the last of these perhaps not, so that it is told again. 0: of none.
	TellFrom bellows.CommitNumber
	// Confirms has epochs and visits wait until a lane has their records: where another process may follow this
	// one, which must find whatever was told.
	Confirms bool
	Limits   Limits
}

// config is what a controller is made of.
type config struct {
	core.Job
	Options
}

// Limits are what a controller bounds by itself. A field is 0, for the default, or less than that,
// which costs messages and changes no result: tests make them small, to reach them.
type Limits struct {
	// Records is how many records wait for the end of their clock: by default 4,096.
	Records int
	// Tail is how many bytes of records each lane keeps for a controller that follows (server.Limits.Tail): by
	// default 4 MiB. When half of that is used since the job was last saved, a cut is due (CutDue). Negative: no
	// controller will follow.
	Tail int
}

// recordsMost is the default of Limits.Records.
const recordsMost = 4096

// Effects are what a step wants done.
type Effects struct {
	wire.Outbox
	journal.Told
	Notices []string // sentences about what is waited for long, and whom
	Losses  []string // sentences about nodes that are lost from now on
	// Left are nodes that may go: nothing of the job is there any more.
	Left   []bellows.NodeID
	Buried []Buried  // nodes that are lost while the job goes on: nothing that they say is heard any more
	Moves  []Moved   // moves of partitions that have come to their end
	Cuts   []CutDone // cuts that are stored, or were given up
	// Route, where it is set, is the job's from now on: the checker of this node learns of it
	// before what is sent here leaves.
	Route *route.Route
	// Met are actors that are asked and that the route does not have: likewise (validate.Checker.Meet).
	Met     []wire.Address
	Outcome *Outcome // set once, when the job is over, everybody has closed, and the state has been collected
}

// Reset empties the effects and keeps their memory.
func (fx *Effects) Reset() {
	clear(fx.Envelopes)
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Told: journal.Told{Epochs: fx.Epochs[:0], Visits: fx.Visits[:0]},
		Notices: fx.Notices[:0], Losses: fx.Losses[:0], Left: fx.Left[:0], Buried: fx.Buried[:0], Moves: fx.Moves[:0],
		Cuts: fx.Cuts[:0], Met: fx.Met[:0]}
}

// Controller is the state of one job: the coordinator of the commit protocol, the other half of the
// application's driver, and the one who says who takes part.
//
// It waits for all nodes to be ready, then trains, is ending (every actor is to say Closed),
// collects the state if the job has finished, and is over when its Outcome is out. One that follows
// another asks every lane first (recovery), and numbers nothing before all have promised its term.
//
// Invariants, and what holds them:
//
//   - Numbers have no gaps, and each is of one record that every lane gets, in order: P1 of the
//     simulation.
//   - A flush counts if every unit of it is its split's next and was dispatched:
//     TestWorkThatWasNotDispatchedIsRefused, TestAnOverlapEndsTheJob,
//     TestUnitsCountInTheOrderOfDispatch; once:
//     TestADoneThatComesAgainIsKnown.
//   - Whatever changes what it does next is a record, or follows from records: a controller that has
//     them dispatches the same (TestNothingIsNumberedBeforeEveryPromise, TestEpochsAppearOnce,
//     train/traintest.CanBeSaved of every driver).
//   - What leaves in a step leaves records first, then routes, then dispatches, which rely on both
//     (conclude). The simulation finds the planted bug route-told-first.
//   - It declares nobody gone for a silence through which it slept itself:
//     TestAControllerThatSleptBlamesNobody.
//   - Whom it waits for is named after a while, and given up at last:
//     TestWhoKeepsTheJobFromEndingIsNamed, TestATaskThatDoesNotEndIsNamedAndEndsTheJob, P8 of the
//     simulation.
//
// It has no lock: one goroutine at a time steps it. Turned down: a record of the driver's state
// instead of a replay, which is as large as the splits are many, and until all lanes had it none
// could free what is before it (docs/decisions/0032).
type Controller struct {
	cfg        config
	dispatcher Dispatcher
	nowMillis  int64

	log      *journal.Journal
	roster   *roster.Roster
	claims   *claim.Book // what is out, and what may count next
	cut      *checkpoint.Cutter
	recovery *recovery // nil: it is the first, or has taken over

	agenda agenda

	// Where the job is.
	opened bool // Start was called
	begun  bool // the first tasks have left
	ending *finish.Ending

	// How long it has waited for what is next.
	waits    liveness.Wait
	timeless bool // it follows another, and does not know the time
}

// agenda is what the driver has asked for and the user wants, besides tasks that are out.
type agenda struct {
	staleness []wire.Staleness // changes since the job's start
	announced int              // of these, sent to clients
	queue     []wire.Task      // dispatched by the driver, to be begun by another run
	resumed   []Out            // tasks that a saved run had out, to be run again
	finishing bool             // the driver has no more tasks
	interrupt bool             // the user wants out
	draining  bool             // clocks that have begun are the last
}

// New makes the controller of a job.
func New(job core.Job, opt Options) *Controller {
	cfg := config{job, opt}
	cfg.Limits.Records = cmp.Or(cfg.Limits.Records, recordsMost)
	c := &Controller{cfg: cfg}
	c.cfg.Times, c.cfg.Term = cfg.Times.Or(), max(cfg.Term, 1)
	c.claims = claim.NewBook(&c.cfg.Job, c.cfg.Term)
	c.log = journal.New(journal.Options{Self: cfg.Controller, Term: c.cfg.Term, RecordsMax: cfg.Limits.Records,
		TailMax: cfg.Limits.Tail, Confirms: cfg.Confirms})
	c.roster = roster.New(job, roster.Options{Term: c.cfg.Term, Stays: cfg.Stays})
	c.cut = checkpoint.NewCutter(c.cfg.Job, c.cfg.Term)
	c.ending = finish.New(&c.cfg.Job, c.cfg.Term, cfg.Collector)
	c.dispatcher.c = c
	return c
}

// Resume continues a job from a saved state instead of its beginning; call it before Start.
func (c *Controller) Resume(s State) error {
	if err := c.claims.Resume(s.Complete); err != nil {
		return err
	}
	if err := c.cfg.Driver.Restore(s.Driver); err != nil {
		return err
	}
	c.agenda.queue, c.agenda.finishing, c.agenda.resumed = s.Queue, s.Finishing, s.Out
	if !planted.On("staleness-forgotten") {
		c.agenda.staleness = s.Staleness
	}
	return nil
}

// Start lets the driver dispatch its first tasks, or dispatches those that a saved run had left, when all
// nodes are ready.
func (c *Controller) Start(fx *Effects) {
	fx.Era = c.cfg.Era
	c.opened = true
	c.begin(fx)
	c.conclude(fx)
}

// begin dispatches the first tasks, if nobody is waited for and it has not been done. One that
// follows another asks the lanes instead, and begins when it knows what they know.
func (c *Controller) begin(fx *Effects) {
	if c.begun || !c.opened || c.ending.Begun() {
		return
	}
	if c.recovery != nil {
		if r := c.recovery; c.roster.AllReady() && !r.ready {
			r.ready = true
			c.waits.Restart(c.nowMillis)
		}
		if c.roster.AllReady() {
			c.ask(fx)
		}
		c.chooseTail(fx)
		return
	}
	if !c.roster.AllReady() {
		return
	}
	c.begun = true
	c.drain()
	c.dispatchFirst(fx)
}

// takeReady lets the job begin when the last node is ready. A node that has made another job ends this one.
func (c *Controller) takeReady(n bellows.NodeID, job bellows.Fingerprint, fx *Effects) {
	c.roster.Ready(n)
	if want := c.cfg.Fingerprint; want != (bellows.Fingerprint{}) && job != want && !c.ending.Begun() {
		c.end(&Outcome{Kind: bellows.Config, Reason: fmt.Sprintf("node %d has made another job than node %d: what differs is %s",
			n, c.cfg.Controller.Node, want.Differs(job))}, fx)
	}
	c.begin(fx)
}

// dispatchFirst dispatches the first tasks, or those that a saved run had left.
func (c *Controller) dispatchFirst(fx *Effects) {
	for _, m := range c.agenda.staleness {
		c.control(staleness(m))
	}
	c.dispatchAgain()
	if c.agenda.queue == nil && c.claims.Outstanding() == 0 {
		c.dispatcher.fx = fx
		c.cfg.Driver.DispatchInitialTasks(&c.dispatcher)
	} else {
		queue := c.agenda.queue
		c.agenda.queue = nil
		for _, t := range queue {
			if planted.On("queue-forgotten") {
				break
			}
			c.dispatcher.DispatchTask(t.Unit.Split, t.Args...)
		}
	}
}

// dispatchAgain dispatches what a saved run had out.
func (c *Controller) dispatchAgain() {
	list := c.agenda.resumed
	c.agenda.resumed = nil
	if len(list) > 0 {
		c.waits.Begin(c.nowMillis)
	}
	for i := range list {
		t := &list[i]
		c.claims.Claim(t.Unit, t.Args, c.log.Number(), c.roster.Route().Node(t.Unit.Split), c.recovery == nil)
	}
}

// Step takes messages in the order in which they arrived. What follows from all of them leaves at
// its end (conclude), so that a batch of dones makes one message of records for each lane.
func (c *Controller) Step(batch []wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	for _, e := range batch {
		if !e.IsOfEra(c.cfg.Era) || c.roster.IsRemoved(e.From.Node) && !planted.On("lost-heard") {
			continue
		}
		c.roster.Heard(e.From.Node)
		switch m := e.Message.(type) {
		case *wire.Done:
			c.takeDone(e.From, m, fx)
		case *wire.Computing:
			c.claims.TakeComputing(m, c.nowMillis)
		case *wire.Recalled:
			c.takeRecalled(e.From, m, fx)
		case *wire.Failed:
			c.fail(e.From, m, fx)
		case *wire.Ready:
			c.takeReady(e.From.Node, m.Fingerprint, fx)
		case *wire.Complaint:
			if m.Breach || m.Node == e.From.Node { // no reason is better
				c.lose(m.Node, m.Reason, m.Breach, fx)
			} else {
				c.roster.Accuse(e.From.Node, m.Node, m.Reason, c.cfg.Times.Complaint)
			}
		case *wire.Holding:
			c.takeHolding(e.From, m, fx)
		case *wire.Records:
			c.takeTail(e.From, m, fx)
		case *wire.Closed:
			c.takeClosed(e.From, m, fx)
		case *wire.Adopted:
			c.takeAdopted(m.List, fx)
		case *wire.Prepared:
			c.takePrepared(e.From, m, fx)
		case *wire.Shard:
			c.takeShard(e.From, m, fx)
		case *wire.Slab:
			c.takeState(e.From, c.ending.TakeSlab(e.From, m, c.nowMillis, &fx.Outbox), fx)
		case *wire.Collected:
			c.takeState(e.From, c.ending.TakeCollected(e.From, m, c.nowMillis), fx)
		}
	}
	c.conclude(fx)
}

// fail ends the job by what a task or an actor has said, whose cause is kept where it was in this
// process. A controller that follows another knows first who takes part and what counts (decided).
func (c *Controller) fail(from wire.Address, m *wire.Failed, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	kind := m.Kind
	if m.Err != nil {
		kind = bellows.KindOf(m.Err)
	}
	who := from.String()
	if m.Unit != (bellows.Unit{}) {
		who = fmt.Sprintf("%v on %v", m.Unit, from)
	}
	o := &Outcome{Kind: kind, Reason: fmt.Sprintf("%s failed: %s", who, m.Reason), Err: m.Err}
	if r := c.recovery; r != nil && !planted.On("failed-too-soon") {
		r.failed = cmp.Or(r.failed, o)
		return
	}
	c.end(o, fx)
}

// Interrupt winds the job down to a point from which it can continue: clocks that have begun are
// finished, later tasks are left in the queue. A second one changes nothing.
func (c *Controller) Interrupt(fx *Effects) {
	fx.Era = c.cfg.Era
	c.agenda.interrupt = c.agenda.interrupt || !c.ending.Begun()
	if c.begun && !c.ending.Begun() {
		c.drain()
	}
}

// drain begins the end of an interrupted job: with a record, since it decides what is dispatched from then on.
func (c *Controller) drain() {
	if c.agenda.interrupt && !c.agenda.draining {
		c.agenda.draining = true
		c.control(bellows.Control{Kind: bellows.Drain, Clock: c.claims.Horizon()})
	}
}

// Training reports whether a task that visits items is out: what counts as training time.
func (c *Controller) Training() bool { return c.claims.Training() }

// Progress is how far the job is: the last clock that every split has completed, the last that has been
// dispatched to any, and the number of the last commit.
func (c *Controller) Progress() (complete, furthest bellows.Clock, commit bellows.CommitNumber) {
	return c.claims.Progress().Complete(), c.claims.Furthest(), c.log.Number()
}

// Left is how many items are to be visited until an interrupted job comes to the point from which it can go on.
func (c *Controller) Left() (items int) {
	if !c.agenda.draining || c.ending.Begun() {
		return 0
	}
	return c.claims.Unfinished()
}

// Begun reports whether the first tasks have left: all nodes were ready.
func (c *Controller) Begun() bool { return c.begun }

// Recovering reports whether the controller follows another, all nodes are ready, and it waits for
// lanes to say how far that had come.
func (c *Controller) Recovering() bool { return c.opened && c.recovery != nil && c.roster.AllReady() }

// Ending reports whether the job is to end, so that it is saved no more.
func (c *Controller) Ending() bool { return c.ending.Begun() }

// Collecting reports whether everybody has closed and the state is on its way.
func (c *Controller) Collecting() bool { return c.ending.Collecting() }

// Awaits reports whether a node has not said yet that it is ready.
func (c *Controller) Awaits(n bellows.NodeID) bool { return c.roster.Awaits(n) }

// Gone reports whether a node is lost.
func (c *Controller) Gone(n bellows.NodeID) bool { return c.roster.Lost(n) || c.roster.IsRemoved(n) }
