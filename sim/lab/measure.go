package lab

import (
	"slices"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/node/measure"
	"bellows/policy/gauge"
)

// measure passes on what a step of node 0 has done, as package node does. When a clock is complete, all nodes report.
func (w *world) measure() {
	l := w.nodes[0].lead
	if !w.cfg.Measure && w.cfg.Choose == nil || !l.Begun() || l.outcome != nil {
		return
	}
	complete, _, _ := l.Progress()
	if complete > w.complete {
		w.complete = complete
		for _, n := range w.nodes[1:] {
			if !n.gone {
				r := n.report()
				w.feed.Enter(n.id, &wire.Report{Millis: r.Millis, Tally: r.Tally, Links: r.Links, Spare: r.Spare})
			}
		}
	}
	if l.fx.Route != nil || w.measured == nil {
		w.count(l.Route())
	}
	w.feed.Step(&measure.State{Now: w.elapsed(), Complete: complete, Rerouted: l.fx.Route != nil, Nodes: w.members,
		Changing: w.changing(), Cutting: len(w.cuts.open) > 0, Epochs: l.fx.Epochs}, measured{w})
	w.advise()
}

// count notes what has moved since the last route, and how many nodes take part.
func (w *world) count(now *route.Route) {
	before := w.measured
	w.measured, w.members = now, len(measured{w}.Whole().Nodes)
	if before == nil {
		return
	}
	for ref := range now.Each() {
		if now.Owner(ref).Lane.Node != before.Owner(ref).Lane.Node {
			t := &w.common.Tables[ref.Table]
			w.feed.Moved(1, measure.PartitionBytes(t, now.Cut(ref.Table), ref.Partition))
		}
	}
	for split := range bellows.SplitID(now.Splits()) {
		if now.Node(split) != before.Node(split) {
			w.feed.Moved(1, 0)
		}
	}
}

// changing reports whether the shape of the job changes now, or is planned to.
func (w *world) changing() bool {
	joins := slices.ContainsFunc(w.growth.invited, func(c *newcomer) bool { return c.Moved == 0 })
	return joins || len(w.happen.moving) > 0 || w.shape != nil && w.shape.Changing()
}

// measured is the job of a feed.
type measured struct{ w *world }

// Count implements measure.Job.
func (m measured) Count() *wire.Report {
	r := m.w.nodes[0].report()
	return &wire.Report{Millis: r.Millis, Tally: r.Tally, Links: r.Links, Spare: r.Spare}
}

// Whole implements measure.Job.
func (m measured) Whole() *measure.Whole {
	l := m.w.nodes[0].lead
	whole := &measure.Whole{Job: &m.w.cfg.Job, Route: l.Route()}
	whole.Complete, _, _ = l.Progress()
	for _, n := range m.w.nodes {
		if l.Gone(n.id) {
			continue
		}
		at := gauge.Node{ID: n.id}
		for _, a := range l.Route().Lanes() {
			if a.Node == n.id {
				at.Lanes++
			}
		}
		if slices.Contains(l.Route().Clients(), wire.ClientAt(n.id)) {
			at.Slots = n.places
		}
		if at.Lanes+at.Slots > 0 || n.id == 0 {
			whole.Nodes = append(whole.Nodes, at)
		}
	}
	return whole
}
