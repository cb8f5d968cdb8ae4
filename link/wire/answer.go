package wire

import (
	"cmp"
	"slices"
	"sync"
	"unicode/utf8"

	"bellows"
	"bellows/link/wire/internal/fields"
)

// Limits of what answers say: commitmentSize is the bytes of an element of Committed, which has up to CommittedMost, and pairsMost how many
// pairs an answer names, as many as a done does.
const (
	commitmentSize = flushSize + 16
	CommittedMost  = 1 << 11
	pairsMost      = listMax
	answerMax      = flushSize + 4 + pairsMost*pairSize
	committedMax   = 8 + CommittedMost*commitmentSize + pairsMost*pairSize
)

const kindHeld uint8 = 7

func (*Held) kind() uint8                   { return kindHeld }
func (m *Held) encode(b *Batch)             { b.flushPairs(m.Flush, m.Pairs) }
func (m *Held) decode(payload []byte) error { return decodeFlushPairs(&m.Flush, &m.Pairs, payload) }

func (m *Held) recycle() *sync.Pool {
	*m = Held{Pairs: m.Pairs[:0]}
	return &pools[kindHeld]
}

const kindFull uint8 = 8

func (*Full) kind() uint8                   { return kindFull }
func (m *Full) encode(b *Batch)             { b.flushPairs(m.Flush, m.Pairs) }
func (m *Full) decode(payload []byte) error { return decodeFlushPairs(&m.Flush, &m.Pairs, payload) }

const kindRoom uint8 = 9

func (*Room) kind() uint8                   { return kindRoom }
func (m *Room) encode(b *Batch)             { b.flushPairs(m.Flush, m.Pairs) }
func (m *Room) decode(payload []byte) error { return decodeFlushPairs(&m.Flush, &m.Pairs, payload) }

// flushPairs adds a flush and pairs of it.
func (b *Batch) flushPairs(f bellows.FlushID, pairs []Pair) {
	b.flush(f)
	b.count(len(pairs))
	for _, p := range pairs {
		b.pair(p)
	}
}

func decodeFlushPairs(f *bellows.FlushID, pairs *[]Pair, payload []byte) error {
	r := readerOf(payload)
	*f = r.flush()
	*pairs = r.pairs((*pairs)[:0], r.U32())
	return r.End()
}

// pairs appends n pairs to a list.
func (r *reader) pairs(to []Pair, n uint32) []Pair {
	list := readerOf(r.Take(uint64(n) * pairSize))
	if r.Err != nil {
		return to
	}
	to = slices.Grow(to, int(n))
	for range n {
		to = append(to, list.pair())
	}
	if list.Err != nil {
		r.Fail(list.Err)
	}
	return to
}

// The pairs of all commitments follow the list of them: entries of one length can be counted before memory is taken. They lie in one list of the message, from
// which each commitment has its piece, cut to its length: what is appended to one never writes into the next.

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
		b.zeros(3)
		b.count(len(c.Pairs))
	}
	for i := range m.List {
		for _, p := range m.List[i].Pairs {
			b.pair(p)
		}
	}
}

func (m *Committed) decode(payload []byte) error {
	r := readerOf(payload)
	n := r.U32()
	r.Reserved(4)
	list := readerOf(r.Take(uint64(n) * commitmentSize))
	if r.Err != nil {
		return r.Err
	}
	m.List = slices.Grow(m.List[:0], int(n))
	m.pairs = slices.Grow(m.pairs[:0], len(r.Rest)/pairSize)
	for range n {
		c := Commitment{Flush: list.flush(), Commit: bellows.CommitNumber(list.U64()), Waiting: list.Flag()}
		list.Reserved(3)
		if pairs := list.U32(); pairs > 0 {
			at := len(m.pairs)
			m.pairs = r.pairs(m.pairs, pairs)
			c.Pairs = m.pairs[at:len(m.pairs):len(m.pairs)]
		}
		m.List = append(m.List, c)
	}
	return cmp.Or(list.Err, r.End())
}

func (m *Committed) recycle() *sync.Pool {
	*m = Committed{List: m.List[:0], pairs: m.pairs[:0]}
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
	r := readerOf(payload)
	m.Flush = r.flush()
	m.Kind = bellows.Kind(r.U8())
	if m.Kind > bellows.Interrupted {
		r.Fail(errKind)
	}
	r.Reserved(3)
	if !utf8.Valid(r.Rest) {
		r.Fail(errText)
	}
	m.Reason = reason(string(r.Rest))
	return r.Err
}

// reasonMax is the longest reason that travels, in bytes: text of others must not keep it from being sent.
const reasonMax = fields.TextMax

// reason returns a reason as it travels, and as it is taken from others.
func reason(s string) string { return bellows.Printable(s, reasonMax) }
