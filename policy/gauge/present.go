package gauge

import (
	"slices"

	"bellows"
)

// place is what a node has in a shape.
type place struct {
	id       bellows.NodeID
	splits   int
	slots    int
	serves   bool
	own      float64 // share of the bytes of free partitions that it holds
	borrowed int64   // bytes of partitions of other nodes that are near its splits
	held     int64   // bytes of its partitions and splits
}

// present is the shape in which a job is measured.
type present struct {
	places []place
	splits int
	epoch  int     // clocks of an epoch
	work   float64 // items of a split in a clock
	free   int64   // bytes of partitions that are near no split
}

// same reports whether nothing has changed.
func (p *present) same(o *present) bool {
	return p.splits == o.splits && p.work == o.work && p.free == o.free && slices.Equal(p.places, o.places)
}

// find returns the place of a node, or -1.
func (p *present) find(id bellows.NodeID) int {
	order := func(p place, id bellows.NodeID) int { return int(p.id) - int(id) }
	at, found := slices.BinarySearchFunc(p.places, id, order)
	if !found {
		return -1
	}
	return at
}

// presentOf returns the shape of figures.
func presentOf(f *Figures) present {
	p := present{splits: len(f.Splits), epoch: f.Clocks.Epoch}
	if n := f.Clocks.Epoch * len(f.Splits); n > 0 {
		p.work = float64(f.Items) / float64(n)
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		p.places = append(p.places, place{id: n.ID, serves: n.Serves})
		if n.Works {
			p.places[i].slots = n.Slots
		}
	}
	for i := range f.Splits {
		if at := p.find(f.Splits[i].Node); at >= 0 {
			p.places[at].splits++
			p.places[at].held += f.Splits[i].Bytes
		}
	}
	holds := make([]int64, len(p.places)) // of free partitions
	for i := range f.Partitions {
		part := &f.Partitions[i]
		at := p.find(part.Node)
		if at < 0 {
			continue
		}
		p.places[at].held += part.Bytes
		if part.Near == nil {
			p.free += part.Bytes
			holds[at] += part.Bytes
		} else if to := f.Splits[*part.Near].Node; to != part.Node {
			if at := p.find(to); at >= 0 {
				p.places[at].borrowed += part.Bytes
			}
		}
	}
	for i := range holds {
		if p.free > 0 {
			p.places[i].own = float64(holds[i]) / float64(p.free)
		}
	}
	return p
}
