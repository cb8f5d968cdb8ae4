package wire

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/vec"
)

const (
	chunkSize    = pairSize + 16
	leaseEndSize = pairSize + 4
)

func (b *Batch) push(m *Push) {
	b.flush(m.Flush)
	b.u32(uint32(m.Clock))
	b.count(len(m.Pairs))
	b.count(len(m.Chunks))
	b.count(len(m.Leases))
	for _, p := range m.Pairs {
		b.pair(p)
	}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		b.part(c.Ref)
		b.u32(uint32(c.Generation))
		b.subtree(c.Subtree)
		b.idCount(c.Rows, c.Keys)
		b.count(len(c.Values))
	}
	for i := range m.Leases {
		b.pair(m.Leases[i].Pair)
		b.count(len(m.Leases[i].Values))
	}
	for i := range m.Chunks {
		b.ids(m.Chunks[i].Rows, m.Chunks[i].Keys)
		b.values(m.Chunks[i].Ref, m.Chunks[i].Values)
	}
	for i := range m.Leases {
		array(b, m.Leases[i].Values)
	}
}

func (m *Push) decode(payload []byte) error {
	r := reader{b: payload, whole: len(payload)}
	m.payload = payload
	m.Flush, m.Clock = r.flush(), bellows.Clock(r.u32())
	pairs, chunks, leases := r.u32(), r.u32(), r.u32()
	heads := reader{b: r.take(uint64(pairs)*pairSize + uint64(chunks)*chunkSize + uint64(leases)*leaseEndSize)}
	if r.err != nil {
		return r.err
	}
	m.Pairs = slices.Grow(m.Pairs[:0], int(pairs))[:pairs]
	for i := range m.Pairs {
		m.Pairs[i] = heads.pair()
	}
	m.Chunks = slices.Grow(m.Chunks[:0], int(chunks))[:chunks]
	for i := range m.Chunks {
		m.Chunks[i].decode(&heads, &r, &m.widened)
	}
	m.Leases = slices.Grow(m.Leases[:0], int(leases))[:leases]
	for i := range m.Leases {
		e := &m.Leases[i]
		e.Pair = heads.pair()
		e.Values = words[float32](&r, heads.u32())
	}
	return cmp.Or(heads.err, r.end())
}

func (c *Chunk) decode(head, arrays *reader, w *widened) {
	var f vec.Format
	c.Ref, f = head.part()
	c.Generation, c.Subtree = bellows.Generation(head.u32()), head.subtree()
	ids, values := head.u32(), head.u32()
	c.Rows, c.Keys = arrays.ids(ids)
	c.Values = w.values(arrays, c.Ref.Table, f, values, ids)
}
