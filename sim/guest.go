package sim

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/join"
	"bellows/core/route"
	"bellows/core/shell"
	"bellows/core/validate"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// guest is a node that joins while the job runs. It is invited by node 0, as an operator asks, perhaps while others are on their way; its process starts, and when it is
// its turn it calls all others, which let it in; it makes its
// actors and says that it is ready; and it takes part from the record on that says so. Until then nothing that becomes of it may show in the job, and one outcome is
// told of it: that it takes part, or why not.
//
// A guest is given work when its outcome says so, and is sent away when its time has come. Whom the controller before has let take part does so under the next.
type guest struct {
	schedule.Guest
	who       join.Newcomer
	gone      []bellows.NodeID // whom it does not call
	up        bool             // its process has started
	called    bool             // it was told that it is its turn
	visits    bool             // it calls the others, or has
	joined    bool             // its process is connected to all others, and has its actors
	takesPart bool             // by a record
	outcome   *join.Outcome
	ended     []func() // what became of its connections before it had a shell
	sent      bool     // it was told to leave
}

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

// onTheWay are the guests of which nobody knows yet what becomes of them.
func (w *world) onTheWay() (list []*node) {
	for _, n := range w.nodes {
		if n.guest != nil && n.guest.outcome == nil {
			list = append(list, n)
		}
	}
	return list
}

// invite asks for a node, as an operator would, until it is taken or the job is over.
func (w *world) invite(g schedule.Guest) {
	others := len(w.onTheWay())
	who, err := w.lead.Invite(g.Slots, g.Lanes)
	switch {
	case err != nil && w.outcome != nil:
		return
	case err != nil && w.lead.Begun():
		w.Violated("E2: %d nodes are on their way, and no other can join: %v", others, err)
		return
	case err != nil:
		w.After(10+w.Visiting.Int64N(20), w.nodes[0], func() { w.invite(g) })
		return
	case int(who.Node) != len(w.nodes):
		w.Violated("E2: of %d nodes that there were, the next is invited as node %d", len(w.nodes), who.Node)
		return
	}
	w.Note("node %d is invited: %v", who.Node, g.Fate)
	w.moved()
	n := w.addGuest(g, who)
	w.coverage.HitIf("two-guests", others == 1)
	w.coverage.HitIf("three-guests", others > 1)
	w.turn(n, "on the way", 40)
	defer w.obey() // it may be its turn
	start := g.Start
	switch g.Fate {
	case "absent":
		n.left, start = true, 300
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
		n.guest.up = true
		w.coverage.HitIf("guest-waits-for-its-turn", !n.guest.called)
		w.goes(n)
	})
}

// goes lets a guest call the others when it is its turn. One that waits ends with its standard input, as that does with the process of node 0: nobody else knows it. Where that process is stopped for good, so is who holds the
// input, and somebody ends both.
func (w *world) goes(n *node) {
	switch g, lead := n.guest, w.nodes[0]; {
	case !g.up || g.visits || n.done():
	case g.called:
		g.visits = true
		w.net.Visit(n, w.nodes, g.gone)
	case lead.done() || lead.pausedUntil >= int64(schedule.Never):
		n.leave("the process that leads has gone")
	default:
		w.After(beatEvery, n, func() { w.goes(n) })
	}
}

// call tells a guest that it is its turn to call the others.
func (w *world) call(c shell.Call) {
	n := w.nodes[c.Node]
	for _, o := range w.onTheWay() {
		if o.guest.called {
			w.Violated("E2: it is the turn of node %d, and node %d is calling", c.Node, o.id)
			return
		}
	}
	w.Note("it is the turn of node %d", c.Node)
	for _, o := range w.nodes[:c.Node] { // it is to call everybody who takes part, and nobody who is about to go
		if here := o.id == 0 || takesPart(w.lead.Route(), o.id); here == slices.Contains(c.Gone, o.id) {
			w.Violated("E2: node %d is not to call %v; node %d takes part: %v", c.Node, c.Gone, o.id, here)
		}
	}
	n.guest.called, n.guest.gone = true, c.Gone
	w.After(w.Visiting.Int64N(4), n, func() { w.goes(n) })
}

// addGuest makes the process of a node that was invited.
func (w *world) addGuest(g schedule.Guest, who join.Newcomer) *node {
	n := &node{w: w, id: w.AddNode(), guest: &guest{Guest: g, who: who}, severed: w.nodes[0].gone}
	n.drift, n.doors = w.Drift[n.id], join.NewNewcomers(n.id+1, w.Connections)
	n.checker = validate.New(w.common, n.id)
	w.nodes = append(w.nodes, n)
	w.stages = append(w.stages, [schedule.Stages]int{})
	return n
}

// joins takes note that two nodes are connected.
func (w *world) joins(at, back *pair) {
	for _, p := range []*pair{at, back} {
		n, to := p.From(), p.To()
		for len(n.pairs) <= int(to.id) {
			n.pairs, n.heard = append(n.pairs, nil), append(n.heard, 0)
		}
		n.pairs[to.id] = p
	}
	w.moved()
}

// Doors is whom the node lets in that was not there.
func (n *node) Doors() *join.Newcomers { return n.doors }

// Arrived takes note that a guest is connected to all others, or why not.
func (n *node) Arrived(err error) {
	w, g := n.w, n.guest
	if err != nil {
		n.leave(fmt.Sprintf("it has not joined: %v", err))
		return
	}
	g.joined = true
	for _, a := range shell.Brings(g.who) {
		n.checker.Host(a)
		if a.Role == wire.Lane {
			w.addLane(a)
		} else {
			w.addWorker(a, g.who.Slots)
		}
	}
	n.shell = shell.NewGuest(w.common, g.who)
	n.fx.Era = w.era()
	for _, end := range g.ended {
		end()
	}
	if !n.done() {
		w.After(w.Visiting.Int64N(beatEvery), n, n.tick)
		n.Met()
	}
}

// Met lets a guest say that it is ready, when all others have it among their own.
func (n *node) Met() {
	if g := n.guest; g == nil || !g.joined || n.ready || n.done() {
		return
	}
	for p := range n.pairs.All() {
		if !p.Met() {
			return
		}
	}
	n.w.turn(n, "at ready", 8)
	n.sayReady()
}

// turn has the controller be lost at a turn of an admission, if it is to be, a little later.
func (w *world) turn(n *node, at string, within int64) {
	if n.guest.Lost != at {
		return
	}
	w.After(w.Visiting.Int64N(within), w.nodes[0], func() {
		if w.mayLoseController() {
			w.follow()
		}
	})
}

// fingerprint is the job that the node has made.
func (n *node) fingerprint() bellows.Fingerprint {
	job := n.w.ownJob()
	if n.guest != nil && n.guest.Fate == "stranger" {
		job.Kernels++
	}
	return job
}

// ownJob is what guests must have made, too, where there are any.
func (w *world) ownJob() (job bellows.Fingerprint) {
	if len(w.Guests) > 0 {
		job.Data = 1
	}
	return job
}

// uninvite gives a guest up, for whoever asked for it.
func (w *world) uninvite(n *node) {
	if n.guest.outcome == nil {
		w.lead.Uninvite(n.id, bellows.Errorf(bellows.Interrupted, "wait", "", "nobody wants it"))
		w.obey()
	}
}

// settle takes note of what has become of guests.
func (w *world) settle() {
	list := w.lead.Joins
	for _, o := range list { // all of them, before a connection that ends has the controller take another step
		n := w.nodes[o.Node]
		if n.guest == nil || n.guest.outcome != nil || o.Newcomer != n.guest.who {
			w.Violated("E2: of %+v it was told before what becomes of it, or it was never invited", o)
			return
		}
		n.guest.outcome = &o
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
	if list := w.onTheWay(); len(list) > 0 && w.lead.Begun() && !w.ending && w.outcome == nil && !slices.ContainsFunc(list, func(n *node) bool { return n.guest.called }) {
		w.Violated("E2: it is the turn of none of %d nodes that are on their way", len(list))
	}
}

// turnedAway ends the connections of a guest that takes no part; its process is ended by whoever has it come.
func (w *world) turnedAway(n *node, why error) {
	w.Note("node %d is turned away: %v", n.id, why)
	w.coverage.Hit("guest-refused")
	w.coverage.HitIf("guest-unwanted", n.guest.Fate == "unwanted")
	w.coverage.HitIf("guest-of-another-job", n.ready && n.guest.Fate == "stranger")
	w.coverage.HitIf("guest-died", n.crashed)
	w.coverage.HitIf("guest-at-the-end", w.ending)
	if p := w.nodes[0].pairs.To(n.id); p != nil && !n.done() {
		p.Close()
	}
	if !n.done() {
		w.After(w.Visiting.Int64N(400), n, func() { n.leave("it was turned away") })
	}
}

// admitted gives work to a guest that takes part.
func (w *world) admitted(n *node) {
	g := n.guest
	w.Note("node %d takes part", n.id)
	w.coverage.Hit("guest-joined")
	w.coverage.HitIf("guest-beside-another", slices.ContainsFunc(w.nodes, func(o *node) bool { return o != n && o.guest != nil && o.hosts() && !o.done() }))
	switch {
	case !n.ready:
		w.Violated("E2: node %d takes part before it has said that it is ready", n.id)
	case g.Fate == "stranger":
		w.Violated("E2: node %d has made another job, and takes part", n.id)
	}
	if p := w.nodes[0].pairs.To(n.id); p != nil {
		if why, lost := p.Lost(); lost {
			w.Violated("E2: node 0 has lost node %d (%s), which takes part from then on", n.id, why)
		}
	}
	for _, a := range shell.Brings(g.who) {
		if r := w.lead.Route(); !w.ending && !slices.Contains(r.Lanes(), a) && !slices.Contains(r.Clients(), a) {
			w.Violated("E2: node %d takes part, and %v does not", n.id, a)
		}
	}
	w.turn(n, "at work", 10)
	w.After(0, w.nodes[0], func() { w.employ(n) })
}

// employ gives a guest splits and partitions, and sends it away when its time has come.
func (w *world) employ(n *node) {
	g := n.guest
	for _, s := range g.Splits {
		w.take(schedule.Entry{Gives: true, Actor: wire.ClientAt(n.id), Split: s})
	}
	for i, ref := range g.Parts {
		to := wire.LaneAt(n.id, i%max(1, g.Lanes))
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

// dismissNode has a node leave, when all that it owns has gone elsewhere.
func (w *world) dismissNode(n *node) {
	if w.ending || w.outcome != nil || n.done() || n.departed || w.lead.Gone(n.id) {
		return
	}
	again := func() { w.After(10+w.Visiting.Int64N(20), w.nodes[0], func() { w.dismissNode(n) }) }
	r := w.lead.Route()
	if !w.lead.Begun() || !takesPart(r, n.id) {
		again()
		return
	}
	if !n.guest.sent {
		n.guest.sent = true
		w.removed = append(w.removed, shell.Brings(n.guest.who)...)
	}
	w.empty(n)
	if err := w.lead.Remove(n.id, &w.fx); err != nil {
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
		if r.Node(s) == n.id && len(clients) > 0 {
			w.Must(w.lead.MoveSplit(s, clients[int(s)%len(clients)].Node, &w.fx))
		}
	}
	for _, m := range w.lead.Moving() {
		if m.To.Node == n.id {
			w.lead.CancelMove(m.Ref, &w.fx)
		}
	}
	lanes := w.stay(r.Lanes())
	for ref := range r.All() {
		if r.Owner(ref).Lane.Node == n.id && len(lanes) > 0 {
			w.Must(w.lead.MovePartition(ref, lanes[r.Number(ref)%len(lanes)], false, &w.fx))
		}
	}
}

// enters takes note of records by which a guest takes part. What has befallen it before concerns the job from now on.
func (w *world) enters(c bellows.Control) {
	n := w.nodes[c.Node]
	switch c.Kind {
	case bellows.AddLane, bellows.AddClient:
		if n.guest == nil || n.guest.takesPart {
			return
		}
		n.guest.takesPart = true
		if n.done() {
			w.mayLose(n)
			w.judge(n, int64(schedule.Never))
		}
	case bellows.LoseClient:
		n.buried = true
		w.witness.Lose(c.Node, w.moves.RanLast(c.Node))
	case bellows.MoveSplit:
		w.coverage.HitIf("guest-runs-a-split", n.guest != nil)
	case bellows.MovePartition:
		w.coverage.HitIf("guest-serves", n.guest != nil)
	}
}

// checkLost sees that the job does not mourn for a node that takes no part in it.
func (w *world) checkLost() {
	for _, n := range w.nodes {
		if g := n.guest; g != nil && w.lead.Gone(n.id) && (g.outcome == nil || g.outcome.Err != nil) {
			w.Violated("E2: node %d takes no part in the job, which has lost it", n.id)
		}
	}
}

// checkSettled sees, when the job is over, that of all who were invited it was told what has become of them.
func (w *world) checkSettled() {
	for _, n := range w.onTheWay() {
		w.Violated("E2: the job is over, and nobody has said what becomes of node %d, which was invited", n.id)
	}
}

// breakWord has the controller be lost in the midst of what it says of a node that is ready, or before it has said anything of it, if it is to be.
func (w *world) breakWord(n bellows.NodeID) {
	if g := w.nodes[n].guest; g != nil && g.outcome == nil && g.Lost == "at word" && w.lead.Begun() && w.mayLoseController() {
		w.failover.broken, w.failover.unsaid = true, w.Visiting.IntN(4) > 0
	}
}

// unreachable sees that nobody speaks to a node that he is not joined to, unless one of them is about to go, or takes no part yet.
func (w *world) unreachable(e wire.Envelope) {
	for _, n := range []bellows.NodeID{e.From.Node, e.To.Node} {
		if n != 0 && !takesPart(w.route, n) {
			return
		}
	}
	w.Violated("E2: %v and %v take part, are not joined, and have %T to say", e.From, e.To, e.Message)
}

// takesPart reports whether a node has an actor in a route.
func takesPart(r *route.Route, n bellows.NodeID) bool {
	return slices.ContainsFunc(slices.Concat(r.Lanes(), r.Clients()), func(a wire.Address) bool { return a.Node == n })
}

// nodesMost is above the numbers of all nodes that the job may have.
func (w *world) nodesMost() int {
	if len(w.Guests) == 0 {
		return 0
	}
	return join.NodesMost
}

// followGuests takes note of a controller that follows while nodes join.
func (w *world) followGuests() {
	for _, n := range w.nodes {
		if g := n.guest; g != nil {
			w.coverage.HitIf("guest-followed", g.outcome == nil)
			w.coverage.HitIf("guest-unrecorded", g.outcome != nil && g.outcome.Err == nil && !g.takesPart)
		}
	}
}

// checkAdmitted sees that who was told that it takes part does so under another controller, which knows what was recorded.
func (w *world) checkAdmitted() {
	if slices.ContainsFunc(w.fx.Envelopes, func(e wire.Envelope) bool { _, ends := e.Message.(*wire.End); return ends }) {
		return // the job is over with what was recorded
	}
	for _, n := range w.nodes {
		if g := n.guest; g == nil || g.outcome == nil || g.outcome.Err != nil || g.sent || w.lead.Gone(n.id) || w.ending {
			continue
		}
		for _, a := range shell.Brings(n.guest.who) {
			if r := w.lead.Route(); !slices.Contains(r.Lanes(), a) && !slices.Contains(r.Clients(), a) {
				w.Violated("E2: %v was told that it takes part, and does not under the controller of term %d", a, w.failover.term)
			}
		}
	}
}

// nobodyAt is a node that no job has.
const nobodyAt = bellows.NodeID(1 << 13)
