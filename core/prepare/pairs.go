package prepare

import (
	"iter"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// layout is how a job's tables are divided into partitions: what must be known of a push to say which
// parts it has.
type layout struct {
	route *route.Route
	parts []partInfo  // by route.Number
	stamp uint64      // the last that a partition got
	pairs []wire.Pair // scratch: of PairsOf
}

// partInfo is what is fixed of a partition of the job, wherever it is, and a mark.
type partInfo struct {
	width  int
	sample audit.Sample
	stamp  uint64 // see stampPairs
}

// newLayout returns the layout of a job, by any of its routes.
func newLayout(tables []table.Schema, r *route.Route) layout {
	l := layout{route: r, parts: make([]partInfo, r.Partitions())}
	for ref := range r.Each() {
		s, values := &tables[ref.Table], 0
		if !s.Sparse {
			first, end := r.Cut(ref.Table).Rows(ref.Partition)
			values = int(end-first) * s.Width
		}
		l.parts[r.Number(ref)] = partInfo{width: s.Width, sample: audit.SampleOf(ref, values)}
	}
	return l
}

// part returns the fixed properties of a partition.
func (l *layout) part(ref bellows.PartitionRef) *partInfo { return &l.parts[l.route.Number(ref)] }

// stampPairs gives the partitions of pairs a stamp that no other has. That is a set of partitions that
// needs no memory, valid until the next call.
func (l *layout) stampPairs(list iter.Seq[wire.Pair]) {
	l.stamp++
	for p := range list {
		l.part(p.Ref).stamp = l.stamp
	}
}

// strip removes from a push the parts for partitions that have the last stamp.
func (l *layout) strip(m *wire.Push) {
	stamped := func(ref bellows.PartitionRef) bool { return l.part(ref).stamp == l.stamp }
	m.Chunks = slices.DeleteFunc(m.Chunks, func(c wire.Chunk) bool { return stamped(c.Ref) })
	m.Leases = slices.DeleteFunc(m.Leases, func(e wire.LeaseEnd) bool { return stamped(e.Ref) })
}

// PairsOf returns the pairs of the parts of a push, each partition once. The list is valid until the
// next call.
func (l *layout) PairsOf(m *wire.Push) []wire.Pair {
	l.stamp++
	list := l.pairs[:0]
	for p := range pairs(m) {
		if at := l.part(p.Ref); at.stamp != l.stamp {
			at.stamp = l.stamp
			list = append(list, p)
		}
	}
	l.pairs = list
	return list
}

// least returns the first partition of a list of pairs, by route.Number.
func (l *layout) least(list []wire.Pair) int {
	first := l.route.Partitions()
	for _, p := range list {
		first = min(first, l.route.Number(p.Ref))
	}
	return first
}

// splitsOf returns how many splits a client runs.
func (l *layout) splitsOf(client bellows.NodeID) (n int) {
	for s := range l.route.Splits() {
		if l.route.Node(bellows.SplitID(s)) == client {
			n++
		}
	}
	return n
}

// partsOf returns what a push has for each partition. One that is sent again has nothing.
func (l *layout) partsOf(m *wire.Push) (list []wire.Missed) {
	if m.Again && !planted.On("again-counted") {
		return nil
	}
	add := func(ref bellows.PartitionRef, values int, bits audit.Sum) {
		i := slices.IndexFunc(list, func(o wire.Missed) bool { return o.Ref == ref })
		if i < 0 {
			i = len(list)
			list = append(list, wire.Missed{Flush: m.Flush, Ref: ref})
		}
		list[i].Rows += int64(values / l.part(ref).width)
		list[i].Bits += bits
	}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		add(c.Ref, len(c.Values), l.bits(c, m.Clock))
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		bits, p := audit.Sum(0), l.part(e.Ref)
		if p.sample.Contains(m.Clock) {
			bits = audit.Rows(e.Ref.Partition, p.width, nil, e.Values)
		}
		add(e.Ref, len(e.Values), bits)
	}
	return list
}

// bits returns the audit's sum over a chunk as its client made it: by keys if it has keys, since the
// numbers of their rows differ from lane to lane; 0 if the clock is not in the sample.
func (l *layout) bits(c *wire.Chunk, clock bellows.Clock) audit.Sum {
	p := l.part(c.Ref)
	switch {
	case !p.sample.Contains(clock):
		return 0
	case c.Keys != nil:
		return audit.Keys(c.Ref.Partition, p.width, c.Keys, c.Values)
	}
	return audit.Rows(c.Ref.Partition, p.width, c.Rows, c.Values)
}

// same reports whether two names are of one flush. A process that is started again also
// numbers its flushes from 1: they are others.
func same(a, b bellows.FlushID) bool {
	if planted.On("incarnation-ignored") {
		a.Incarnation = b.Incarnation
	}
	return a == b
}

// Pairs returns the pairs of the parts of a push, each once.
func Pairs(m *wire.Push) (list []wire.Pair) {
	for p := range pairs(m) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// pairs yields the pairs of a push's chunks and of the leases that it ends.
func pairs(m *wire.Push) iter.Seq[wire.Pair] {
	return func(yield func(wire.Pair) bool) {
		for i := range m.Chunks {
			if !yield(m.Chunks[i].Pair) {
				return
			}
		}
		for i := range m.Leases {
			if !yield(m.Leases[i].Pair) {
				return
			}
		}
	}
}

// Bytes returns what a push takes of the cap: its chunks. The values of leases that it ends are not
// counted, because a partition has one such lease at most.
func Bytes(m *wire.Push) int {
	n := 0
	for i := range m.Chunks {
		n += 4*(len(m.Chunks[i].Rows)+len(m.Chunks[i].Values)) + 8*len(m.Chunks[i].Keys)
	}
	return n
}
