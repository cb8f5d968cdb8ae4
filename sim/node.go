package sim

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/heartbeat"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/transit"
	"bellows/sim/internal/verdict"
)

// node is one process: its clock, its ends of the connections, and the shell around its actors, which does what package node does
// in production. Node 0 leads. The step functions of production (core/shell) decide for a node; this only drives
// them: by ticks of a clock that drifts, the ends of connections, and the ends of tasks.
type node struct {
	nodestate.Node
	w          *world
	pairs      transit.Pairs[*node] // by node; nil: itself
	worker     *worker              // nil: no client here
	checker    *validate.Checker
	lanes      []*lane
	actors     []*actor
	drift      int64    // of its clock, in thousandths
	quietSince int64    // when it was paused, or of node 0, when it may have been heard last
	ended      []func() // what became of its connections before it had a shell
	doors      *join.Newcomers

	expects     bool          // a client, later
	shell       *shell.Member // nil: node 0
	fx          heartbeat.Effects
	closedAt    int64    // when its executors will have closed; 0: their tasks run
	heard       []uint64 // by node: frames that have come
	ticked      bool     // its lanes have received a time
	heardMillis int64    // by its clock, when the last came from node 0
	lastSaid    string   // why its connection to node 0 ended
}

// times are those of production, but for a shorter lease and task.
var times = liveness.Times{Lease: schedule.LeaseMillis, Task: schedule.TaskMillis, Collect: schedule.TaskMillis, Ready: schedule.ReadyMillis, Answer: schedule.AnswerMillis, Tasks: schedule.TasksMillis, Join: schedule.ReadyMillis}.Or()

// stopped reports whether a node does not run now, or never again.
func (n *node) stopped() bool { return n.Done() || n.PausedUntil > n.w.Now }

// local returns what a node's clock shows, in milliseconds.
func (n *node) local() int64 { return n.w.Now * (1000 + n.drift) / 1000 }

// period returns how long the node takes for so many milliseconds of its clock.
func (n *node) period(millis int64) int64 { return max(1, millis*1000/(1000+n.drift)) }

// hosts reports whether the node has a part in the job.
func (n *node) hosts() bool {
	if n.Joiner != nil {
		return n.Joiner.TakesPart
	}
	return n.worker != nil || len(n.lanes) > 0 || n.Number == 0
}

// begin sets a node going. Those that host nothing have left already.
func (n *node) begin() {
	w := n.w
	switch {
	case !n.hosts():
		n.Left = true
		for p := range n.pairs.Each() { // no node sends to it
			p.Unused()
		}
	case n.Number == 0:
		w.After(0, n, w.start)
	default:
		n.shell = shell.NewMember(w.common, n.Number)
		n.fx.Era = w.era()
		if n.Number == w.Unready {
			w.mayLose(n)
		} else {
			w.After(w.ReadyAt[n.Number], n, n.sayReady)
		}
		w.After(w.Rng.Int64N(beatEvery), n, n.tick)
	}
}

// sayReady tells the controller that all roles are there; sometimes twice, as after a handshake that was repeated.
func (n *node) sayReady() {
	if n.Ready && n.w.job.Begun {
		return
	}
	n.Ready = true
	n.shell.Start(n.fingerprint(), &n.fx)
	n.obey()
	if n.w.Rng.IntN(3) == 0 {
		n.w.After(1+n.w.Rng.Int64N(20), n, n.sayReady)
	}
}

// obey carries out what the node's follower wants.
func (n *node) obey() {
	n.w.post(n, &n.fx.Outbox)
	if l := n.fx.Leave; l != nil {
		n.fx.Leave = nil
		n.checkLeave(l.Reason)
		n.leave(l.Reason)
	}
}

// tick tells the actors of a node that does not lead the time.
func (n *node) tick() {
	now := n.local()
	n.close()
	if n.worker != nil {
		n.worker.tick(now)
	}
	n.tickLinks()
	n.tickLanes(now)
	n.shell.Tick(now, n.heard[0], n.released(), n.unfinished(), &n.fx)
	n.obey()
	n.w.After(n.period(beatEvery), n, n.tick)
}

// tickLinks tells the sessions of a node that time has passed.
func (n *node) tickLinks() {
	for p := range n.pairs.Each() {
		p.Tick()
	}
}

// tickLanes takes note of how long the lanes of a node have not heard node 0.
func (n *node) tickLanes(now int64) {
	if !n.ticked {
		n.ticked, n.heardMillis = true, now // a lane that gets its first tick has waited for nothing, as far as it knows
	}
	for _, l := range n.lanes {
		l.Deaf = now-n.heardMillis > times.Lease+2*beatEvery // a lane counts from the tick after
	}
}

// unfinished returns the tasks that run at a node.
func (n *node) unfinished() (list []bellows.Unit) {
	if n.worker != nil {
		for _, s := range n.worker.scripts {
			if s != nil && !s.waiting {
				list = append(list, s.unit)
			}
		}
	}
	return list
}

// close tells the lanes of a node that no task runs any more, once that is so.
func (n *node) close() {
	w := n.w
	if n.Closed || n.worker != nil && n.worker.client.Ended() == nil || n.worker == nil && n.expects && !n.released() {
		return
	}
	if n.closedAt == 0 {
		n.closedAt = w.Now + w.Closing[n.Number]
	}
	if w.Now < n.closedAt {
		w.coverage.Hit("closing-takes-time")
		return
	}
	n.Closed = true
	w.moved()
	if n.Number == 0 {
		w.lead.TasksEnded(&w.fx)
		w.obey()
		return
	}
	n.shell.TasksEnded(&n.fx)
	n.obey()
}

// gaveUp notes that a node does not wait for its tasks any more, and why.
func (n *node) gaveUp(why string) {
	if n.w.verdict.GaveUp(&n.Node, why, n.unfinished()) {
		n.w.moved()
	}
}

// Disconnected tells the shell that a node is lost to this one.
func (n *node) Disconnected(peer bellows.NodeID, reason string) {
	w := n.w
	switch {
	case n.Done(), w.job.Released && n.Number == 0:
	case n.Joiner != nil && n.shell == nil:
		n.ended = append(n.ended, func() { n.Disconnected(peer, reason) })
	case n.Number == 0:
		w.lead.Disconnected(peer, reason, n.refuses(peer), &w.fx)
		w.obey()
	default:
		if peer == 0 {
			n.lastSaid = reason
		}
		n.shell.Disconnected(peer, reason, n.refuses(peer), n.released(), &n.fx)
		n.obey()
	}
}

// refuses reports whether the node has ended its connections to another for what came.
func (n *node) refuses(peer bellows.NodeID) bool {
	p := n.pairs.Find(peer)
	return p != nil && p.Refused()
}

// released reports whether the node knows that the job is over, or was removed and released, or the job has ended
// meanwhile: then it loses nothing with node 0.
func (n *node) released() bool {
	if k := n.worker; k != nil && !k.client.Removed() {
		return k.client.Ended() != nil
	}
	return slices.ContainsFunc(n.lanes, func(l *lane) bool { return l.Ending() }) || !slices.ContainsFunc(n.lanes, func(l *lane) bool { return l.TakesPart() }) && (n.Departed || n.Number == 0 || n.w.job.Released)
}

// checkLeave judges that a node leaves, and why.
func (n *node) checkLeave(reason string) {
	to, k := n.w.nodes[0].pairs.Find(n.Number), n.worker
	l := verdict.Leave{Reason: reason, Told: n.released(), Without: k != nil && blame.EndedWithout(k.client.Ended(), n.Number)}
	l.Heard = to != nil && !to.Refused() && to.Answered() && (!n.Gone || to.Resumed()) && strings.HasSuffix(n.lastSaid, "EOF")
	if n.w.verdict.CheckLeave(&n.Node, l) {
		n.gaveUp(reason)
		n.w.coverage.Hit("tasks-left")
	}
}

// leave ends the process of a node that is not node 0. The process that started it may report that.
func (n *node) leave(reason string) {
	w := n.w
	if n.Left {
		return
	}
	w.Note("node %d leaves: %q", n.Number, reason)
	w.moved()
	n.Left = true
	for p := range n.pairs.Each() {
		p.Close()
	}
	w.coverage.HitIf("node-0-given-up", reason != "")
	if !w.job.Released && !n.Departed {
		w.mayLose(n)
	}
	if w.job.Outcome == nil && w.Rng.IntN(2) == 0 {
		w.reportDeath(n)
	}
}

// reportDeath reports to node 0 that a process has died, as the process that started it would.
func (w *world) reportDeath(n *node) {
	if !n.Departed {
		w.mayLose(n)
	}
	w.After(1+w.Rng.Int64N(300), w.nodes[0], func() {
		w.coverage.Hit("death-told")
		w.lead.Lost(n.Number, fmt.Sprintf("node %d died", n.Number), &w.fx)
		w.obey()
	})
}

// start starts node 0: its controller starts, and receives the time from then on.
func (w *world) start() {
	w.lead.Start(&w.fx)
	w.obey()
	w.tickController()
}

func (w *world) tickController() {
	n := w.nodes[0]
	if w.job.Released {
		return
	}
	n.close()
	if n.worker != nil {
		n.worker.tick(n.local())
	}
	n.tickLinks()
	if why := w.lead.Tick(n.local(), n.heard, n.released(), n.unfinished(), &w.fx); why != "" {
		n.gaveUp(why)
	}
	w.obey()
	if w.shaper != nil {
		w.shaper.Tick()
	}
	w.saveController()
	if w.job.Outcome == nil && (w.cuts.Tick() || w.Cuts > 0 && w.lead.CutDue()) && w.lead.Cut(&w.fx) == nil {
		w.obey()
	}
	if w.job.Outcome == nil {
		kind, mark := w.waits.For()
		if err := w.await.See(kind, mark, w.Now, n.PausedUntil, noticeMax, beatEvery); err != nil {
			w.Violated("P8: %v", err)
		}
	}
	w.After(n.period(beatEvery), n, w.tickController)
}

// obey carries out what the controller wants.
func (w *world) obey() {
	w.nodes[0].checker.Meet(w.fx.Met)
	w.failover.Fresh.Learn(w.fx.Met, w.fx.Route)
	if r := w.fx.Route; r != nil {
		w.route = r
		w.nodes[0].checker.Learn(r)
	}
	w.settle()
	w.hooks.Sending(w.fx.Envelopes)
	if w.breaks() {
		return
	}
	w.failover.Show(&w.fx)
	for _, n := range w.fx.Notices {
		w.coverage.Hit("node-named")
		w.job.Notices = append(w.job.Notices, n)
		kind, _ := w.waits.For()
		w.await.Hear(kind, n)
		w.checkCulprit(n)
		w.coverage.HitIf("task-named", w.await.TasksNamed())
		w.Note("notice: %s", n)
	}
	if w.failover.Later() && w.failover.Known != w.failover.Term && w.lead.Begun() {
		w.failover.Known = w.failover.Term
		if w.failover.Untrue {
			w.Violated("P1: it was told what counts by record %d, which nobody has, and the job goes on", w.failover.Told)
		}
		if !slices.ContainsFunc(w.fx.Envelopes, func(e wire.Envelope) bool { _, ends := e.Message.(*wire.End); return ends }) { // else the job is over with what was recorded
			w.admission.Known(w.failover.Term)
		}
		w.regrow()
	}
	for _, m := range w.fx.Moves {
		w.coverage.HitIf("move-given-up", m.Reason != "")
		if w.shaper != nil && m.Reason != "" {
			w.shaper.Refused(w.route.Number(m.Ref), m.Reason)
		}
	}
	for i := range w.fx.Cuts {
		w.cuts.Done(&w.fx.Cuts[i])
	}
	w.losses += len(w.fx.Losses)
	w.admission.Lost()
	w.buries()
	w.depart()
	if o := w.fx.Outcome; o != nil {
		w.coverage.HitIf("tail-cut-off", strings.Contains(o.Reason, "cannot be recovered"))
		w.Note("outcome %q after %d commits, uncollected %v", o.Reason, o.Commits, o.Uncollected)
		w.job.Outcome = o
		w.moved()
		w.admission.CheckOver()
		w.verdict.Outcome()
		w.After(w.Linger, w.nodes[0], w.letGo)
	}
	over := w.fx.Outcome != nil
	w.post(w.nodes[0], &w.fx.Outbox)
	w.fx.Reset()
	if w.shaper != nil {
		w.shaper.Look(over)
	}
	if w.job.EndedBy == w.failover.Term {
		w.dismiss()
	}
}

// letGo ends all connections of node 0, after all that it has sent, when its own tasks have ended or it has stopped
// waiting for them.
func (w *world) letGo() {
	if leader := w.nodes[0]; !leader.Closed && !leader.Hung {
		w.After(resendEvery, leader, w.letGo)
		return
	}
	w.Note("node 0 lets the others go")
	w.moved()
	w.job.Released = true
	w.drain(w.Now + times.Broken)
}

// drain ends the connections of node 0 to which all has been said, and waits a while for those that are being made again.
func (w *world) drain(until int64) {
	leader, open := w.nodes[0], false
	for p := range leader.pairs.Each() {
		open = p.Drain(w.Now < until) || open
	}
	if leader.Left = !open; open {
		w.After(resendEvery, leader, func() { w.drain(until) })
	}
}
