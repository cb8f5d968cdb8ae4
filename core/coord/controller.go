// Package coord is the controller of one job: it runs the application's driver, dispatches its tasks,
// numbers the flushes that clients report done, and ends the job. One stream of numbers has the flushes and all else that decides
// what the controller does next (wire.Record).
//
// A Controller is a state machine. Its shell calls Start once, Step with the messages that arrive,
// Tick a few times a second, Broken and Lost when it hears that a node cannot be reached, and Interrupt
// when the user wants out; it carries out what Effects hold. The first tasks leave when all nodes of the
// job are ready. A flush counts when, and only when, the controller has given it a number. When the job has finished or was
// interrupted, the controller collects the state of the tables (package core/collect). Whatever goes
// wrong ends the job with a sentence: the controller never waits for something that cannot come, and nowhere without end.
package coord

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/collect"
	"bellows/core/gate"
	"bellows/core/members"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// Options are what is a controller's own beside its job.
type Options struct {
	// Term is how many controllers the job has had with this one; 0: it is the first.
	Term   bellows.Term
	Driver Driver
	// Collector is given the state of the tables when the job has finished or was interrupted; nil: nobody wants it.
	Collector *collect.Collector
	// Fingerprint is what this node's job is; others must show the same when they are ready. Zero: they are not asked.
	Fingerprint bellows.Fingerprint
	Limits      Limits
}

// config is what a controller is made of.
type config struct {
	core.Job
	Options
}

// Limits are what a controller bounds by itself. A field is 0, for the default, or less than that, which costs messages and changes
// no result: tests make them small, to reach them.
type Limits struct {
	// Records is how many records wait for the end of their clock: by default 4,096.
	Records int
}

// recordsMost is the default of Limits.Records.
const recordsMost = 4096

// Effects are what a step wants done.
type Effects struct {
	wire.Outbox
	Epochs  []Epoch
	Notices []string // sentences about what is waited for long, and whom
	Losses  []string // sentences about nodes that are lost from now on
	// Route, where it is set, is the job's from now on: the guard of this node learns of it before what is sent here leaves.
	Route   *route.Route
	Outcome *Outcome // set once, when the job is over, everybody has closed, and the state has been collected
}

// Reset empties the effects and keeps their memory.
func (fx *Effects) Reset() {
	clear(fx.Envelopes)
	*fx = Effects{Outbox: wire.Outbox{Envelopes: fx.Envelopes[:0]}, Epochs: fx.Epochs[:0], Notices: fx.Notices[:0],
		Losses: fx.Losses[:0]}
}

// Outcome is how a job ended.
type Outcome struct {
	Reason      string       // empty: the driver finished
	Kind        bellows.Kind // of a failure
	Err         error        // its cause, where that is in this process
	Interrupted bool         // by the user, at a point from which State continues
	Commits     bellows.CommitNumber
	Counts      wire.Counts
	State       State
	// Uncollected is why Options.Collector has no state though the job has finished, or was interrupted; nil: it has.
	Uncollected error
}

// State is what a controller must know to continue a job elsewhere, besides the tables.
type State struct {
	Complete []bellows.Clock // per split, the last clock it completed
	Queue    []wire.Task     // dispatched by the driver and not begun
	Driver   []float64
	// Staleness is what the driver changed, in order.
	Staleness []wire.Staleness
}

// Controller is the state of one job: the coordinator of the commit protocol, the other half of the application's driver, and the one who says who takes part.
//
// It waits for all nodes to be ready, then trains, is ending (every actor is to say Closed), collects the state if the job has finished, and is over when its Outcome
// is out. One that follows another asks every lane first (recovery), and numbers nothing before all have promised its term.
//
// Invariants, and what holds them:
//   - Numbers have no gaps, and each is of one record that every lane gets, in order: P1 of the simulation.
//   - A flush counts if every unit of it is its split's next and was dispatched: TestWorkThatWasNotDispatchedIsRefused, TestAnOverlapEndsTheJob; once: TestADoneThatComesAgainIsKnown.
//   - Whatever changes what it does next is a record, or follows from records: a controller that has them dispatches the same (TestNothingIsNumberedBeforeEveryPromise, TestEpochsAppearOnce,
//     train/traintest.CanBeSaved of every driver).
//   - A dispatch leaves behind the records that it relies on: conclude.
//   - It declares nobody gone for a silence through which it slept itself: TestAControllerThatSleptBlamesNobody.
//   - Whom it waits for is named after a while, and given up at last: TestWhoKeepsTheJobFromEndingIsNamed, TestATaskThatDoesNotEndIsNamedAndEndsTheJob, P8 of the simulation.
//
// It has no lock: one goroutine at a time steps it. Turned down: a record of the driver's state instead of a replay, which is as large as the splits are many, and
// until all lanes had it none could free what is before it (docs/decisions/0032).
type Controller struct {
	cfg        config
	dispatcher Dispatcher
	progress   *gate.Progress
	number     bellows.CommitNumber
	next       []bellows.Clock   // per split: the clock that its next task gets
	records    *wire.Records     // that have not left; nil: none
	urgent     bool              // some of them cannot wait for the end of their clock
	dispatches []dispatch        // of this step, in the order of their commits
	newest     []int             // per client: 1 + the place of its last one among them; 0: it has none
	clientOf   []int             // by node: its place in core.Job.Clients; -1: none
	changes    []bellows.Control // of the route, of which clients have not been told
	moves      []move            // that wait for their splits to rest
	counted    gate.Counted
	tasks      int // dispatched and not committed
	training   int // of these, with items to visit
	horizon    bellows.Clock
	queue      []wire.Task
	finishing  bool
	interrupt  bool             // the user wants out
	draining   bool             // clocks that have begun are the last
	staleness  []wire.Staleness // changed by the driver since the job's start
	announced  int              // of these, told to clients
	ending     *Outcome
	open       []wire.Address // actors that have not said Closed
	collecting bool           // everybody has closed, and the state is on its way
	over       bool           // the outcome is out
	nowMillis  int64
	roll       *members.Roll
	opened     bool // Start was called
	begun      bool // the first tasks have left
	waits      waits
	computing  []computed // by split; nil: no node has said anything
	early      early
	out        []out                // per split
	recovery   *recovery            // nil: it is the first, or has taken over
	covering   bellows.CommitNumber // lanes have been asked whether they have the records up to this
	uncovered  []wire.Address       // those who have not said so
	covered    bellows.CommitNumber
	forgotten  bellows.CommitNumber // lanes need not keep the records up to this
	timeless   bool                 // it follows another, and has not been told the time
}

// dispatch is tasks for one client that rely on the same commit.
type dispatch struct {
	client  int
	message *wire.Dispatch
}

// New makes the controller of a job.
func New(job core.Job, opt Options) *Controller {
	cfg := config{job, opt}
	cfg.Limits.Records = cmp.Or(cfg.Limits.Records, recordsMost)
	n := cfg.Route.Splits()
	c := &Controller{cfg: cfg, progress: gate.NewProgress(n, cfg.Items), next: make([]bellows.Clock, n), out: make([]out, n),
		newest: make([]int, len(cfg.Clients)), horizon: bellows.NoClock,
		roll: members.NewRoll(cfg.Controller.Node, slices.Concat(cfg.Clients, cfg.Lanes), cfg.Times)}
	c.cfg.Times, c.cfg.Term = cfg.Times.Or(), max(cfg.Term, 1)
	c.dispatcher.c = c
	for i, a := range cfg.Clients {
		c.place(a, i)
	}
	return c
}

// Resume continues a job from a saved state instead of its beginning; call it before Start.
func (c *Controller) Resume(s State) error {
	if err := c.progress.Restore(s.Complete); err != nil {
		return err
	}
	for i, clock := range s.Complete {
		c.next[i] = clock + 1
	}
	if err := c.cfg.Driver.Restore(s.Driver); err != nil {
		return err
	}
	c.queue = s.Queue
	if !planted.On("staleness-forgotten") {
		c.staleness = s.Staleness
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

// begin dispatches the first tasks, if nobody is waited for and it has not been done.
func (c *Controller) begin(fx *Effects) {
	if c.begun || !c.opened || !c.roll.AllReady() || c.ending != nil {
		return
	}
	if c.recovery != nil {
		c.ask(fx)
		return
	}
	c.begun = true
	c.drain()
	c.first(fx)
}

// first dispatches the first tasks, or those that a saved run had left.
func (c *Controller) first(fx *Effects) {
	for _, m := range c.staleness {
		c.control(staleness(m))
	}
	if c.queue == nil {
		c.dispatcher.fx = fx
		c.cfg.Driver.DispatchInitialTasks(&c.dispatcher)
	} else {
		queue := c.queue
		c.queue = nil
		for _, t := range queue {
			if planted.On("queue-forgotten") {
				break
			}
			c.dispatcher.DispatchTask(t.Unit.Split, t.Args...)
		}
	}
}

// takeReady lets the job begin when the last node is ready. A node that has made another job ends this one.
func (c *Controller) takeReady(n bellows.NodeID, job bellows.Fingerprint, fx *Effects) {
	c.roll.Ready(n)
	if want := c.cfg.Fingerprint; want != (bellows.Fingerprint{}) && job != want && c.ending == nil {
		c.end(&Outcome{Kind: bellows.Config, Reason: fmt.Sprintf("node %d has made another job than node %d: what differs is %s",
			n, c.cfg.Controller.Node, want.Differs(job))}, fx)
	}
	c.begin(fx)
}

// Step takes messages in the order in which they arrived.
func (c *Controller) Step(batch []wire.Envelope, fx *Effects) {
	fx.Era = c.cfg.Era
	for _, e := range batch {
		if !e.In(c.cfg.Era) {
			continue
		}
		c.roll.Heard(e.From.Node)
		switch m := e.Message.(type) {
		case *wire.Done:
			c.takeDone(e.From, m, fx)
		case *wire.Computing:
			c.takeComputing(m)
		case *wire.Failed:
			c.fail(e.From, m, fx)
		case *wire.Ready:
			c.takeReady(e.From.Node, m.Fingerprint, fx)
		case *wire.Severed:
			if m.Breach || m.Node == e.From.Node { // no reason is better
				c.lose(m.Node, m.Reason, fx)
			} else {
				c.roll.Suspect(m.Node, m.Reason, c.cfg.Times.Severed)
			}
		case *wire.Holding:
			c.takeHolding(e.From, m, fx)
		case *wire.Records:
			c.takeTail(e.From, m, fx)
		case *wire.Closed:
			c.takeClosed(e.From, m, fx)
		case *wire.Slab:
			c.takeSlab(e.From, m, fx)
		case *wire.Collected:
			c.takeCollected(e.From, m, fx)
		}
	}
	c.conclude(fx)
}

// commit numbers a flush and tells the driver of its results. A flush that cannot count ends the job: its units were run twice. One
// that is held at an owner of the past is to be held at the one of now (current).
func (c *Controller) commit(from wire.Address, m *wire.Done, fx *Effects) {
	complete := c.progress.Complete()
	if !c.current(m, fx) {
		return
	}
	for i := range m.Results {
		err := c.count(m.Results[i].Unit)
		if s := m.Results[i].Unit.Split; err == nil && c.cfg.Route.Node(s) != m.Flush.Client {
			err = fmt.Errorf("split %d is node %d's", s, c.cfg.Route.Node(s))
		}
		if err != nil {
			c.end(&Outcome{Kind: bellows.Lost, Reason: fmt.Sprintf("%v refused: %v", m.Flush, err)}, fx)
			return
		}
	}
	c.waits.moved(c.nowMillis)
	c.urgent = c.urgent || !m.Barred || c.progress.Complete() > complete
	c.record(m, fx)
	c.tell(from.Node, m.Results, fx)
}

// tell tells the driver what tasks of a client have signalled, whose flush has just got its number.
func (c *Controller) tell(from bellows.NodeID, results []wire.Result, fx *Effects) {
	number := c.number // there may be more by what the driver does
	for i := range results {
		r := &results[i]
		c.tasks--
		if r.Unit.Items.Len() > 0 {
			c.training--
		}
		if err := c.hand(Completion{r.Unit, number, r.Values}, fx); err != nil {
			c.end(&Outcome{Kind: bellows.KindOf(err), Err: err,
				Reason: fmt.Sprintf("the driver failed on what %v of node %d signalled", r.Unit, from)}, fx)
			return
		}
	}
}

// record gives a flush its number.
func (c *Controller) record(m *wire.Done, fx *Effects) {
	if c.records != nil && !c.records.Room(m) {
		c.sendRecords(fx)
	}
	c.number++
	c.counted.Add(m.Flush)
	c.more().Append(c.number, m)
}

// control numbers a control record, but for one that was numbered by the controller before. Lanes need it before anything that follows.
func (c *Controller) control(r bellows.Control) {
	c.number++
	if c.repeats(r) {
		return
	}
	c.more().AppendControl(c.number, r)
	c.urgent = true
}

// more is the message that the next record belongs to.
func (c *Controller) more() *wire.Records {
	if c.records == nil {
		c.records = wire.New[wire.Records]()
		c.records.Term = c.cfg.Term
		if c.forgotten > 0 {
			c.records.Keep = c.forgotten + 1
		}
	}
	return c.records
}

// staleness is the control record of a change.
func staleness(m wire.Staleness) bellows.Control {
	return bellows.Control{Kind: bellows.SetStaleness, Table: m.Table, Clocks: m.Clocks}
}

// count takes a finished unit into the progress. One that was not dispatched, or comes twice, is refused.
func (c *Controller) count(u bellows.Unit) error {
	if err := c.progress.Check(u); err != nil {
		return err
	}
	if !c.out[u.Split].drop(u) && !planted.On("overlap-accepted") { // nor a part of it: the driver would take that for the whole
		return fmt.Errorf("%v was not dispatched", u)
	}
	c.progress.Commit(u)
	return nil
}

// hand gives the driver one completion. A panic is an error that ends the job, as a task's is: what others
// signalled must not end the process.
func (c *Controller) hand(done Completion, fx *Effects) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("%w\n%s", p, debug.Stack())
		default:
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	c.dispatcher.fx = fx
	c.cfg.Driver.HandleTaskCompletion(done, &c.dispatcher)
	return nil
}

func (c *Controller) fail(from wire.Address, m *wire.Failed, fx *Effects) {
	if c.ending != nil {
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
	c.end(&Outcome{Kind: kind, Reason: fmt.Sprintf("%s failed: %s", who, m.Reason), Err: m.Err}, fx)
}

// conclude sends what the step has gathered: records before the routes and the dispatches that rely on them, so that whoever follows this controller, and is told by
// lanes what was recorded, knows of every route that a client can have heard of. Then it sees whether the job is over.
func (c *Controller) conclude(fx *Effects) {
	if planted.On("route-told-first") {
		c.announceRoute(fx)
	}
	if c.pressing() {
		c.sendRecords(fx)
	}
	c.announce(fx)
	for _, d := range c.dispatches {
		fx.Send(c.cfg.Controller, c.cfg.Clients[d.client], d.message)
		c.newest[d.client] = 0
	}
	clear(c.dispatches)
	c.dispatches = c.dispatches[:0]
	if c.ending == nil && c.tasks == 0 && c.begun {
		c.rest(fx)
	}
}

// pressing reports whether somebody needs the records that have not left: who is dispatched relies on them, they show or end a
// lease or a clock, or are of control. Others wait for their clock, so that a clock of many nodes takes one
// message for each lane.
func (c *Controller) pressing() bool {
	return c.records != nil && (c.urgent || len(c.records.List) >= c.cfg.Limits.Records || len(c.dispatches) > 0)
}

// sendRecords sends every lane the records that have not left: one message for all of them.
func (c *Controller) sendRecords(fx *Effects) {
	if c.records == nil {
		return
	}
	c.records.Share(len(c.cfg.Lanes))
	for _, a := range c.cfg.Lanes {
		fx.Send(c.cfg.Controller, a, c.records)
	}
	c.records, c.urgent = nil, false
}

// announce tells clients of changes of the route and of staleness, before the tasks that are to see them. To lanes they are records.
func (c *Controller) announce(fx *Effects) {
	c.announceRoute(fx)
	for ; c.announced < len(c.staleness); c.announced++ {
		for _, a := range c.cfg.Clients {
			m := c.staleness[c.announced]
			m.Term = c.cfg.Term
			fx.Send(c.cfg.Controller, a, &m)
		}
	}
}

// rest decides what it means that no task is out.
func (c *Controller) rest(fx *Effects) {
	switch {
	case len(c.queue) > 0:
		c.end(&Outcome{Interrupted: true, Reason: "interrupted"}, fx)
	case c.finishing:
		c.end(&Outcome{}, fx)
	default:
		c.end(&Outcome{Kind: bellows.Lost, Reason: "the driver dispatched no task and did not finish"}, fx)
	}
}

// Interrupt winds the job down to a point from which it can continue: clocks that have begun are
// finished, later tasks are left in the queue.
func (c *Controller) Interrupt(fx *Effects) {
	fx.Era = c.cfg.Era
	c.interrupt = c.interrupt || c.ending == nil
	if c.begun && c.ending == nil {
		c.drain()
	}
}

// drain begins the end of an interrupted job: with a record, since it decides what is dispatched from then on.
func (c *Controller) drain() {
	if c.interrupt && !c.draining {
		c.draining = true
		c.control(bellows.Control{Kind: bellows.Drain, Clock: c.horizon})
	}
}

// Training reports whether a task that visits items is out: what counts as training time.
func (c *Controller) Training() bool { return c.training > 0 }

// Dispatcher is what a driver may ask of the controller. It is valid during the driver's calls only.
type Dispatcher struct {
	c  *Controller
	fx *Effects // of the step that the driver's call is part of
}

// DispatchTask dispatches the next clock of a split to its executor. The task sees everything that is
// committed now. Several tasks of one split run in the order of dispatch.
func (d *Dispatcher) DispatchTask(executor bellows.SplitID, args ...float64) {
	c := d.c
	u := bellows.Unit{Split: executor, Clock: c.next[executor]}
	u.Items = c.cfg.Items(executor, u.Clock)
	if c.draining && u.Clock > c.horizon {
		c.queue = append(c.queue, wire.Task{Unit: bellows.Unit{Split: executor}, Args: slices.Clone(args)})
		return
	}
	if c.tasks == 0 {
		c.waits.began(c.nowMillis)
	}
	if c.finishMove(executor, d.fx); c.recovery != nil {
		c.settled(executor)
	}
	c.take(u)
	c.horizon = max(c.horizon, u.Clock)
	c.out[executor].add(u, c.number, args)
	if c.recovery == nil {
		c.dispatchTo(c.clientOf[c.cfg.Route.Node(executor)], c.number).Append(u, args)
	}
}

// take counts a task that is out.
func (c *Controller) take(u bellows.Unit) {
	c.next[u.Split] = u.Clock + 1
	c.tasks++
	if u.Items.Len() > 0 {
		c.training++
	}
}

// dispatchTo is the message to a client for tasks that rely on a record. Those that another record caused have one
// of their own, whatever came in the same step: another controller cannot know that.
func (c *Controller) dispatchTo(client int, commit bellows.CommitNumber) *wire.Dispatch {
	if planted.On("dispatch-blind") {
		commit = 0
	}
	if n := c.newest[client]; n > 0 && c.dispatches[n-1].message.Commit == commit {
		return c.dispatches[n-1].message
	}
	m := wire.New[wire.Dispatch]()
	m.Term, m.Commit = c.cfg.Term, commit
	c.dispatches = append(c.dispatches, dispatch{client, m})
	c.newest[client] = len(c.dispatches)
	return m
}

// Report publishes an epoch's figures. What is replayed was published before.
func (d *Dispatcher) Report(e Epoch) {
	if d.c.recovery == nil || planted.On("replay-emits") {
		d.fx.Epochs = append(d.fx.Epochs, e)
	}
}

// Keep marks the tables as they are now as the ones that the job returns, whatever comes after. It
// may be called only when no task is out.
func (d *Dispatcher) Keep() {
	if d.c.tasks > 0 {
		panic("coord: Keep while tasks are out")
	}
	d.c.control(bellows.Control{Kind: bellows.KeepTables})
}

// SetStaleness changes a table's consistency for the tasks dispatched from now on. It may be called
// only when no task is out.
func (d *Dispatcher) SetStaleness(t bellows.TableID, s table.Consistency) {
	if d.c.tasks > 0 {
		panic("coord: SetStaleness while tasks are out")
	}
	m := wire.Staleness{Table: t, Clocks: int32(s)}
	d.c.staleness = append(d.c.staleness, m)
	d.c.control(staleness(m))
}

// Finish says that no more tasks will come: the job ends when the last one out has been committed.
func (d *Dispatcher) Finish() { d.c.finishing = true }
