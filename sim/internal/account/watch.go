package account

import (
	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/stages"
	"bellows/sim/internal/trace"
)

// Watch keeps a Ledger by what is posted, delivered and taken. It comes after the states of lanes in the list of observers.
type Watch struct {
	Ledger
	*trace.Trace
	*coverage.Coverage
	History *History
	Lanes   *lanewatch.Watch
	Nodes   *nodestate.Watch
	Stages  *stages.Watch
	Width   func(bellows.TableID) int

	fenced map[parting]bool // lanes that have received the fence of a client
}

// Posted takes pushes on their way.
func (w *Watch) Posted(e wire.Envelope) {
	if m, push := e.Message.(*wire.Push); push {
		w.Sent(e.To, m, *w.Clock, w.Width)
	}
}

// Delivered notes the flushes that were reported done to the controller.
func (w *Watch) Delivered(e wire.Envelope) {
	if m, done := e.Message.(*wire.Done); done {
		w.Done[m.Flush] = true
	}
}

// Before takes what lanes are about to learn of flushes, leases and lost clients.
func (w *Watch) Before(e wire.Envelope) {
	l := w.Lanes.Lookup(e.To)
	if l == nil {
		return
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		if !l.Closed {
			n := w.Nodes.Lookup(e.From.Node)
			w.Came(PartAt{l.Address, m.Flush}, l.Told && n != nil && n.Gone)
		}
	case *wire.Records:
		for k := range m.List {
			w.part(l, &m.List[k].Control)
			if id := m.List[k].Flush; w.Recorded(PartAt{l.Address, id}) {
				w.Stages.Leave(id.Client, schedule.FlushHeld)
			}
		}
	case *wire.Route:
		for k := range m.Changes {
			w.part(l, &m.Changes[k])
		}
	case *wire.Fence:
		if p := (parting{l.Address, m.Node}); !w.fenced[p] {
			w.fence(p)
			w.Fenced(l.Address, m.Node, w.History.RouteAt(l.Applied()))
		}
	case *wire.Release:
		if !w.fenced[parting{l.Address, e.From.Node}] {
			w.Released(e.From, m.Ref)
		}
	}
}

// part takes a record that removes a client: its leases at the lane are over. Of a client that was lost, so are exclusive
// ones.
func (w *Watch) part(l *lanewatch.Lane, c *bellows.Control) {
	p := parting{l.Address, c.Node}
	switch {
	case l.Removed():
	case c.Kind == bellows.LoseClient && !w.buried[p]:
		w.fence(p)
		w.Buried(l.Address, c.Node, w.History.RouteAt(l.Applied()))
	case c.Kind == bellows.RemoveClient && !w.fenced[p]:
		w.fence(p)
		w.Fenced(l.Address, c.Node, w.History.RouteAt(l.Applied()))
	}
}

func (w *Watch) fence(p parting) {
	if w.fenced == nil {
		w.fenced = map[parting]bool{}
	}
	w.fenced[p] = true
}

// After takes what lanes answer to pushes, and the leases that they grant.
func (w *Watch) After(from wire.Address, out []wire.Envelope) {
	if from.Role != wire.Lane {
		return
	}
	for i := range out {
		switch m := out[i].Message.(type) {
		case *wire.Held:
			w.vote(from, m.Flush, m.Pairs)
		case *wire.Done: // passed on
			w.vote(from, m.Flush, nil)
		case *wire.Stale:
			w.Refused(PartAt{from, m.Flush}, m.Pairs)
		case *wire.Full:
			w.Hit("lane-full")
			w.Full(PartAt{from, m.Flush})
		case *wire.Room:
			w.Room(PartAt{from, m.Flush})
		case *wire.Granted:
			to := out[i].To
			alone, here := m.Mode != wire.Shared, from.Node == to.Node
			w.HitIf("shared-lease", !alone)
			w.HitIf("exclusive-lease-in-place", alone && here)
			w.HitIf("exclusive-lease-on-a-copy", alone && !here)
			w.Must(w.Granted(from, to, m))
		}
	}
}

func (w *Watch) vote(lane wire.Address, id bellows.FlushID, pairs []wire.Pair) {
	if w.Voted(PartAt{lane, id}, pairs) {
		w.Stages.Enter(id.Client, schedule.FlushHeld)
	}
}

// NumberedWithoutDone reports whether lanes hold all that was sent of a flush: a controller that took over may then record the
// flush although its client has not reported it done.
func (w *Watch) NumberedWithoutDone(lanes []wire.Address, id bellows.FlushID) bool {
	whole := w.Whole(lanes, id)
	w.HitIf("held-flush-numbered", whole)
	return whole
}

// Expected reports whether a lane will take a push that is sent to it again: it has asked, or it never came.
func (w *Watch) Expected(e wire.Envelope) bool {
	return w.Expects(PartAt{Lane: e.To, Flush: e.Message.(*wire.Push).Flush})
}

// LeasedOut reports whether a lease on a partition is out.
func (w *Watch) LeasedOut(ref bellows.PartitionRef) bool {
	return w.Leases[w.route.Number(ref)] != (Out{})
}

// Dirty reports whether a task writes into a partition itself, by an exclusive lease that is out.
func (w *Watch) Dirty(ref bellows.PartitionRef) bool {
	o := &w.Leases[w.route.Number(ref)]
	return o.Exclusive && o.Local
}
