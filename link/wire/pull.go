package wire

import (
	"cmp"
	"slices"
	"sync"

	"bellows"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

const (
	pullPartSize = pairSize + 8
	rowsPartSize = pairSize + 20
)

const kindPull uint8 = 1

func (*Pull) kind() uint8 { return kindPull }

func (m *Pull) encode(b *Batch) {
	b.u64(m.Request)
	b.need(m.Need, m.Route)
	b.count(len(m.Parts))
	b.u32(m.Incarnation)
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
	r := readerOf(payload)
	m.payload = payload
	m.Request = r.U64()
	m.Need, m.Route = r.need()
	n := r.U32()
	m.Incarnation = r.U32()
	heads := readerOf(r.Take(uint64(n) * pullPartSize))
	if r.Err != nil {
		return r.Err
	}
	m.Parts = slices.Grow(m.Parts[:0], int(n))[:n]
	for i := range m.Parts {
		p := &m.Parts[i]
		p.Pair = heads.pair()
		p.Rows, p.Keys = r.IDs(heads.U32())
		p.Subscribe = heads.Flag()
		heads.Reserved(3)
		raw.Ascending(&r.Reader, p.Rows)
		raw.Ascending(&r.Reader, p.Keys)
	}
	return cmp.Or(heads.Err, r.End())
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
	b.u32(m.Incarnation)
	for i := range m.Parts {
		p := &m.Parts[i]
		b.part(p.Ref)
		b.u32(uint32(p.Generation))
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
	r := readerOf(payload)
	m.payload = payload
	m.Request = r.U64()
	n := r.U32()
	m.Incarnation = r.U32()
	heads := readerOf(r.Take(uint64(n) * rowsPartSize))
	if r.Err != nil {
		return r.Err
	}
	m.Parts = slices.Grow(m.Parts[:0], int(n))[:n]
	for i := range m.Parts {
		p := &m.Parts[i]
		var f vec.Format
		p.Ref, f = heads.part()
		p.Generation = bellows.Generation(heads.U32())
		p.Commit, p.Complete = bellows.CommitNumber(heads.U64()), bellows.Clock(heads.U32())
		rows, values := heads.U32(), heads.U32()
		p.Rows, p.Keys = r.IDs(rows)
		raw.Ascending(&r.Reader, p.Rows)
		raw.Ascending(&r.Reader, p.Keys)
		p.Values = m.widened.Values(&r.Reader, p.Ref.Table, f, values, rows)
	}
	return cmp.Or(heads.Err, r.End())
}

func (m *Rows) recycle() *sync.Pool {
	memory.Put(m.lent)
	if m.payload == nil {
		*m = Rows{Parts: m.Parts[:0]}
		return &pools[kindRows]
	}
	memory.Put(m.payload)
	clear(m.Parts)
	*m = Rows{Parts: m.Parts[:0], widened: m.widened.Free()}
	return &views
}
