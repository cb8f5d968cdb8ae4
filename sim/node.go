package sim

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/core/members"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/sim/internal/await"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/transit"
)

// node is one process: its clock, its ends of the connections, and the shell around its actors, which does what
// package node does in production. Node 0 leads. What a node decides is decided by the step functions that ship (core/shell); here is only what drives
// them: ticks by a clock that drifts, the ends of connections, the end of tasks.
//
// A node runs; is paused until some time, while its connections stand and what is for it waits; has left, in peace or since it gave up; or has crashed, alone or with
// its host (vanished), of which nobody hears. gone says that the job may lose it for what was injected, severed that it may lose
// node 0: both only ever allow, and what does happen is held against them (checkLeave, checkReason).
type node struct {
	w           *world
	id          bellows.NodeID
	pairs       transit.Pairs[*node] // by node; nil: itself
	worker      *worker              // nil: no client here
	checker     *validate.Checker
	lanes       []*lane
	actors      []*actor
	drift       int64 // of its clock, in thousandths
	pausedUntil int64
	quietSince  int64 // when it was paused, or of node 0, when it may have been heard last

	crashed  bool
	vanished bool   // crashed, and its host with it: nobody says so
	left     bool   // its work is over, or it has given up
	reason   string // why it has given up; empty: it was let go
	gone     bool   // lost to the job, or about to be: its last word may be missing
	severed  bool   // a fault may have parted it from node 0
	departed bool   // the job has nothing of it any more
	buried   bool   // there is a record by which it is lost and the job goes on
	guest    *guest // nil: the job has begun with it
	doors    *join.Newcomers

	expects     bool          // a client, later
	ready       bool          // has said so
	shell       *shell.Member // nil: node 0
	fx          members.Effects
	closed      bool     // no task of the node runs any more, and its lanes know it
	closedAt    int64    // when its executors will have closed; 0: their tasks go on
	hung        bool     // it has given its tasks up, which never end
	heard       []uint64 // by node: frames that have come
	ticked      bool     // its lanes have been told a time
	heardMillis int64    // by its clock, when the last came from node 0
	lastSaid    string   // why its connection to node 0 ended
}

// times are those of production, but for a shorter lease and task.
var times = liveness.Times{Lease: schedule.LeaseMillis, Task: schedule.TaskMillis, Collect: schedule.TaskMillis, Ready: schedule.ReadyMillis, Answer: schedule.AnswerMillis, Tasks: schedule.TasksMillis, Join: schedule.ReadyMillis}.Or()

// done reports whether nothing happens at a node any more.
func (n *node) done() bool { return n.crashed || n.left }

// stopped reports whether a node does not run now, or never again.
func (n *node) stopped() bool { return n.done() || n.pausedUntil > n.w.Now }

// local is what a node's clock shows, in milliseconds.
func (n *node) local() int64 { return n.w.Now * (1000 + n.drift) / 1000 }

// period is how long the node takes for so many milliseconds of its clock.
func (n *node) period(millis int64) int64 { return max(1, millis*1000/(1000+n.drift)) }

// hosts reports whether the node has a part in the job.
func (n *node) hosts() bool {
	if n.guest != nil {
		return n.guest.takesPart
	}
	return n.worker != nil || len(n.lanes) > 0 || n.id == 0
}

// begin sets a node going. Those that host nothing have left already.
func (n *node) begin() {
	w := n.w
	switch {
	case !n.hosts():
		n.left = true
		for p := range n.pairs.All() { // nobody speaks to it
			p.Unused()
		}
	case n.id == 0:
		w.After(0, n, w.start)
	default:
		n.shell = shell.NewMember(w.common, n.id)
		n.fx.Era = w.era()
		if n.id == w.Unready {
			w.mayLose(n)
		} else {
			w.After(w.ReadyAt[n.id], n, n.sayReady)
		}
		w.After(w.Rng.Int64N(beatEvery), n, n.tick)
	}
}

// sayReady tells the controller that all roles are there; sometimes twice, as after a handshake that was repeated.
func (n *node) sayReady() {
	if n.ready && n.w.begun {
		return
	}
	n.ready = true
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
	n.shell.Tick(now, n.heard[0], n.told(), n.unfinished(), &n.fx)
	n.obey()
	n.w.After(n.period(beatEvery), n, n.tick)
}

// tickLinks tells the sessions of a node that time has passed.
func (n *node) tickLinks() {
	for p := range n.pairs.All() {
		p.Tick()
	}
}

// tickLanes takes note of how long the lanes of a node have not heard node 0.
func (n *node) tickLanes(now int64) {
	if !n.ticked {
		n.ticked, n.heardMillis = true, now // a lane that gets its first tick has waited for nothing, as far as it knows
	}
	for _, l := range n.lanes {
		l.deaf = now-n.heardMillis > times.Lease+2*beatEvery // a lane counts from the tick after
	}
}

// unfinished are the tasks that run at a node.
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
	if n.closed || n.worker != nil && n.worker.client.Ended() == nil || n.worker == nil && n.expects && !n.told() {
		return
	}
	if n.closedAt == 0 {
		n.closedAt = w.Now + w.Closing[n.id]
	}
	if w.Now < n.closedAt {
		w.coverage.Hit("closing-takes-time")
		return
	}
	n.closed = true
	w.moved()
	if n.id == 0 {
		w.lead.TasksEnded(&w.fx)
		w.obey()
		return
	}
	n.shell.TasksEnded(&n.fx)
	n.obey()
}

// gaveUp takes note of a node that does not wait for its tasks any more, and why.
func (n *node) gaveUp(why string) {
	w := n.w
	if n.closed || w.Closing[n.id] != int64(schedule.Never) {
		w.Violated("P8: node %d gives up its tasks (%s), which return", n.id, why)
	} else {
		w.Must(blame.CheckGivenUp(why, n.unfinished()))
	}
	if !n.hung {
		n.hung = true
		w.moved()
		w.faults.ends.May("node %d waits no longer: ", n.id)
		w.faults.ends.May("node %d leaves: ", n.id)
	}
}

// Disconnected tells the shell that a node is lost to this one.
func (n *node) Disconnected(peer bellows.NodeID, reason string) {
	w := n.w
	switch {
	case n.done(), w.released && n.id == 0:
	case n.guest != nil && n.shell == nil:
		n.guest.ended = append(n.guest.ended, func() { n.Disconnected(peer, reason) })
	case n.id == 0:
		w.lead.Disconnected(peer, reason, n.refuses(peer), &w.fx)
		w.obey()
	default:
		if peer == 0 {
			n.lastSaid = reason
		}
		n.shell.Disconnected(peer, reason, n.refuses(peer), n.told(), &n.fx)
		n.obey()
	}
}

// refuses reports whether the node has ended its connections to another for what came.
func (n *node) refuses(peer bellows.NodeID) bool {
	p := n.pairs.To(peer)
	return p != nil && p.Refused()
}

// told reports whether the node knows that the job is over, or has been removed and was let go, or the job has ended meanwhile: then nothing is lost with node 0.
func (n *node) told() bool {
	if k := n.worker; k != nil && !k.client.Removed() {
		return k.client.Ended() != nil
	}
	return slices.ContainsFunc(n.lanes, func(l *lane) bool { return l.Ending() }) || !slices.ContainsFunc(n.lanes, func(l *lane) bool { return l.TakesPart() }) && (n.departed || n.id == 0 || n.w.released)
}

// checkLeave sees that a node gives up on node 0 only when something has parted them, and is let go only when it knows why.
func (n *node) checkLeave(reason string) {
	switch {
	case n.guest != nil && (!n.guest.takesPart || n.w.failover.cutShort): // or it is not known to who ended the job
		return
	case blame.GivesUp(reason):
		n.gaveUp(reason)
		n.w.coverage.Hit("tasks-left")
		return
	case reason == "" && !n.closed:
		n.w.Violated("P1: node %d is let go, and its tasks run", n.id)
	}
	if !n.severed && !n.gone && !(n.told() && (n.w.released || n.departed || n.worker != nil && blame.EndedWithout(n.worker.client.Ended(), n.id))) {
		n.w.Violated("P9: node %d gives up (%s) although nothing has parted it from node 0", n.id, reason)
	}
	// one that had not answered on its first connection when it was lost could not be told, nor one that stopped before it had on the last
	if to := n.w.nodes[0].pairs[n.id]; n.w.released && !n.buried && !n.told() && !to.Refused() && to.Answered() && (!n.gone || to.Resumed()) && strings.HasSuffix(n.lastSaid, "EOF") {
		n.w.Violated("P8: node %d is let go and was not told why the job is over", n.id)
	}
}

// leave ends the process of a node that is not node 0. The one that started it may be told.
func (n *node) leave(reason string) {
	w := n.w
	if n.left {
		return
	}
	w.Note("node %d leaves: %q", n.id, reason)
	w.moved()
	n.left, n.reason = true, reason
	for p := range n.pairs.All() {
		p.Close()
	}
	w.coverage.HitIf("node-0-given-up", reason != "")
	if !w.released && !n.departed {
		w.mayLose(n)
	}
	if w.outcome == nil && w.Rng.IntN(2) == 0 {
		w.reportDeath(n)
	}
}

// reportDeath tells node 0 that a process has died, as whoever started it can.
func (w *world) reportDeath(n *node) {
	if !n.departed {
		w.mayLose(n)
	}
	w.After(1+w.Rng.Int64N(300), w.nodes[0], func() {
		w.coverage.Hit("death-told")
		w.lead.Lost(n.id, fmt.Sprintf("node %d died", n.id), &w.fx)
		w.obey()
	})
}

// start is node 0 at its beginning: the controller starts, and is told the time from then on.
func (w *world) start() {
	w.lead.Start(&w.fx)
	w.obey()
	w.tickController()
}

func (w *world) tickController() {
	n := w.nodes[0]
	if w.released {
		return
	}
	n.close()
	if n.worker != nil {
		n.worker.tick(n.local())
	}
	n.tickLinks()
	if why := w.lead.Tick(n.local(), n.heard, n.told(), n.unfinished(), &w.fx); why != "" {
		n.gaveUp(why)
	}
	w.obey()
	w.saveController()
	if w.outcome == nil && (w.cuts.Tick() || w.Cuts > 0 && w.lead.CutDue()) && w.lead.Cut(&w.fx) == nil {
		w.obey()
	}
	if kind, mark := w.waitsFor(); w.outcome == nil {
		if err := w.await.See(kind, mark, w.Now, n.pausedUntil, noticeMax, beatEvery); err != nil {
			w.Violated("P8: %v", err)
		}
	}
	w.After(n.period(beatEvery), n, w.tickController)
}

// waitsFor is what node 0 waits for at the moment, and how far that has come.
func (w *world) waitsFor() (kind await.Wait, mark int) {
	switch {
	case w.lead.Collecting():
		return await.State, w.surrendered
	case w.endedBy == w.failover.term:
		return await.End, w.lastWords
	case w.lead.Recovering():
		return await.Tails, w.failover.heard
	case !w.lead.Begun(): // another controller begins its wait anew
		return await.Ready, int(w.followedAt)
	case w.begun: // likewise
		return await.Tasks, w.oracle.Flushes + int(w.followedAt)
	}
	return await.Ready, 0
}

// obey carries out what the controller wants.
func (w *world) obey() {
	w.nodes[0].checker.Meet(w.fx.Met)
	w.failover.fresh.Learn(w.fx.Met, w.fx.Route)
	if r := w.fx.Route; r != nil {
		w.route = r
		w.nodes[0].checker.Learn(r)
	}
	w.settle()
	w.hooks.Says(w.fx.Envelopes)
	if w.failover.breaks(w) {
		return
	}
	w.tells()
	for _, n := range w.fx.Notices {
		w.coverage.Hit("node-named")
		w.named = append(w.named, n)
		kind, _ := w.waitsFor()
		w.await.Hear(kind, n)
		w.checkCulprit(n)
		w.coverage.HitIf("task-named", w.await.TasksNamed())
		w.Note("notice: %s", n)
	}
	if w.failover.term > term && w.failover.known != w.failover.term && w.lead.Begun() {
		w.failover.known = w.failover.term
		if w.failover.untrue {
			w.Violated("P1: it was told what counts by record %d, which nobody has, and the job goes on", w.failover.told)
		}
		w.checkAdmitted()
		w.regrow()
	}
	for _, m := range w.fx.Moves {
		w.coverage.HitIf("move-given-up", m.Reason != "")
	}
	for i := range w.fx.Cuts {
		w.cuts.Done(&w.fx.Cuts[i])
	}
	w.losses += len(w.fx.Losses)
	w.checkLost()
	w.buries()
	w.depart()
	if o := w.fx.Outcome; o != nil {
		w.coverage.HitIf("tail-cut-off", strings.Contains(o.Reason, "cannot be recovered"))
		w.Note("outcome %q after %d commits, uncollected %v", o.Reason, o.Commits, o.Uncollected)
		w.outcome = o
		w.moved()
		w.checkSettled()
		w.checkClosed()
		w.checkSilenceNamed()
		w.checkCollected()
		w.After(w.Linger, w.nodes[0], w.letGo)
	}
	w.post(w.nodes[0], &w.fx.Outbox)
	w.fx.Reset()
	if w.endedBy == w.failover.term {
		w.dismiss()
	}
}

// letGo ends all connections of node 0, behind all that it has sent, when its own tasks have ended or are waited for no more.
func (w *world) letGo() {
	if leader := w.nodes[0]; !leader.closed && !leader.hung {
		w.After(resendEvery, leader, w.letGo)
		return
	}
	w.Note("node 0 lets the others go")
	w.moved()
	w.released = true
	w.drain(w.Now + times.Broken)
}

// drain ends the connections of node 0 to which all has been said, and waits a while for those that are being made again.
func (w *world) drain(until int64) {
	leader, open := w.nodes[0], false
	for p := range leader.pairs.All() {
		open = p.Drain(w.Now < until) || open
	}
	if leader.left = !open; open {
		w.After(resendEvery, leader, func() { w.drain(until) })
	}
}
