package gate

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Counted is the set of flushes that have a number, so that one that comes again is known (deduplication). Lanes use
// it, since clients send parts again, and the controller, which hears from the client and from lanes that a flush is
// done. It forgets nothing, since a message may be late by any time. For an incarnation of a client it keeps one
// number, as long as its flushes are counted without gaps. The zero value has no flushes.
//
// A client that is started again numbers its flushes from 1, so that each incarnation has its own
// numbers (TestAFlushIsKnownByItsIncarnation; planted: incarnation-ignored).
type Counted struct {
	byClient [][]incarnation // by node: its incarnations, as a rule one
}

// incarnation has the flushes of one incarnation: all up to upTo, and those in above. The owner adds every flush, so
// that gaps close, and above is only as long as flushes overtake each other (TestGapsClose).
type incarnation struct {
	number uint32
	upTo   uint64
	above  []uint64
}

// Add notes a flush.
func (f *Counted) Add(id bellows.FlushID) { f.find(id).add(id.Seq) }

// Contains reports whether a flush was added.
func (f *Counted) Contains(id bellows.FlushID) bool {
	l := f.find(id)
	return id.Seq <= l.upTo || slices.Contains(l.above, id.Seq)
}

// Clone returns a copy that does not change with the original.
func (f *Counted) Clone() Counted {
	c := Counted{byClient: make([][]incarnation, len(f.byClient))}
	for n, list := range f.byClient {
		c.byClient[n] = slices.Clone(list)
		for i := range c.byClient[n] {
			c.byClient[n][i].above = slices.Clone(list[i].above)
		}
	}
	return c
}

// List returns the flushes in the form that a lane which begins later receives (TestListTellsTheSameFlushes).
func (f *Counted) List() (to []wire.Recorded) {
	for n, list := range f.byClient {
		for _, l := range list {
			to = append(to, wire.Recorded{Client: bellows.NodeID(n), Incarnation: l.number, UpTo: l.upTo, Above: slices.Clone(l.above)})
		}
	}
	return to
}

// Load makes the flushes those of a list.
func (f *Counted) Load(list []wire.Recorded) {
	*f = Counted{}
	for _, r := range list {
		l := f.find(bellows.FlushID{Client: r.Client, Incarnation: r.Incarnation})
		l.upTo, l.above = r.UpTo, slices.Clone(r.Above)
	}
}

// find returns the place of a flush's incarnation, which it makes if necessary.
func (f *Counted) find(id bellows.FlushID) *incarnation {
	for len(f.byClient) <= int(id.Client) {
		f.byClient = append(f.byClient, nil)
	}
	list := &f.byClient[id.Client]
	for i := range *list {
		if l := &(*list)[i]; l.number == id.Incarnation || planted.On("incarnation-ignored") {
			return l
		}
	}
	*list = append(*list, incarnation{number: id.Incarnation})
	return &(*list)[len(*list)-1]
}

// add counts a flush, and removes a gap that it closes.
func (l *incarnation) add(seq uint64) {
	if seq != l.upTo+1 {
		l.above = append(l.above, seq)
		return
	}
	l.upTo++
	for i := slices.Index(l.above, l.upTo+1); i >= 0; i = slices.Index(l.above, l.upTo+1) {
		l.above = slices.Delete(l.above, i, i+1)
		l.upTo++
	}
}
