package wire

import (
	"cmp"
	"slices"
	"sync"

	"bellows"
	"bellows/vec"
	"bellows/wire/internal/memory"
)

const (
	pullPartSize = pairSize + 8
	rowsPartSize = refSize + 20
)

const kindPull uint8 = 1

func (*Pull) kind() uint8 { return kindPull }

func (m *Pull) encode(b *Batch) {
	b.u64(m.Request)
	b.need(m.Need)
	b.count(len(m.Parts))
	b.zeros(4)
	for i := range m.Parts {
		b.pair(m.Parts[i].Pair)
		b.idCount(m.Parts[i].Rows, m.Parts[i].Keys)
		b.flag(m.Parts[i].Subscribe)
		b.zeros(3)
	}
	for i := range m.Parts {
		b.ids(m.Parts[i].Rows, m.Parts[i].Keys)
	}
}

func (m *Pull) decode(payload []byte) error {
	r := reader{b: payload, whole: len(payload)}
	m.payload = payload
	m.Request, m.Need = r.u64(), r.need()
	n := r.u32()
	r.reserved(4)
	heads := reader{b: r.take(uint64(n) * pullPartSize)}
	if r.err != nil {
		return r.err
	}
	m.Parts = slices.Grow(m.Parts[:0], int(n))[:n]
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Pair = heads.pair()
		p.Rows, p.Keys = r.ids(heads.u32())
		p.Subscribe = heads.flag()
		heads.reserved(3)
		ascending(&r, p.Rows)
		ascending(&r, p.Keys)
	}
	return cmp.Or(heads.err, r.end())
}

func (m *Pull) recycle() *sync.Pool {
	clear(m.Parts)
	memory.Put(m.payload)
	*m = Pull{Parts: m.Parts[:0]}
	return &pools[kindPull]
}

const kindRows uint8 = 2

func (*Rows) kind() uint8 { return kindRows }

func (m *Rows) encode(b *Batch) {
	b.u64(m.Request)
	b.count(len(m.Parts))
	b.zeros(4)
	for i := range m.Parts {
		p := &m.Parts[i]
		b.part(p.Ref)
		b.u64(uint64(p.Commit))
		b.u32(uint32(p.Complete))
		b.idCount(p.Rows, p.Keys)
		b.count(len(p.Values))
	}
	for i := range m.Parts {
		b.ids(m.Parts[i].Rows, m.Parts[i].Keys)
		b.values(m.Parts[i].Ref, m.Parts[i].Values)
	}
}

func (m *Rows) decode(payload []byte) error {
	r := reader{b: payload, whole: len(payload)}
	m.payload = payload
	m.Request = r.u64()
	n := r.u32()
	r.reserved(4)
	heads := reader{b: r.take(uint64(n) * rowsPartSize)}
	if r.err != nil {
		return r.err
	}
	m.Parts = slices.Grow(m.Parts[:0], int(n))[:n]
	for i := range m.Parts {
		p := &m.Parts[i]
		var f vec.Format
		p.Ref, f = heads.part()
		p.Commit, p.Complete = bellows.CommitNumber(heads.u64()), bellows.Clock(heads.u32())
		rows, values := heads.u32(), heads.u32()
		p.Rows, p.Keys = r.ids(rows)
		ascending(&r, p.Rows)
		ascending(&r, p.Keys)
		p.Values = m.widened.values(&r, p.Ref.Table, f, values, rows)
	}
	return cmp.Or(heads.err, r.end())
}

func (m *Rows) recycle() *sync.Pool {
	memory.Put(m.lent)
	if m.payload == nil {
		*m = Rows{Parts: m.Parts[:0]}
		return &pools[kindRows]
	}
	memory.Put(m.payload)
	clear(m.Parts)
	*m = Rows{Parts: m.Parts[:0], widened: m.widened.free()}
	return &views
}
