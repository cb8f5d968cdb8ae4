package wire

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

const (
	chunkSize    = pairSize + 16
	leaseEndSize = pairSize + 4
)

// A push is a head of fixed lengths, with one entry for each pair, chunk and lease, followed by their arrays in the
// same order, each aligned for use in place. A decoder reads both together: heads gives an entry, r its array. So a
// lane has a push of any size in memory once, as the payload that it came in, and adds it from there.
//
// The fields that a push shares with its done (flush, clock, pairs) travel once.

const kindPush uint8 = 6

func (*Push) kind() uint8 { return kindPush }

func (m *Push) encode(b *Batch) {
	if m.Done != nil && max(len(m.Done.Results), len(m.Done.Sent)) > listMax {
		b.tooMany(m, errMany)
		return
	}
	b.flush(m.Flush)
	b.u32(uint32(m.Clock))
	b.count(len(m.Pairs))
	b.count(len(m.Chunks))
	b.count(len(m.Leases))
	b.pushedDone(m)
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
		l := &m.Leases[i]
		b.leased(l.Pair, l.Columns)
		b.count(l.Columns.Sending(len(l.Values)))
	}
	for i := range m.Chunks {
		b.items(m.Chunks[i].Subtree)
		b.ids(m.Chunks[i].Rows, m.Chunks[i].Keys)
		b.values(m.Chunks[i].Ref, m.Chunks[i].Values)
	}
	for i := range m.Leases {
		b.rows(m.Leases[i].Columns, m.Leases[i].Values)
	}
}

func (m *Push) decode(payload []byte) error {
	r := readerOf(payload)
	m.payload = payload
	m.Flush, m.Clock = r.flush(), bellows.Clock(r.U32())
	pairs, chunks, leases := r.U32(), r.U32(), r.U32()
	m.decodeDone(&r)
	heads := readerOf(r.Take(uint64(pairs)*pairSize + uint64(chunks)*chunkSize + uint64(leases)*leaseEndSize))
	if r.Err != nil {
		return r.Err
	}
	m.Pairs = slices.Grow(m.Pairs[:0], int(pairs))[:pairs]
	for i := range m.Pairs {
		m.Pairs[i] = heads.pair()
	}
	if m.Done != nil {
		m.Done.Flush, m.Done.Clock, m.Done.Pairs = m.Flush, m.Clock, append(m.Done.Pairs, m.Pairs...)
	}
	m.Chunks = slices.Grow(m.Chunks[:0], int(chunks))[:chunks]
	for i := range m.Chunks {
		m.Chunks[i].decode(&heads, &r, &m.widened)
	}
	m.Leases = slices.Grow(m.Leases[:0], int(leases))[:leases]
	for i := range m.Leases {
		l := &m.Leases[i]
		l.Pair, l.Columns = heads.leased()
		l.Values = m.widened.Rows(&r.Reader, l.Columns, heads.U32(), messageMax)
	}
	return cmp.Or(heads.Err, r.End())
}

func (m *Push) recycle() *sync.Pool {
	clear(m.Chunks)
	clear(m.Leases)
	memory.Put(m.payload)
	if m.Done != nil {
		Free(m.Done)
	}
	*m = Push{Pairs: m.Pairs[:0], Chunks: m.Chunks[:0], Leases: m.Leases[:0], widened: m.widened.Free()}
	return &pools[kindPush]
}

// resultSize is the bytes of a result's unit and of its number of values.
const resultSize = 32

// noDone stands for that of a push without one.
var noDone Done

// pushedDone adds the fields of a done that the push carrying it does not have.
func (b *Batch) pushedDone(m *Push) {
	d := cmp.Or(m.Done, &noDone)
	b.count(len(d.Results))
	b.flag(m.Done != nil)
	b.flag(d.Deferrable)
	b.flag(m.Again)
	b.flag(m.Route > 0)
	if m.Route > 0 {
		b.u32(uint32(m.Route))
	}
	for i := range d.Results {
		u := &d.Results[i].Unit
		b.u32(uint32(u.Split))
		b.u32(uint32(u.Clock))
		b.span(u.Items)
		b.count(len(d.Results[i].Values))
		b.zeros(4)
	}
	for i := range d.Results {
		for _, x := range d.Results[i].Values {
			b.u64(math.Float64bits(x))
		}
	}
	if m.Done == nil {
		return
	}
	b.count(len(d.Sent))
	for _, s := range d.Sent {
		b.u32(uint32(s.Table))
		b.u64(uint64(s.Rows))
		b.u64(uint64(s.Bits))
	}
}

func (m *Push) decodeDone(r *reader) {
	results, done, deferrable := r.U32(), r.Flag(), r.Flag()
	m.Again = r.Flag()
	if r.Flag() {
		m.Route = bellows.RouteVersion(r.U32())
	}
	if !done {
		if results > 0 || deferrable {
			r.Fail(errDone)
		}
		return
	}
	if results > listMax {
		r.Fail(errMany)
	}
	heads := r.Take(uint64(results) * resultSize)
	numbers := uint64(0)
	for i := resultSize; i <= len(heads); i += resultSize {
		numbers += uint64(binary.LittleEndian.Uint32(heads[i-8:]))
	}
	values := r.Take(8 * numbers)
	if r.Err != nil {
		return
	}
	m.Done = New[Done]()
	d := m.Done
	d.Deferrable = deferrable
	d.Results = slices.Grow(d.Results, int(results))
	d.numbers = slices.Grow(d.numbers, int(numbers))
	h := readerOf(heads)
	for range results {
		u, n, at := h.unit(), int(h.U32()), len(d.numbers)
		h.Reserved(4)
		for ; n > 0; n-- {
			d.numbers = append(d.numbers, math.Float64frombits(binary.LittleEndian.Uint64(values)))
			values = values[8:]
		}
		d.Results = append(d.Results, Result{u, d.numbers[at:len(d.numbers):len(d.numbers)]})
	}
	if h.Err != nil {
		r.Fail(h.Err)
	}
	d.decodeSent(r)
}

// sentSize is the bytes of what a done says of one table.
const sentSize = 20

func (d *Done) decodeSent(r *reader) {
	n := r.U32()
	if n > listMax {
		r.Fail(errMany)
	}
	list := readerOf(r.Take(uint64(n) * sentSize))
	if r.Err != nil {
		return
	}
	for range n {
		table := list.U32()
		s := audit.Sent{Table: bellows.TableID(table), Rows: int64(list.U64()), Bits: audit.Sum(list.U64())}
		if s.Rows < 0 || table > math.MaxUint16 {
			r.Fail(errNumber)
		}
		d.Sent = append(d.Sent, s)
	}
}

func (r *reader) unit() bellows.Unit {
	return bellows.Unit{Split: bellows.SplitID(r.U32()), Clock: bellows.Clock(r.U32()), Items: r.Span()}
}

func (c *Chunk) decode(head, arrays *reader, w *raw.Widened) {
	var f vec.Format
	c.Ref, f = head.part()
	c.Generation = bellows.Generation(head.U32())
	c.Subtree = arrays.items(head.subtree())
	ids, values := head.U32(), head.U32()
	c.Rows, c.Keys = arrays.IDs(ids)
	c.Values = w.Values(&arrays.Reader, c.Ref.Table, f, values, ids)
}
