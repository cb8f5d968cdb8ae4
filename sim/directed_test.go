package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/model"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/table"
)

// directed is an attempt of a job that makes one change again and again until a node has died in a step of it, as a
// cell of the grid says. No other fault is injected.
//
// It begins with a cut, so that the job can roll back. A job that ends because of the death resumes from its last cut
// in another attempt, on as many nodes, as the shipped command does; nothing is injected there.
type directed struct {
	*world
	cell    grid.Cell
	seed    uint64
	watch   grid.Watch
	from    *node // the node that gives
	to      *node // the node that gets
	third   *node
	begunAt int64 // when the change was begun last; 0: never
	undoAt  int64 // when a move is given up
	struck  bool
	at      int64  // when a node has died last,
	of      *world // and in which attempt
	who     string
	more    []blow       // further deaths, one after the other: in this attempt or, where it is over, in the next
	also    func(*world) // a further change of each attempt from its beginning; nil: none
}

// blow is a death that follows another.
type blow struct {
	role string
	gap  int64 // since the previous death, or the beginning of the attempt
}

// ending is what became of a directed job.
type ending struct {
	violation string
	struck    bool
	who       string // the node that has died
	why       string // why the job has ended and rolled back to its last cut; empty: it continued
	lives     int
	millis    int64  // from the death to the end
	job       uint64 // model.Job.Index
	bits      uint64
	collected bool // the state has come together
	commits   int
}

// newDirected makes the first life of such a job.
func newDirected(cell grid.Cell, seed uint64, log io.Writer) *directed {
	c := cell.Step.Change
	s := schedule.Directed(seed, c == "split" || seed%3 == 0, c == "leave", c == "half" || c == "half cut")
	w := firstLife(s, log)
	w.build()
	d := &directed{world: w, cell: cell, seed: seed}
	d.watch = grid.Watch{Step: cell.Step, Comes: d.comes}
	d.watch.Subject.HalfAt = d.halfAt
	w.hooks = grid.Hooks{OnPosted: d.watch.Posted, OnDelivered: d.watch.Taken, OnSays: d.sending}
	w.After(1, w.nodes[0], d.poll)
	return d
}

// play plays the job and, if it ends because of the death, its next attempt from the last cut.
func (d *directed) play() (v ending) {
	w := d.world
	defer func() {
		if p := recover(); p != nil {
			w.Violated("P10: the core panics: %v", p)
			v.violation = w.Violation
			if w.Log != nil {
				panic(p)
			}
		}
	}()
	var base *world // the last life that has a cut to go back to
	for {
		w.run()
		if w.Violation == "" {
			w.list.Final()
		}
		v.lives++
		if w == d.of {
			v.millis = w.over - d.at
		} else {
			v.millis += w.over
		}
		if w.Violation != "" {
			v.violation = w.Violation
			break
		}
		if reason := w.ends(); reason != "" {
			if v.why += reason + "; "; w.cuts.Last != nil {
				base = w
			}
			if v.lives > livesMax {
				v.violation = "no life follows: " + v.why
				break
			}
			if w = d.again(base); w == nil {
				v.violation = "no life follows: " + v.why
				break
			}
			if len(d.more) > 0 {
				w.After(1, w.nodes[0], func() { d.next(w) })
			}
			if d.also != nil {
				d.also(w)
			}
			continue
		}
		break
	}
	if strings.Contains(v.why, errKilled.Error()) { // a task has failed besides, as tasks do while a controller asks what lanes hold
		return ending{lives: v.lives}
	}
	v.struck, v.who, v.job, v.commits = d.struck, d.who, w.Job.Index(), len(w.oracle.Log)
	v.bits, v.collected = uint64(w.images.Bits), w.images.Whole
	return v
}

// again returns the life that continues from the last cut; without a cut, a life that begins anew.
func (d *directed) again(base *world) *world {
	if base == nil {
		n := newDirected(d.cell, d.seed, d.Log)
		n.struck = true // nothing is changed in it
		return n.world
	}
	base.lost = true
	return base.again()
}

// ends returns why a life has not come to its model.
func (w *world) ends() string {
	if w.job.Outcome == nil {
		return "node 0 is gone"
	}
	if w.job.Outcome.Reason != "" {
		return w.job.Outcome.Reason
	}
	return w.job.Uncollected()
}

// poll begins the change when the job has run so far that it can roll back, and again if the change is over without a
// death.
func (d *directed) poll() {
	w := d.world
	if d.struck || w.job.Ending || w.job.Outcome != nil {
		return
	}
	w.After(2, w.nodes[0], d.poll)
	if w.lead.Recovering() || !w.lead.Begun() || !w.job.Begun {
		return
	}
	if w.cuts.Last == nil {
		d.cut()
		return
	}
	if g := d.guest(); g != nil {
		switch {
		case g.Called && !g.Visits:
			d.watch.Pass("before")
		case g.Visits && !g.Joined:
			d.watch.Pass("midst")
		case g.Joined:
			d.watch.Pass("after")
		}
	}
	if d.undoAt > 0 && w.Now >= d.undoAt {
		d.undoAt = 0
		w.unask(d.watch.Subject.Ref)
	}
	if d.begunAt == 0 || w.Now > d.begunAt+d.pause() {
		d.begunAt = w.Now
		d.watch.Reset()
		d.begin()
	}
}

// pause returns how long a change takes at most before it is begun again.
func (d *directed) pause() int64 {
	switch d.cell.Step.Change {
	case "leave": // which it does once
		return int64(schedule.Never)
	case "join":
		return 300
	}
	return 120
}

func (d *directed) cut() {
	if w := d.world; !w.lead.Cutting() && w.lead.Cut(&w.fx) == nil {
		w.obey()
	}
}

// guest returns the node that joins; nil: it has not been invited.
func (d *directed) guest() *nodestate.Joiner {
	if d.cell.Step.Change != "join" || d.to == nil {
		return nil
	}
	return d.to.Joiner
}

// begin begins the change.
func (d *directed) begin() {
	w, s := d.world, &d.watch.Subject
	lanes := w.stay(w.lead.Route().Lanes())
	d.from, d.to, d.third = w.nodes[1], w.nodes[2], w.nodes[3]
	switch d.cell.Step.Change {
	case "move", "undo":
		s.Ref = d.ref()
		at := slices.Index(lanes, w.lead.Route().Owner(s.Ref).Lane)
		to := lanes[(at+1)%len(lanes)]
		d.from, d.to, d.third = w.nodes[lanes[at].Node], w.nodes[to.Node], w.nodes[lanes[(at+2)%len(lanes)].Node]
		w.ask(schedule.Shift{Ref: s.Ref, To: (at + 1) % len(lanes)})
		if d.cell.Step.Change == "undo" {
			d.undoAt = w.Now + 4 + w.Rng.Int64N(40)
		}
	case "split":
		s.Split = bellows.SplitID(d.seed) % bellows.SplitID(w.Job.Splits)
		clients := w.lead.Route().Clients()
		at := slices.Index(clients, wire.ClientAt(w.lead.Route().Node(s.Split)))
		s.Node = clients[(at+1)%len(clients)].Node
		d.from, d.to, d.third = w.nodes[clients[at].Node], w.nodes[s.Node], w.nodes[1]
		w.Must(w.lead.MoveSplit(s.Split, s.Node, &w.fx))
		w.obey()
	case "leave":
		d.from, d.to, d.third = w.nodes[schedule.DirectedLanes], w.nodes[1], w.nodes[2]
		s.Node = d.from.Number
		w.take(schedule.Entry{Leaves: true, Actor: wire.LaneAt(s.Node, 0)})
		if d.seed%4 != 1 { // else it only gives up its part of the model
			w.After(80*int64(d.seed%2), w.nodes[0], func() { w.take(schedule.Entry{Leaves: true, Actor: wire.ClientAt(s.Node)}) })
		}
	case "join":
		if len(w.admission.OnTheWay()) > 0 {
			return
		}
		s.Node = bellows.NodeID(len(w.nodes))
		g := schedule.Guest{Slots: 1 + int(d.seed%2), Lanes: 1, Start: 3, Stays: schedule.Forever, Fate: "sound"}
		for i := range w.Job.Splits / 2 {
			g.Splits = append(g.Splits, bellows.SplitID(2*i))
		}
		g.Parts = []bellows.PartitionRef{d.ref()}
		w.invite(g)
		if int(s.Node) < len(w.nodes) {
			d.to = w.nodes[s.Node]
		}
	case "half":
		d.half()
	case "cut", "half cut":
		d.cut()
	case "follow":
		if s.Term = w.failover.Term + 1; w.Rng.IntN(3) > 0 { // with messages that some lanes have and others have not
			w.failover.Break.Due = true
			return
		}
		w.follow()
	}
}

// half waits for a clock of a split to be counted in parts.
func (d *directed) half() {
	w, s := d.world, &d.watch.Subject
	s.Split = bellows.SplitID(d.seed+uint64(w.Now/120)) % bellows.SplitID(w.Job.Splits)
	clients := w.lead.Route().Clients()
	at := slices.Index(clients, wire.ClientAt(w.lead.Route().Node(s.Split)))
	s.Node = clients[(at+1)%len(clients)].Node
	d.from, d.to, d.third = w.nodes[clients[at].Node], w.nodes[s.Node], w.nodes[1]
	counts := func(r *wire.Record, last bool) bool {
		return slices.ContainsFunc(r.Results, func(one wire.Result) bool {
			u := one.Unit
			return u.Split == s.Split && (u.Items.End == w.Job.Items(u.Split, u.Clock).End) == last
		})
	}
	s.Ends = func(r *wire.Record) bool { return counts(r, true) }
	s.Opens = func(r *wire.Record) bool {
		return counts(r, false) && slices.ContainsFunc(r.Pairs, func(p wire.Pair) bool {
			return w.Job.Schemas[p.Ref.Table].Consistency == table.BSP
		})
	}
}

// halfAt reports whether units of a clock that is not complete count at a record. If the record has not been sent, only
// the controller knows.
func (d *directed) halfAt(n bellows.CommitNumber) bool {
	if int(n) >= len(d.oracle.DoneAt) {
		saved, ok := d.lead.Save()
		return ok && saved.Commit == n && len(saved.Open) > 0
	}
	for s := range d.Job.Splits {
		if done := d.oracle.DoneAt[n][s]; done != d.Job.Steps(s, d.Job.ClocksIn(s, done)) {
			return true
		}
	}
	return false
}

// ref returns the partition that moves.
func (d *directed) ref() bellows.PartitionRef {
	t := bellows.TableID(d.seed/model.Shapes) % model.Tables
	cut := d.Job.Schemas[t].Cut()
	return bellows.PartitionRef{Table: t, Partition: bellows.PartitionID(d.seed) % bellows.PartitionID(cut.Len())}
}

// sending loses the controller before its messages have left, or after some of them have.
func (d *directed) sending(list []wire.Envelope) {
	w, c := d.world, d.cell
	if d.struck || c.Role != "controller" || !c.Step.Says || c.Moment == "after" || !d.watch.Begins(list) || !w.mayLoseController() || w.fx.Outcome != nil {
		return
	}
	w.failover.Break.Due, w.failover.Break.NoOwn = true, c.Moment == "before"
	d.strikes("the controller", nil)
}

// comes strikes when its moment has come.
func (d *directed) comes(moment string) {
	c, w := d.cell, d.world
	if d.struck || moment != c.Moment || w.job.Ending {
		return
	}
	switch {
	case c.Role == "controller" && c.Step.Says && moment != "after":
	case moment == "midst" && c.Step.Single():
		w.After(2, nil, func() {
			if d.watch.UnderWay() {
				d.strike()
			}
		})
	case moment == "before" && c.Role != "controller" && c.Role != "parted":
		d.strike()
	default:
		w.After(0, nil, d.strike)
	}
}

// strike ends the node that has the role now, if one has it.
func (d *directed) strike() {
	w := d.world
	if d.struck || w.job.Ending || w.job.Outcome != nil {
		return
	}
	if d.cell.Role == "controller" {
		if w.nodes[0].Done() || w.fx.Outcome != nil {
			return
		}
		d.strikes("the controller", nil)
		w.follow()
		return
	}
	if d.cell.Role == "parted" {
		d.part()
		return
	}
	if n := d.holder(d.cell.Role); n != nil && !n.Done() {
		d.strikes(fmt.Sprintf("node %d", n.Number), func() { w.crash(n) })
	}
}

// part lets a worker and a server lose each other for good.
func (d *directed) part() {
	w := d.world
	n, server := works(w, "writer", d.from, d.to), d.third
	if n == nil {
		n = works(w, "leaser", d.from, d.to)
	}
	if n == nil || server == nil || server.Done() || n.pairs.Find(server.Number) == nil {
		return
	}
	d.strikes(fmt.Sprintf("between nodes %d and %d all", n.Number, server.Number), func() {
		p := n.pairs[server.Number]
		w.mayPart(p.Local(), p.Peer())
		p.Reset(true)
	})
}

func (d *directed) strikes(who string, how func()) {
	d.struck, d.at, d.of, d.who = true, d.Now, d.world, who
	d.Note("%v: %s dies", d.cell, who)
	d.moved()
	if how != nil {
		how()
	}
	if len(d.more) > 0 {
		w := d.world
		w.After(d.more[0].gap, nil, func() { d.next(w) })
	}
}

// next ends the next node, as soon as one has its role.
func (d *directed) next(w *world) {
	if len(d.more) == 0 || w.job.Outcome != nil || w.nodes[0].Done() {
		return
	}
	b := d.more[0]
	again := func() { w.After(3, nil, func() { d.next(w) }) }
	switch {
	case !w.job.Begun || !w.lead.Begun() && b.role != "controller":
		again()
		return
	case b.role == "controller":
		d.Note("and the controller dies")
		w.follow()
		d.who += ", the controller"
	default:
		n := d.holderIn(w, b.role)
		if n == nil || n.Done() {
			again()
			return
		}
		d.who += fmt.Sprintf(", node %d", n.Number)
		w.Note("and node %d dies, a %v", n.Number, b.role)
		w.moved()
		w.crash(n)
	}
	d.at, d.of = w.Now, w
	if d.more = d.more[1:]; len(d.more) > 0 {
		w.After(d.more[0].gap, nil, func() { d.next(w) })
	}
}

// holder returns the node that has a role now; nil: none.
func (d *directed) holder(role string) *node {
	switch role {
	case "source":
		return d.from
	case "target":
		return d.to
	case "third server":
		return d.third
	}
	return works(d.world, role, d.from, d.to)
}

// works returns a worker that has a role now, except some; nil: none has.
func works(w *world, role string, but ...*node) *node {
	for _, n := range w.nodes {
		if slices.Contains(but, n) || n.Done() || n.worker == nil || len(n.lanes) > 0 || n.Joiner != nil && !n.Joiner.TakesPart {
			continue
		}
		if role == "writer" && (w.inStage(n.Number, schedule.PushUnderWay) || w.inStage(n.Number, schedule.FlushHeld)) || role == "leaser" && w.inStage(n.Number, schedule.LeaseHeld) {
			return n
		}
	}
	return nil
}

// holderIn returns the node that has a role when another node has died: of the servers one that is alive.
func (d *directed) holderIn(w *world, role string) *node {
	if role == "writer" || role == "leaser" {
		return works(w, role)
	}
	if w == d.world {
		if n := d.holder(role); n != nil && !n.Done() && n.hosts() {
			return n
		}
	}
	for i := range schedule.DirectedLanes {
		if n := w.nodes[1+(slices.Index(grid.Roles[:], role)+i)%schedule.DirectedLanes]; !n.Done() {
			return n
		}
	}
	return nil
}
