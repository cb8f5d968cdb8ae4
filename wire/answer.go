package wire

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"bellows"
)

// commitmentSize is the bytes of an element of Committed, which has up to CommittedMost.
const (
	commitmentSize = flushSize + 16
	CommittedMost  = 1 << 11
)

func (m *Held) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

func (m *Full) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

func (m *Room) decode(payload []byte) error { return decodeFlush(&m.Flush, payload) }

func decodeFlush(f *bellows.FlushID, payload []byte) error {
	r := reader{b: payload}
	*f = r.flush()
	return r.end()
}

func (b *Batch) committed(m *Committed) {
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

func (b *Batch) refused(m *Refused) {
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
	m.Reason = string(r.b)
	return r.err
}

// reasonMax is the longest reason that travels, in bytes: text of others must not keep it from being sent.
const reasonMax = 32 << 10

// reason is a reason as it travels: valid UTF-8, cut off where it is too long.
func reason(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= reasonMax {
		return s
	}
	n := reasonMax
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
