package sim

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/await"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
)

// What the world sees of messages is the only source of what follows: sees is told of each where it is posted, delivers where it is about to be taken, beforeLane and afterLane around the step of a lane.
// Each notes what keeps nodes in a stage, keeps the account, and checks what can be checked there. What the world itself forges is posted past sees, and is in nobody's account.

// enter and leave count what keeps a node in a stage.
func (w *world) enter(n bellows.NodeID, p schedule.Stage) { w.stages[n][p]++ }
func (w *world) leave(n bellows.NodeID, p schedule.Stage) { w.stages[n][p]-- }

// in reports whether a node is in a stage.
func (w *world) in(n bellows.NodeID, p schedule.Stage) bool {
	switch p {
	case schedule.TheEnd:
		return w.ending && w.outcome == nil
	case schedule.Collecting:
		return w.lead.Collecting()
	case schedule.Joining:
		return !w.begun && !w.ending
	}
	return w.stages[n][p] > 0
}

// sees takes note of a message that an actor posts.
func (w *world) sees(e wire.Envelope) {
	w.faults.hostile.Remember(e)
	w.hooks.Posted(e)
	w.seesMove(e)
	w.coverage.HitIf("lost-and-spoke", w.nodes[e.From.Node].buried && e.From.Node != e.To.Node)
	switch m := e.Message.(type) {
	case *wire.Push:
		w.enter(e.From.Node, schedule.PushUnderWay)
		w.ledger.Sent(e.To, m, w.Now, func(t bellows.TableID) int { return w.Job.Schemas[t].Width })
		kind := await.HeldAlone
		if w.ledger.SeveralLanes(m, w.moves.Owner) {
			kind = await.Held
		}
		w.nodes[e.From.Node].worker.pushes(account.PartAt{Lane: e.To, Flush: m.Flush}, kind)
	case *wire.Pull:
		w.coverage.HitIf("keys-subscribed-to", slices.ContainsFunc(m.Parts, func(p wire.PullPart) bool { return p.Subscribe && p.Keys != nil }))
	case *wire.Rows:
		w.coverage.HitIf("keys-sent-unasked", slices.ContainsFunc(m.Parts, func(p wire.RowsPart) bool { return len(p.Keys) > 0 }))
	case *wire.Unsubscribe:
		w.coverage.HitIf("keys-given-up", m.Ref.Table == model.Words)
	case *wire.Done: // from its client, or passed on by a lane
		w.enter(m.Flush.Client, schedule.DoneUnderWay)
		w.faults.memory.Remember(e, w.Rng)
	case *wire.Held:
		w.faults.memory.Remember(e, w.Rng)
	case *wire.Dispatch:
		if !w.begun {
			w.begun = true
			w.grow()
			w.shift()
			w.host(false)
		}
	case *wire.Records:
		w.coverage.HitIf("records-full", len(m.List) == w.Limits.Coord.Records)
		for i := range m.List {
			w.Must(w.oracle.Record(&m.List[i]))
			if m.List[i].Control.Kind == bellows.CutTables {
				w.cuts.Numbered(m.List[i].Number, *w.driver)
			}
			if m.List[i].Control.Kind != bellows.NoControl {
				continue
			}
			if e.From == wire.ControllerAt() && !w.ledger.Done[m.List[i].Flush] && !w.wholeHeld(m.List[i].Flush) {
				w.Violated("P5: %v is recorded, and its client has not said done", m.List[i].Flush)
			}
			w.coverage.HitIf("flush-of-several-splits", len(m.List[i].Results) > 1)
			apart, together := w.Job.Apart(m.List[i].Results)
			w.coverage.HitIf("units-apart", apart)
			w.coverage.HitIf("units-together", together)
			w.enter(m.List[i].Flush.Client, schedule.RecordUnderWay)
		}
		w.moved()
	case *wire.Recalled:
		w.coverage.HitIf("units-given-back", m.Clock+1 < w.driver.Handed(m.Split))
	case *wire.Route:
		w.coverage.HitIf("lane-begun-in-mid-clock", e.To.Role == wire.Lane && m.Begin != nil && len(m.Begin.Open) > 0)
	case *wire.End:
		if m.Parts { // to a lane that leaves: the job goes on
			break
		}
		w.failover.cutShort = w.failover.cutShort || w.failover.term > term && !w.lead.Begun()
		w.coverage.HitIf("added-lane-told-the-end", w.failover.cutShort && e.From == wire.ControllerAt() && e.To.Role == wire.Lane && !slices.Contains(w.common.Lanes, e.To))
		w.ending, w.endedBy = true, max(w.endedBy, m.Term)
		w.faults.ends.Told(m)
		if e.To.Role == wire.Client && e.From == wire.ControllerAt() {
			w.nodes[e.To.Node].worker.told = true
		}
	case *wire.Failed:
		if e.From.Role == wire.Client && m.Kind == bellows.Lost {
			w.nodes[e.From.Node].worker.failed = true
		}
	case *wire.Collect:
		w.asked = true
	case *wire.Complaint:
		if n := w.nodes[e.From.Node]; m.Node == n.id && !m.Breach {
			w.mayLose(n)
			n.gaveUp(m.Reason)
		}
	case *wire.Slab, *wire.Collected:
		if !w.nodes[e.From.Node].closed {
			w.Violated("P1: %v gives its state away, and tasks run beside it", e.From)
		}
	}
}

// delivers takes note of a message that an actor is about to take.
func (w *world) delivers(e wire.Envelope) {
	w.hooks.Taken(e)
	w.deliversMove(e)
	switch m := e.Message.(type) {
	case *wire.Push:
		w.leave(e.From.Node, schedule.PushUnderWay)
		w.faults.memory.Remember(e, w.Rng)
	case *wire.Pull:
		w.enter(e.From.Node, schedule.PullParked)
	case *wire.Done:
		w.leave(m.Flush.Client, schedule.DoneUnderWay)
		w.ledger.Done[m.Flush] = true
	case *wire.Ready:
		w.breakWord(e.From.Node)
	case *wire.Records:
		for i := range m.List {
			if m.List[i].Control.Kind == bellows.NoControl {
				w.leave(m.List[i].Flush.Client, schedule.RecordUnderWay)
			}
		}
	case *wire.Dispatch:
		w.nodes[e.To.Node].worker.begun = true
		if n := w.nodes[e.To.Node]; !n.ready && n.id != 0 {
			w.Violated("node %d is given tasks before it has said that it is ready", n.id)
		}
	case *wire.Rows:
		w.checkVersions(e.To.Node, m)
	case *wire.Closed:
		if e.To == wire.ControllerAt() {
			w.lastWords++
		}
		w.checkCounts(e.From, m)
	case *wire.Holding:
		w.failover.heard++
		w.checkHolding(e.From, m)
	case *wire.Notice:
		w.named = append(w.named, m.Sentence)
	case *wire.Slab:
		w.surrendered++
	case *wire.Collected:
		w.surrendered++
		if at := slices.IndexFunc(w.lanes, func(l *lane) bool { return l.address == e.From }); at >= 0 && m.Term == w.failover.term {
			w.lanes[at].gaveAt = w.Now
		}
	}
}

// beforeLane takes note of what a lane is about to learn.
func (w *world) beforeLane(l *lane, batch []wire.Envelope) {
	for _, e := range batch {
		if t := e.Term(); t > 0 && t < term && e.From == wire.ControllerAt() {
			continue // which the lane must not hear
		}
		if t := e.Term(); t > l.term && e.From == wire.ControllerAt() {
			l.term = t
		}
		w.learnsMove(l, e)
		switch m := e.Message.(type) {
		case *wire.Push:
			if !l.closed {
				late := l.told && int(e.From.Node) < len(w.nodes) && w.nodes[e.From.Node].gone
				w.ledger.Came(l.part(m.Flush), late)
			}
		case *wire.Records:
			for k := range m.List {
				if m.List[k].Control.Kind == bellows.KeepTables {
					l.kept, l.look = m.List[k].Number-1, true
				}
				w.fences(l, &m.List[k].Control)
				if w.ledger.Recorded(l.part(m.List[k].Flush)) {
					w.leave(m.List[k].Flush.Client, schedule.FlushHeld)
				}
			}
		case *wire.Route:
			for k := range m.Changes {
				w.fences(l, &m.Changes[k])
			}
		case *wire.End:
			l.told = l.told || e.From == wire.ControllerAt()
			l.lost = append(l.lost, m.Gone...)
		case *wire.Fence:
			l.lost = append(l.lost, m.Node)
			if !slices.Contains(l.fenced, m.Node) {
				l.fenced = append(l.fenced, m.Node)
				w.ledger.Fenced(e.To, m.Node, w.moves.At(l.Applied()))
			}
		case *wire.Release:
			if slices.Contains(l.fenced, e.From.Node) {
				continue
			}
			l.look = l.kept > 0
			w.ledger.Released(e.From, m.Ref)
		}
	}
}

func (w *world) flushHeld(l *lane, id bellows.FlushID, pairs []wire.Pair) {
	if w.ledger.Voted(l.part(id), pairs) {
		w.enter(id.Client, schedule.FlushHeld)
	}
}

// afterLane takes note of what a lane says.
func (w *world) afterLane(l *lane, out []wire.Envelope) {
	if l.look {
		l.look = false
		w.checkKept(l)
	}
	unasked := -1 // the client that was last sent rows so
	for _, e := range out {
		w.checkParted(l, e)
		switch m := e.Message.(type) {
		case *wire.Rows:
			w.leave(e.To.Node, schedule.PullParked)
			if m.Request == 0 {
				w.coverage.HitIf("rows-unasked-split", unasked == int(e.To.Node))
				unasked = int(e.To.Node)
			}
		case *wire.Committed:
			w.coverage.HitIf("commitments-split", len(m.List) == w.Limits.Lane.Commitments)
		case *wire.Held:
			w.flushHeld(l, m.Flush, m.Pairs)
		case *wire.Done: // passed on
			w.flushHeld(l, m.Flush, nil)
		case *wire.Stale:
			w.ledger.Refused(l.part(m.Flush), m.Pairs)
		case *wire.Full:
			w.coverage.Hit("lane-full")
			w.ledger.Full(l.part(m.Flush))
		case *wire.Room:
			w.ledger.Room(l.part(m.Flush))
		case *wire.Granted:
			alone, here := m.Mode != wire.Shared, l.node.id == e.To.Node
			w.coverage.HitIf("shared-lease", !alone)
			w.coverage.HitIf("exclusive-lease-in-place", alone && here)
			w.coverage.HitIf("exclusive-lease-on-a-copy", alone && !here)
			w.Must(w.ledger.Granted(l.address, e.To, m))
		case *wire.Closed:
			l.closed = true
		}
	}
	l.parted = len(l.fenced)
}

// checkParted sees that a lane serves nobody who was declared gone, nor anybody while it cannot hear the controller (P11).
func (w *world) checkParted(l *lane, e wire.Envelope) {
	client := e.To.Node
	switch m := e.Message.(type) {
	case *wire.Rows:
		if l.deaf && m.Request > 0 {
			w.Violated("P11: %v serves node %d and has not heard node 0 for a lease", l.address, client)
		}
	case *wire.Done:
		client = m.Flush.Client
	case *wire.Held, *wire.Full, *wire.Room, *wire.Granted:
	default:
		return
	}
	if slices.Contains(l.fenced[:l.parted], client) {
		w.Violated("P11: %v answers node %d with %T, which was declared gone", l.address, client, e.Message)
	}
}

// checkVersions sees that what a client is told of a partition never goes back (P3).
func (w *world) checkVersions(to bellows.NodeID, m *wire.Rows) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if !w.moves.Newest(to, p.Pair) {
			continue // of an owner of the past, which the client knows to be that
		}
		was := w.ledger.Shown(to, p.Ref)
		if p.Commit < was.Commit || p.Complete < was.Clock {
			w.Violated("P3: node %d is shown %v at commit %d, clock %d after commit %d, clock %d", to, p.Ref, p.Commit, p.Complete, was.Commit, was.Clock)
		}
		if int(p.Commit) > len(w.oracle.Log) || int(p.Complete) >= len(w.oracle.ClockAt) {
			w.Violated("P1: node %d is shown %v at commit %d, clock %d; neither more than %d nor %d is recorded", to, p.Ref, p.Commit, p.Complete, len(w.oracle.Log), len(w.oracle.ClockAt)-1)
		}
		*was = wire.Need{Commit: p.Commit, Clock: p.Complete}
	}
}
