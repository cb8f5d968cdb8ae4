package takeover

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/membership"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Keep keeps a message that a flush is done until the takeover ends. It reports whether there was room.
func (t *Takeover) Keep(a journal.Arrival) bool {
	t.kept = append(t.kept, a)
	return len(t.kept) <= KeptMax
}

// Kept returns the messages that were kept, in the order of their arrival.
func (t *Takeover) Kept() []journal.Arrival { return t.kept }

// CatchUp sends a lane the records that it lacks, up to so many in a message.
func (t *Takeover) CatchUp(lane int, g *membership.Group, recordsMax int, out *wire.Outbox) {
	h := t.holdings[lane]
	if h == nil || h == &absent {
		return
	}
	var m *wire.Records
	for n := h.Last + 1; t.Record(n) != nil; n++ {
		one := t.Record(n)
		done := wire.Done{Flush: one.Flush, Pairs: one.Pairs, Results: one.Results, Sent: one.Sent}
		if m != nil && (len(m.List) >= recordsMax || !m.Room(&done)) {
			out.Send(t.self, g.Lanes()[lane], m)
			m = nil
		}
		if m == nil {
			m = wire.New[wire.Records]()
			m.Term = t.term
		}
		if one.Control.Kind != bellows.NoControl {
			m.AppendControl(n, one.Control)
		} else {
			m.Append(n, &done)
		}
	}
	if m != nil {
		out.Send(t.self, g.Lanes()[lane], m)
	}
}

// Whole returns the flushes that the lanes hold and that have no number, as if their clients reported them done: every
// part of them is held. They are in the order of clocks. A flush with a missing part is sent again by its client.
func (t *Takeover) Whole() (list []journal.Arrival) {
	for _, p := range t.held() {
		if len(p.Done) == 0 || len(p.Held) < len(p.Pairs) && !planted.On("part-taken-for-whole") {
			continue
		}
		d := wire.New[wire.Done]()
		d.Flush, d.Clock, d.Pairs = p.Flush, p.Clock, append(d.Pairs, p.Held...)
		for _, one := range p.Done {
			d.Append(one.Unit, one.Values)
		}
		d.Sent = append(d.Sent, p.Sent...)
		list = append(list, journal.Arrival{From: wire.ClientAt(p.Flush.Client), Done: d})
	}
	slices.SortFunc(list, func(a, b journal.Arrival) int {
		f, g := a.Done.Flush, b.Done.Flush
		return cmp.Or(cmp.Compare(a.Done.Clock, b.Done.Clock), cmp.Compare(f.Client, g.Client),
			cmp.Compare(f.Incarnation, g.Incarnation), cmp.Compare(f.Seq, g.Seq))
	})
	return list
}

// held returns the flushes that the lanes hold, each once, with the parts that any of them holds.
func (t *Takeover) held() (all []wire.HeldFlush) {
	at := map[bellows.FlushID]int{}
	for _, h := range t.holdings {
		if h == nil || planted.On("held-not-asked") {
			continue
		}
		for _, f := range h.Flushes {
			i, known := at[f.Flush]
			if !known {
				i = len(all)
				at[f.Flush] = i
				all = append(all, f)
				all[i].Held = nil
			}
			all[i].Held = union(all[i].Held, f.Held)
			if len(f.Done) > 0 {
				all[i].Done, all[i].Sent = f.Done, f.Sent
			}
		}
	}
	return all
}

// union adds pairs to others. A partition that has moved meanwhile may also be held by a lane that is behind: the newer
// owner counts.
func union(list, more []wire.Pair) []wire.Pair {
	for _, p := range more {
		switch i := slices.IndexFunc(list, func(o wire.Pair) bool { return o.Ref == p.Ref }); {
		case i < 0:
			list = append(list, p)
		case p.Generation > list[i].Generation:
			list[i] = p
		}
	}
	return list
}
