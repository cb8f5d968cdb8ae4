package sim

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/join"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
	"bellows/sim/internal/admission"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
)

// A node that joins while the job runs is invited by node 0, as an operator asks, perhaps while others are on their way. Its process
// starts, and when node 0 tells it to, it calls all others, which let it in. Then it makes its actors and reports that it is ready.
// It takes part from the record that adds it. Until then nothing that becomes of it may show in the job. It has one outcome: that it
// takes part, or why not. A node that takes part is given work, and is asked to leave when its time has come. Package
// admission checks all that.

// host lets the nodes come that the schedule has, from now on; those that are asked for early before the job begins.
func (w *world) host(early bool) {
	for _, g := range w.Guests {
		if g.Early != early {
			continue
		}
		after := g.Millis
		if early {
			after /= 4
		}
		w.After(after, w.nodes[0], func() { w.invite(g) })
	}
}

// invite asks for a node, as an operator would, until it is taken or the job is over.
func (w *world) invite(g schedule.Guest) {
	others := len(w.admission.OnTheWay())
	who, err := w.lead.Invite(g.Slots, g.Lanes)
	switch {
	case err != nil && w.job.Outcome != nil:
		return
	case err != nil && w.lead.Begun():
		w.Violated("E2: %d nodes are on their way, and no other can join: %v", others, err)
		return
	case err != nil:
		w.After(10+w.Visiting.Int64N(20), w.nodes[0], func() { w.invite(g) })
		return
	}
	w.comes(g, who)
	w.obey() // it may be its turn
}

// comes starts a node that was invited, as its fate says.
func (w *world) comes(g schedule.Guest, who join.Newcomer) {
	others := len(w.admission.OnTheWay())
	if int(who.Node) != len(w.nodes) {
		w.Violated("E2: of %d nodes that there were, the next is invited as node %d", len(w.nodes), who.Node)
		return
	}
	w.Note("node %d is invited: %v", who.Node, g.Fate)
	w.moved()
	n := w.addGuest(g, who)
	w.coverage.HitIf("two-guests", others == 1)
	w.coverage.HitIf("three-guests", others > 1)
	w.turn(n, "on the way", 40)
	start := g.Start
	switch g.Fate {
	case "absent":
		n.Left, start = true, 300
		w.After(start+8*g.At, w.nodes[0], func() { w.uninvite(n) })
		return
	case "unwanted":
		w.After(start+g.At, w.nodes[0], func() { w.uninvite(n) })
	case "mortal":
		w.After(start+g.At, n, func() { w.crash(n) })
	case "slow":
		w.After(start+g.At, n, func() { w.sleep(n, 20+w.Visiting.Int64N(schedule.LeaseMillis-600)) })
	}
	w.After(start, n, func() {
		n.Joiner.Up = true
		w.coverage.HitIf("guest-waits-for-its-turn", !n.Joiner.Called)
		w.startVisit(n)
	})
}

// startVisit makes a joining node call the others when it is its turn. A node that waits ends with its standard input,
// which closes with the process of node 0: no other node knows it. If that process is stopped for good, the operator
// ends it together with the holder of the input.
func (w *world) startVisit(n *node) {
	switch g, lead := n.Joiner, w.nodes[0]; {
	case !g.Up || g.Visits || n.Done():
	case g.Called:
		g.Visits = true
		w.net.Visit(n, w.nodes, g.Gone)
	case lead.Done() || lead.PausedUntil >= int64(schedule.Never):
		n.leave("the process that leads has gone")
	default:
		w.After(beatEvery, n, func() { w.startVisit(n) })
	}
}

// call tells a node to call the others.
func (w *world) call(c shell.Call) {
	n := w.nodes[c.Node]
	if w.admission.Called(c) {
		w.After(w.Visiting.Int64N(4), n, func() { w.startVisit(n) })
	}
}

// addGuest makes the process of a node that was invited.
func (w *world) addGuest(g schedule.Guest, who join.Newcomer) *node {
	n := &node{w: w, Node: nodestate.Node{Number: w.AddNode(), Joiner: &nodestate.Joiner{Guest: g, Who: who}, Severed: w.nodes[0].Gone}}
	n.drift, n.doors = w.Drift[n.Number], join.NewNewcomers(n.Number+1, w.Connections)
	n.checker = validate.New(w.common, n.Number)
	w.nodes = append(w.nodes, n)
	w.states.All = append(w.states.All, &n.Node)
	w.stages.Add()
	return n
}

// joins takes note that two nodes are connected.
func (w *world) joins(at, back *pair) {
	for _, p := range []*pair{at, back} {
		n, to := p.Local(), p.Peer()
		for len(n.pairs) <= int(to.Number) {
			n.pairs, n.heard = append(n.pairs, nil), append(n.heard, 0)
		}
		n.pairs[to.Number] = p
	}
	w.moved()
}

// Doors returns the node's acceptor of nodes that join.
func (n *node) Doors() *join.Newcomers { return n.doors }

// Arrived records that a joining node is connected to all others, or why it is not.
func (n *node) Arrived(err error) {
	w, g := n.w, n.Joiner
	if err != nil {
		n.leave(fmt.Sprintf("it has not joined: %v", err))
		return
	}
	g.Joined = true
	for _, a := range shell.Brings(g.Who) {
		n.checker.Host(a)
		if a.Role == wire.Lane {
			w.addLane(a)
		} else {
			w.addWorker(a, g.Who.Slots)
		}
	}
	n.shell = shell.NewGuest(w.common, g.Who)
	n.fx.Era = w.era()
	for _, end := range n.ended {
		end()
	}
	if !n.Done() {
		w.After(w.Visiting.Int64N(beatEvery), n, n.tick)
		n.Met()
	}
}

// Met makes a joining node report that it is ready, when it is connected to all others.
func (n *node) Met() {
	if g := n.Joiner; g == nil || !g.Joined || n.Ready || n.Done() {
		return
	}
	for p := range n.pairs.Each() {
		if !p.Met() {
			return
		}
	}
	n.w.turn(n, "at ready", 8)
	n.sayReady()
}

// turn lets the controller be lost at a turn of an admission, if it is to be, a little later.
func (w *world) turn(n *node, at string, within int64) {
	if n.Joiner.Lost != at {
		return
	}
	w.After(w.Visiting.Int64N(within), w.nodes[0], func() {
		if w.mayLoseController() {
			w.follow()
		}
	})
}

// fingerprint returns the job that the node has made.
func (n *node) fingerprint() bellows.Fingerprint {
	job := n.w.ownJob()
	if n.Joiner != nil && n.Joiner.Fate == "stranger" {
		job.Kernels++
	}
	return job
}

// ownJob returns the fingerprint of the job that joining nodes must have made, if any node may join.
func (w *world) ownJob() (job bellows.Fingerprint) {
	if w.joinable() {
		job.Data = 1
	}
	return job
}

// uninvite cancels the invitation of a node, for the operator that asked for it.
func (w *world) uninvite(n *node) {
	if n.Joiner.Outcome == nil {
		w.lead.Uninvite(n.Number, bellows.Errorf(bellows.Interrupted, "wait", "", "nobody wants it"))
		w.obey()
	}
}

// settle takes the outcomes of nodes that join.
func (w *world) settle() {
	list := w.lead.Joins
	if !w.admission.Settled(list) { // all of them, before a connection that ends has the controller take another step
		return
	}
	if len(list) > 0 {
		w.moved()
	}
	w.lead.Joins = nil
	for _, o := range list {
		if n := w.nodes[o.Node]; o.Err != nil {
			w.turnedAway(n, o.Err)
		} else {
			w.admitted(n)
		}
	}
	calls := w.lead.Calls
	w.lead.Calls = nil
	for _, c := range calls {
		w.call(c)
	}
	w.admission.Waiting()
}

// turnedAway ends the connections of a node that may not join; the operator ends its process.
func (w *world) turnedAway(n *node, why error) {
	w.admission.Refused(&n.Node, why)
	if p := w.nodes[0].pairs.Find(n.Number); p != nil && !n.Done() {
		p.Close()
	}
	if !n.Done() {
		w.After(w.Visiting.Int64N(400), n, func() { n.leave("it was turned away") })
	}
}

// admitted gives work to a node that has joined.
func (w *world) admitted(n *node) {
	w.coverage.HitIf("guest-beside-another", slices.ContainsFunc(w.nodes, func(o *node) bool { return o != n && o.Joiner != nil && o.hosts() && !o.Done() }))
	lost := ""
	if p := w.nodes[0].pairs.Find(n.Number); p != nil {
		if why, yes := p.Lost(); yes {
			lost = cmp.Or(why, "for no reason")
		}
	}
	w.admission.Admitted(&n.Node, lost)
	w.turn(n, "at work", 10)
	w.After(0, w.nodes[0], func() { w.employ(n) })
}

// employ gives a joined node splits and partitions, and makes it leave when its time has come.
func (w *world) employ(n *node) {
	g := n.Joiner
	for _, s := range g.Splits {
		w.take(schedule.Entry{Gives: true, Actor: wire.ClientAt(n.Number), Split: s})
	}
	for i, ref := range g.Parts {
		to := wire.LaneAt(n.Number, i%max(1, g.Lanes))
		w.After(w.Visiting.Int64N(20), w.nodes[0], func() {
			if at := slices.Index(w.stay(w.route.Lanes()), to); at >= 0 {
				w.ask(schedule.Shift{Ref: ref, To: at})
			}
		})
	}
	if g.Stays < schedule.Forever {
		w.After(g.Stays, w.nodes[0], func() { w.dismissNode(n) })
	}
}

// dismissNode lets a node leave, when all that it owns has gone elsewhere.
func (w *world) dismissNode(n *node) {
	if w.job.Ending || w.job.Outcome != nil || n.Done() || n.Departed || w.lead.Gone(n.Number) {
		return
	}
	again := func() { w.After(10+w.Visiting.Int64N(20), w.nodes[0], func() { w.dismissNode(n) }) }
	r := w.lead.Route()
	if !w.lead.Begun() || !admission.TakesPart(r, n.Number) {
		again()
		return
	}
	if !n.Joiner.Sent {
		n.Joiner.Sent = true
		w.removed = append(w.removed, shell.Brings(n.Joiner.Who)...)
	}
	w.empty(n)
	if err := w.lead.Remove(n.Number, &w.fx); err != nil {
		again()
	}
	w.moved()
	w.obey()
}

// empty moves what a node owns, and what is on its way there, to others.
func (w *world) empty(n *node) {
	r := w.lead.Route()
	clients := slices.DeleteFunc(slices.Clone(r.Clients()), func(a wire.Address) bool { return slices.Contains(w.removed, a) || w.lead.Gone(a.Node) })
	for s := range bellows.SplitID(r.Splits()) {
		if r.Node(s) == n.Number && len(clients) > 0 {
			w.Must(w.moveSplit(s, clients[int(s)%len(clients)].Node))
		}
	}
	for _, m := range w.lead.Moving() {
		if m.To.Node == n.Number {
			w.cancelMove(m.Ref)
		}
	}
	lanes := w.stay(r.Lanes())
	for ref := range r.Each() {
		if r.Owner(ref).Lane.Node == n.Number && len(lanes) > 0 {
			w.Must(w.movePartition(ref, lanes[r.Number(ref)%len(lanes)], false))
		}
	}
}

// enters handles records by which a node joins. Faults injected at it before concern the job from now on.
func (w *world) enters(c bellows.Control) {
	n := w.nodes[c.Node]
	switch c.Kind {
	case bellows.AddLane, bellows.AddClient:
		if n.Joiner == nil || n.Joiner.TakesPart {
			return
		}
		n.Joiner.TakesPart = true
		if n.Done() {
			w.mayLose(n)
			w.judge(n, int64(schedule.Never))
		}
	case bellows.LoseClient:
		n.Buried = true
		w.witness.Lose(c.Node, w.moves.RanLast(c.Node))
	case bellows.MoveSplit:
		w.coverage.HitIf("guest-runs-a-split", n.Joiner != nil)
	case bellows.MovePartition:
		w.coverage.HitIf("guest-serves", n.Joiner != nil)
	}
}

// breakWord lets the controller be lost in the midst of what it says of a node that is ready, or before it has said anything of it, if it is to be.
func (w *world) breakWord(n bellows.NodeID) {
	if g := w.nodes[n].Joiner; g != nil && g.Outcome == nil && g.Lost == "at word" && w.lead.Begun() && w.mayLoseController() {
		w.failover.Break.Due, w.failover.Break.NoOwn = true, w.Visiting.IntN(4) > 0
	}
}

// unreachable checks that no node sends to a node that it is not connected to, unless one of them is about to leave, or
// does not take part yet.
func (w *world) unreachable(e wire.Envelope) {
	for _, n := range []bellows.NodeID{e.From.Node, e.To.Node} {
		if n != 0 && !admission.TakesPart(w.route, n) {
			return
		}
	}
	w.Violated("E2: %v and %v take part, are not joined, and have %T to say", e.From, e.To, e.Message)
}

// nodesMost returns above the numbers of all nodes that the job may have.
func (w *world) nodesMost() int {
	if !w.joinable() {
		return 0
	}
	return join.NodesMost
}

// nobodyAt is a node that no job has.
const nobodyAt = bellows.NodeID(1 << 13)
