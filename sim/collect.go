package sim

import (
	"slices"

	"bellows"
	"bellows/sim/internal/model"
	"bellows/store"
	"bellows/wire"
)

// collection is the state of the job on its way to node 0, which asks for it when a job has finished or was
// interrupted.
type collection struct {
	open   int           // lanes that have not sent all
	lost   string        // why the state did not come together
	live   []store.Image // by route.Number
	kept   []*store.Image
	whole  bool
	values int                                   // that have come
	keys   map[bellows.PartitionID][]bellows.Key // of words, before their rows; for look-ups only
}

// fail ends the collecting, or lets it not begin: somebody who may have a part of the state is lost.
func (c *collection) fail(reason string) {
	if !c.whole && c.lost == "" {
		c.open, c.lost = 0, reason
	}
}

// collect asks every lane for its partitions.
func (w *world) collect() {
	if w.collecting.lost != "" {
		w.letGo()
		return
	}
	n := w.route.Partitions()
	w.collecting = collection{open: len(w.lanes), live: make([]store.Image, n), kept: make([]*store.Image, n),
		keys: map[bellows.PartitionID][]bellows.Key{}}
	for _, l := range w.lanes {
		w.fx.Send(controllerAddress, l.address, &wire.Collect{Whole: w.outcome.Interrupted})
	}
	w.After(resendEvery, w.nodes[0], w.awaitCollection)
}

// awaitCollection lets the others go when the state has come, or cannot.
func (w *world) awaitCollection() {
	if w.collecting.open > 0 {
		w.After(resendEvery, w.nodes[0], w.awaitCollection)
		return
	}
	w.letGo()
}

// surrenders takes the requests for its state out of a lane's mail. They are answered when no task of the node runs
// any more, which may still work in place on what it leased.
func (w *world) surrenders(l *lane, batch []wire.Envelope) []wire.Envelope {
	return slices.DeleteFunc(batch, func(e wire.Envelope) bool {
		_, asked := e.Message.(*wire.Collect)
		if asked {
			w.After(w.Rng.Int64N(3), l.node, func() { w.surrender(l) }) // after what came with it
		}
		return asked
	})
}

func (w *world) surrender(l *lane) {
	if k := l.node.worker; k != nil && k.client.Ended() == nil {
		w.After(1, l.node, func() { w.surrender(l) })
		return
	}
	var out wire.Outbox
	end := &wire.Collected{}
	for ref := range w.owned(l) {
		im, err := l.Partition(ref)
		if err != nil {
			end.Reason = err.Error()
			break
		}
		n := w.route.Number(ref)
		w.collecting.live[n], w.collecting.kept[n] = im, l.Kept(ref)
		if im.Keys != nil {
			out.Send(l.address, controllerAddress, &wire.Slab{Ref: ref, Keys: im.Keys})
		}
		out.Send(l.address, controllerAddress, &wire.Slab{Ref: ref, Values: im.Values})
	}
	out.Send(l.address, controllerAddress, end)
	w.post(l.node, &out)
}

// collected takes the answers out of the controller's mail, and holds them against the model.
func (w *world) collected(batch []wire.Envelope) []wire.Envelope {
	return slices.DeleteFunc(batch, func(e wire.Envelope) bool {
		switch m := e.Message.(type) {
		case *wire.Slab:
			w.collecting.values += len(m.Values)
			switch {
			case m.Keys != nil:
				w.collecting.keys[m.Ref.Partition] = m.Keys
			case m.Ref.Table == model.Words:
				w.compareWords(e.From, m.Ref, &store.Image{Keys: w.collecting.keys[m.Ref.Partition], Values: m.Values}, w.outcome.Commits)
			default:
				w.compare(e.From, m.Ref, m.Values, w.outcome.Commits)
			}
		case *wire.Collected:
			w.moved()
			if m.Reason != "" {
				w.violated("collect: %v has no state: %s", e.From, m.Reason)
			}
			if w.collecting.open--; w.collecting.open == 0 {
				w.collecting.whole = true
			}
		default:
			return false
		}
		return true
	})
}

// again is the next life of a job that was interrupted: on other nodes, from the image that was collected. Nil: there
// is none.
func (w *world) again() *world {
	if w.violation != "" || w.outcome == nil || !w.outcome.Interrupted || !w.collecting.whole || w.life == livesMax {
		return nil
	}
	w.Schedule.DrawLife()
	n := &world{Schedule: w.Schedule, log: w.log, sum: w.sum, life: w.life + 1, before: &w.collecting,
		happened: w.happened}
	n.faults.covered, n.faults.struck = w.faults.covered, w.faults.struck
	n.happened[resumed] = true
	n.oracle = w.oracle.Again()
	n.driver = &driver{Schedule: w.Schedule}
	n.build()
	n.note("life %d", n.life)
	n.load(w.outcome.State.Complete)
	if err := n.controller.Resume(w.outcome.State); err != nil {
		n.violated("the controller does not resume: %v", err)
	}
	return n
}

// livesMax bounds how often a job goes on after an interruption.
const livesMax = 3

// load gives the lanes what the life before has left.
func (w *world) load(complete []bellows.Clock) {
	for _, l := range w.lanes {
		for ref := range w.owned(l) {
			n := w.route.Number(ref)
			if err := l.Load(ref, &w.before.live[n]); err != nil {
				w.violated("%v does not load %v: %v", l.address, ref, err)
			}
			if kept := w.before.kept[n]; kept != nil {
				l.LoadKept(ref, kept)
			}
		}
		if err := l.Resume(complete); err != nil {
			w.violated("%v does not resume: %v", l.address, err)
		}
	}
}

// checkStillKept sees that images that an earlier life kept are still there, if this one has made none.
func (w *world) checkStillKept(l *lane) {
	if w.before == nil || l.kept > 0 {
		return
	}
	for ref := range w.owned(l) {
		was, is := w.before.kept[w.route.Number(ref)], l.Kept(ref)
		if (was == nil) != (is == nil) || was != nil && !(slices.Equal(was.Keys, is.Keys) && slices.Equal(was.Values, is.Values)) {
			w.violated("keep: %v has another image of %v than the life before has left", l.address, ref)
		}
	}
}
