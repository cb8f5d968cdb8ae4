package node

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/coord"
	"bellows/core/join"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/fabric"
	"bellows/link/wire"
	"bellows/node/memory"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// tickEvery is the interval at which actors get the time.
const tickEvery = shell.TickMillis * time.Millisecond

// process is this process's part of a job: its actors, the bus that runs them, and the mesh to the other processes.
// lead and member drive it.
//
// States: assembled, when its actors are there with their initial state; started, when the mesh is; its tasks have
// ended, when closed says so; closed. A leading and a serving node have no more in common than that.
//
// The common inputs of actors (common) are the same in every process: each makes the same job, cuts the same tables and
// assigns the same splits, by pure functions, so that nothing of it has to be sent. Fingerprints check that all
// processes did so (TestNodesOfDifferentJobsAreRefused).
//
// Invariants:
//   - Only the bus steps an actor, including the controller: messages of this process to an actor go into its queue.
//   - Executors are closed before the node leaves. A node whose executors do not close leaves all the same
//     (TestExecutorsCloseBeforeTheirNodeLeaves, TestANodeWhoseTasksHangLeaves).
//   - The counts of a node reach node 0 before the last message of its lanes: a later report would be about a job that
//     has been reported (TestASplitSeesItsOwnSubscribedKeys).
//
// Locks: none of its own. ended is set by lanes and read by the timer's goroutine.
type process struct {
	job     *train.Job
	opt     Options
	cluster Cluster
	mesh    *fabric.Mesh // nil: alone
	bus     *fabric.Bus
	checker *validate.Checker // of frames; nil: none come
	common  core.Job          // what its actors are made of, and the route that the job began with
	lanes   []*server.Lane
	runner  *train.Runner // nil: runs no tasks
	lead    *lead         // nil: not node 0
	scribe  *scribe       // nil: the job is not saved while it runs
	ended   atomic.Bool   // a lane knows that the job is over
	removed atomic.Int32  // lanes that take part no more
	letGo   atomic.Bool   // it leaves after node 0 in good order: its remaining messages are not awaited
	goneBy  atomic.Int64  // when the process is to be gone, as of millis; 0: it was not told
	closed  chan error    // no task runs any more, and why an executor did not close; has room
	keySeed uint64        // of the hashes of keys: no peer knows it, or could choose keys that collide
	began   time.Time
	serving atomic.Int64 // nanoseconds of the lanes' steps
	rows    atomic.Int64 // that the lanes have written
	spare   memory.Spare // measured by the timer's goroutine, since others wait for those that report
}

// validateJob refuses what no cluster could run. It is called before anything is made, so that the error names the
// caller's mistake.
func validateJob(job *train.Job) error {
	if job.Splits < 1 || job.Splits > 1<<20 {
		return bellows.Errorf(bellows.Config, "start job", "", "%d splits; must be 1 to 2^20", job.Splits)
	}
	if job.Driver == nil || job.NewExecutor == nil || job.Items == nil {
		return bellows.Errorf(bellows.Config, "start job", "", "a job needs Items, a Driver and NewExecutor")
	}
	for i := range job.Tables {
		if err := job.Tables[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// assemble makes the roles that this process has in the cluster. If it fails, the caller only has to close the mesh.
func assemble(job *train.Job, c Cluster, m *fabric.Mesh, opt Options) (*process, error) {
	if err := validateJob(job); err != nil {
		return nil, err
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if opt.Era > bellows.EraMost {
		return nil, bellows.Errorf(bellows.Config, "start job", "", "it would be in era %d: a job can go back to a checkpoint or be resumed %d times at most", opt.Era, bellows.EraMost).
			Hinted("train on from its model, with --from, or start over with --fresh")
	}
	p := &process{job: job, opt: opt, cluster: c, mesh: m, closed: make(chan error, 1), began: time.Now(), keySeed: rand.Uint64()}
	p.agree()
	p.spare.Measure(0)
	if m != nil && opt.Alone {
		fabric.Places(c.SelfMember().Slots)
		fabric.ShortenSlices()
	}
	p.bus = fabric.NewBus(c.Self, opt.Era, m)
	if err := p.addRoles(); err != nil {
		p.bus.Close()
		return nil, err
	}
	p.addScribe()
	return p, nil
}

// agree computes the common inputs of the actors of all processes. They are the same in each, except for the lease of a
// process that is alone: nothing can be silent there, and a machine that sleeps must not lose the job.
func (p *process) agree() {
	p.common = core.Job{Controller: wire.ControllerAt(), Nodes: len(p.cluster.Members), Lanes: p.cluster.lanes(), Clients: p.cluster.clients(),
		Tables: p.job.Tables, Route: p.cluster.route(p.job), Items: p.job.Items, Units: p.job.Units, Wire: p.formats(), Times: p.opt.Times.Or(), Era: p.opt.Era}
	if p.mesh == nil {
		p.common.Times.Lease = 0 // nothing can be silent
	} else {
		p.common.NodesMost = join.NodesMost
	}
}

// formats returns how the values of each table are sent: counts as they are, because 16 bits would not hold them.
func (p *process) formats() []vec.Format {
	list := make([]vec.Format, len(p.job.Tables))
	for i := range list {
		if p.job.Tables[i].DType == table.Float32 {
			list[i] = p.opt.Wire
		}
	}
	return list
}

// addRoles makes the actors of this process, with their initial state. Lanes come before the controller, and it before
// the client: resumed state needs both, and no message is sent before all are there.
func (p *process) addRoles() error {
	if err := p.addLanes(); err != nil {
		return err
	}
	if p.cluster.Self == 0 {
		if err := p.addController(); err != nil {
			return err
		}
	}
	if p.cluster.SelfMember().Slots > 0 {
		if err := p.addRunner(); err != nil {
			return err
		}
	}
	if !p.resumes() {
		return nil
	}
	return p.resume(p.opt.Resume)
}

// heldMost bounds the bytes of flushes without a record that a lane holds: further ones wait at their senders. It
// bounds senders that run far ahead of the controller.
const heldMost = 1 << 30

// resumes reports whether lanes begin with the state of a saved run. A node that joins later owns nothing yet.
func (p *process) resumes() bool { return p.opt.Resume != nil && p.cluster.Invited == nil }

// addLanes makes the lanes of this node. Each keeps the last records for a later controller, except in a job of one
// process: there the lanes end together with the controller.
func (p *process) addLanes() error {
	var limits server.Limits
	if p.mesh == nil {
		limits.Tail = -1
	}
	for i := range p.cluster.SelfMember().Lanes {
		a := wire.LaneAt(p.cluster.Self, i)
		l, err := server.NewLane(p.common, a, server.Options{HeldBytesMax: heldMost, KeySeed: p.keySeed, Blank: p.resumes(), Limits: limits})
		if err != nil {
			return err
		}
		p.lanes = append(p.lanes, l)
		p.bus.Add(a, p.stepLane(l, a))
	}
	return nil
}

// stepLane returns the step of a lane, which also updates its node: without a client, nothing else tells the node that
// the job has ended.
func (p *process) stepLane(l *server.Lane, a wire.Address) func(batch []wire.Envelope, out *wire.Outbox) {
	removed, pace := false, newPace(l, p.bus)
	return func(batch []wire.Envelope, out *wire.Outbox) {
		start, rows := time.Since(p.began), l.Rows()
		l.Step(pace.due(p.give(l, batch)), out)
		p.serving.Add(int64(time.Since(p.began) - start))
		p.rows.Add(l.Rows() - rows)
		p.hearOfCuts(l, a)
		if l.Ending() {
			p.ended.Store(true)
		}
		if !removed && l.Removed() {
			removed = true
			p.removed.Add(1)
		}
		p.reportLast(out)
	}
}

// reportLast puts a report before a lane's last message. Node 0 ends after the last of these messages; without the
// report, counts since the last tick would be missing in the job's totals. Node 0 reads its own counts until the end.
func (p *process) reportLast(out *wire.Outbox) {
	last := len(out.Envelopes) - 1
	if p.lead != nil || last < 0 || !p.ended.Load() && p.removed.Load() == 0 {
		return
	}
	e := out.Envelopes[last]
	switch e.Message.(type) {
	case *wire.Closed, *wire.Collected:
		out.Envelopes = out.Envelopes[:last]
		out.Send(e.From, wire.ControllerAt(), p.report())
		out.Envelopes = append(out.Envelopes, e)
	}
}

// addController makes the controller and what surrounds it. A job in one process has no fingerprint, because there is
// nothing to compare it with.
func (p *process) addController() error {
	var fingerprint bellows.Fingerprint
	if p.mesh != nil {
		fingerprint = train.Fingerprint(p.job, p.opt.Wire)
	}
	opt := coord.Options{Driver: p.job.Driver, Fingerprint: fingerprint, Stays: p.job.Stays, Confirms: p.opt.Times.Successor > 0}
	if !opt.Confirms { // no process takes over from this one
		opt.Limits.Tail = -1
	}
	made, err := p.newLead(opt)
	if err != nil {
		return err
	}
	p.lead = &lead{process: p, shell: made, outcome: make(chan *coord.Outcome, 1), kept: make(chan string, 1), books: make([]book, len(p.cluster.Members)),
		members: slices.Clone(p.cluster.Members), route: made.Route(), fingerprint: fingerprint}
	p.lead.saving.goesOn(p.opt.Follow)
	p.bus.Add(wire.ControllerAt(), p.lead.step)
	return nil
}

// borrowFrom is the client's Options.Borrow, 64 KiB: a smaller partition is copied in less time than a task waits for the
// answer of its lane. Copies of the 31 KB of a softmax model of MNIST take 4 to 8 % less time on one slot and on two
// (bench/system --only mlr).
const borrowFrom = 16 << 10

// addRunner makes the client, and the runner that owns it and runs the tasks of the splits that are dealt to this node.
// The runner's lock is the client's: its step takes it, which is why no message may be sent under another.
func (p *process) addRunner() error {
	self := wire.ClientAt(p.cluster.Self)
	c := client.New(p.common, self, client.Options{KeySeed: p.keySeed, Borrow: borrowFrom})
	var active []bellows.SplitID
	for s := range bellows.SplitID(p.job.Splits) {
		if p.common.Route.Node(s) == p.cluster.Self {
			active = append(active, s)
		}
	}
	r, err := train.NewRunner(c, p.job, active, p.cluster.SelfMember().Slots, p.bus, p.notice)
	p.runner = r
	if p.mesh != nil {
		r.Share()
		if p.lead == nil {
			r.Report(self, wire.ControllerAt(), p.fill)
		}
	}
	p.bus.Add(self, func(batch []wire.Envelope, _ *wire.Outbox) { r.Step(batch) })
	return err
}

// notice passes a sentence about a long wait to the caller that started the job, by way of node 0.
func (p *process) notice(sentence string) {
	switch {
	case p.lead == nil:
		p.bus.Send(wire.ClientAt(p.cluster.Self), wire.ControllerAt(), &wire.Notice{Sentence: sentence})
	case p.opt.Notice != nil:
		p.lead.reporter.say(func() { p.opt.Notice(sentence) })
	}
}

// start starts the mesh. lost is called for a node whose connections have ended, met when all other nodes have
// connected to this one, and followed when another process leads. From here on actors run.
func (p *process) start(lost func(fabric.Loss), met, followed func()) {
	p.checker = validate.New(p.common, p.cluster.Self)
	if p.lead != nil {
		p.lead.meet(p.checker)
	}
	if i := p.cluster.Invited; i != nil { // no route has it yet
		for _, a := range shell.Brings(i.Newcomer) {
			p.checker.Host(a)
		}
	}
	links := p.opt.Links
	if links != nil {
		links = &fabric.Links{Transport: links.Transport, Listener: links.Listener, Addresses: links.Addresses, Connections: p.cluster.connections()}
	}
	p.mesh.Start(p.bus, fabric.Options{Checker: p.checker, Formats: p.formats(), Links: links, Times: p.opt.Times, Lost: lost, Met: met, Followed: followed, Parted: p.parted, Stale: p.notice,
		PartMost: p.opt.partMost, MessageMost: p.opt.messageMost})
}

// parted reports whether nothing is left to say to a node (fabric.Options.Parted).
func (p *process) parted(n bellows.NodeID) bool { return p.letGo.Load() || p.checker.Parted(n) }

// close ends what the process has started, after all that it has sent: the mesh first, because it holds the last
// messages of actors, and readers run actors on the bus until they have ended.
func (p *process) close() {
	p.scribe.close()
	if p.mesh != nil {
		p.mesh.Close()
	}
	p.bus.Close()
}

// awaitTasks waits, on another goroutine, until no task of this process runs any more: an application's code may take
// long. A task that never returns keeps its goroutine, and nothing else (TestTasksThatNeverReturnAreGivenUp).
func (p *process) awaitTasks() { go p.closeTasks() }

// closeTasks closes the executors when no task runs any more.
func (p *process) closeTasks() {
	var err error
	if p.runner != nil {
		err = p.runner.Close()
		memory.Collect() // lanes send copies of their rows next
	}
	p.closed <- err
}

// hasEnded reports whether this node knows that the job has ended, or has left while it continues. If the connection to
// node 0 ends then, that is its leave; before, it is a loss. A node that hosts nothing is not notified, and nothing is
// lost with it (TestIdleNodeLeavesCleanly). Of a leaving node, the client and all lanes have been removed.
func (p *process) hasEnded() bool {
	if p.runner != nil {
		select {
		case <-p.runner.Ended():
		default:
			return false
		}
		if !p.runner.Removed() {
			return true
		}
	}
	return p.ended.Load() || int(p.removed.Load()) == len(p.lanes)
}

// unfinished returns the tasks that run in this process.
func (p *process) unfinished() []bellows.Unit {
	if p.runner == nil {
		return nil
	}
	return p.runner.Unfinished()
}

// millis returns the time for actors. It is monotonic, whatever happens to the machine's clock, and starts with this
// process: no actor compares it with another node's.
func (p *process) millis() int64 { return time.Since(p.began).Milliseconds() }
