package wire

import (
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"

	"bellows"
	"bellows/wire/internal/fields"
)

// commitmentSize is the bytes of an element of Committed, which has up to CommittedMost.
const (
	commitmentSize = flushSize + 16
	CommittedMost  = 1 << 11
	committedMax   = 8 + CommittedMost*commitmentSize
)

const kindHeld uint8 = 7

func (*Held) kind() uint8                   { return kindHeld }
func (m *Held) encode(b *Batch)             { b.flush(m.Flush) }
func (m *Held) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

func (m *Held) recycle() *sync.Pool {
	*m = Held{}
	return &pools[kindHeld]
}

const kindFull uint8 = 8

func (*Full) kind() uint8                   { return kindFull }
func (m *Full) encode(b *Batch)             { b.flush(m.Flush) }
func (m *Full) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

const kindRoom uint8 = 9

func (*Room) kind() uint8                   { return kindRoom }
func (m *Room) encode(b *Batch)             { b.flush(m.Flush) }
func (m *Room) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

func decodeFlush(f *bellows.FlushID, payload []byte) error {
	r := reader{b: payload}
	*f = r.flush()
	return r.end()
}

const kindCommitted uint8 = 10

func (*Committed) kind() uint8 { return kindCommitted }

func (m *Committed) encode(b *Batch) {
	b.count(len(m.List))
	b.zeros(4)
	for i := range m.List {
		c := &m.List[i]
		b.flush(c.Flush)
		b.u64(uint64(c.Commit))
		b.flag(c.Waiting)
		b.zeros(7)
	}
}

func (m *Committed) decode(payload []byte) error {
	r := reader{b: payload}
	n := r.u32()
	r.reserved(4)
	list := reader{b: r.take(uint64(n) * commitmentSize)}
	if r.err != nil {
		return r.err
	}
	m.List = slices.Grow(m.List[:0], int(n))
	for range n {
		m.List = append(m.List, Commitment{Flush: list.flush(), Commit: bellows.CommitNumber(list.u64()), Waiting: list.flag()})
		list.reserved(7)
	}
	return cmp.Or(list.err, r.end())
}

func (m *Committed) recycle() *sync.Pool {
	m.List = m.List[:0]
	return &pools[kindCommitted]
}

const kindRefused uint8 = 11

func (*Refused) kind() uint8 { return kindRefused }

func (m *Refused) encode(b *Batch) {
	b.flush(m.Flush)
	b.u8(uint8(m.Kind))
	b.zeros(3)
	b.scratch = append(b.scratch, reason(m.Reason)...)
}

func (m *Refused) decode(payload []byte) error {
	r := reader{b: payload}
	m.Flush = r.flush()
	m.Kind = bellows.Kind(r.u8())
	if m.Kind > bellows.Interrupted {
		r.fail(errKind)
	}
	r.reserved(3)
	if !utf8.Valid(r.b) {
		r.fail(errText)
	}
	m.Reason = reason(string(r.b))
	return r.err
}

// reasonMax is the longest reason that travels, in bytes: text of others must not keep it from being sent.
const reasonMax = fields.TextMax

// reason is a reason as it travels, and as it is taken from others.
func reason(s string) string { return bellows.Printable(s, reasonMax) }
