package wire

import (
	"math"
	"slices"

	"bellows"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

const kindRoute uint8 = 87

func (*Route) kind() uint8 { return kindRoute }

func (m *Route) encode(b *Batch) {
	if len(m.Changes) > listMax {
		b.tooMany(m)
		return
	}
	b.pb().Varint(1, uint64(m.Version))
	for i := range m.Changes {
		b.change(2, &m.Changes[i])
	}
	if m.Begin != nil {
		b.begin(m)
	}
	b.pb().Varint(4, uint64(m.Term))
}

func (b *Batch) begin(m *Route) {
	g := m.Begin
	if max(len(g.Complete), len(g.Staleness), len(g.Recorded)) > listMax {
		b.tooMany(m)
		return
	}
	at := b.pb().Open(3)
	b.pb().Varint(1, uint64(g.Commit))
	for i := range g.Recorded {
		r := &g.Recorded[i]
		one := b.pb().Open(2)
		b.pb().Varint(1, uint64(r.Client))
		b.pb().Varint(2, uint64(r.Incarnation))
		b.pb().Varint(3, r.UpTo)
		b.numbers(4, len(r.Above), func(i int) int64 { return int64(r.Above[i]) })
		b.pb().Shut(one)
	}
	b.numbers(3, len(g.Complete), func(i int) int64 { return int64(g.Complete[i]) + 1 })
	b.numbers(4, len(g.Staleness), func(i int) int64 { return int64(g.Staleness[i]) })
	b.pb().Shut(at)
}

// numbers adds a packed list, as protobuf does: none where it is empty.
func (b *Batch) numbers(number protowire.Number, n int, at func(i int) int64) {
	if n > 0 {
		b.pb().Numbers(number, n, at)
	}
}

// changeLeast is how many bytes a change takes at least, or an incarnation's flushes.
const changeLeast = 4

func (m *Route) decode(payload []byte) error {
	m.Changes = slices.Grow(m.Changes, min(len(payload)/changeLeast, fields.Count(payload, 2<<3|sized)))
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Version = bellows.RouteVersion(f.UpTo(math.MaxUint32))
		case 2<<3 | sized:
			f.Room(len(m.Changes))
			var c bellows.Control
			if f.Fail(changeOf(f.Data, &c)); c.Kind == bellows.NoControl {
				f.Fail(errNumber)
			}
			m.Changes = append(m.Changes, c)
		case 3<<3 | sized:
			if m.Begin == nil {
				m.Begin = new(Begin)
			}
			f.Fail(m.Begin.decode(f.Data))
		case 4<<3 | varint:
			m.Term = termOf(&f)
		}
	}
	return f.Err
}

func (g *Begin) decode(b []byte) error {
	g.Recorded = slices.Grow(g.Recorded, min(len(b)/changeLeast, fields.Count(b, 2<<3|sized)))
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			g.Commit = bellows.CommitNumber(f.Num)
		case 2<<3 | sized:
			f.Room(len(g.Recorded))
			r, err := recordedOf(f.Data)
			f.Fail(err)
			g.Recorded = append(g.Recorded, r)
		case 3<<3 | sized:
			listed(&f, &g.Complete, math.MaxInt32+1, func(x uint64) bellows.Clock { return bellows.Clock(int64(x) - 1) })
		case 4<<3 | sized:
			listed(&f, &g.Staleness, math.MaxInt32, func(x uint64) int32 { return int32(x) })
		}
	}
	return f.Err
}

// listed appends what the numbers of a packed list up to a limit stand for.
func listed[T any](f *fields.Fields, to *[]T, limit uint64, of func(uint64) T) {
	f.Varints(func(x uint64) {
		f.Room(len(*to))
		if x > limit {
			f.Fail(errNumber)
		}
		if f.Err == nil {
			*to = append(*to, of(x))
		}
	})
}

func recordedOf(b []byte) (r Recorded, err error) {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			r.Client = bellows.NodeID(f.UpTo(math.MaxUint16))
		case 2<<3 | varint:
			r.Incarnation = uint32(f.UpTo(math.MaxUint32))
		case 3<<3 | varint:
			r.UpTo = f.Num
		case 4<<3 | sized:
			listed(&f, &r.Above, math.MaxUint64, func(x uint64) uint64 { return x })
		}
	}
	if r.Incarnation == 0 {
		f.Fail(errNumber)
	}
	return r, f.Err
}

const kindStale uint8 = 90

func (*Stale) kind() uint8 { return kindStale }

func (m *Stale) encode(b *Batch) {
	if len(m.Pairs) > listMax {
		b.tooMany(m)
		return
	}
	b.pb().Varint(1, uint64(m.Route))
	b.protoFlush(2, m.Flush)
	b.pb().Varint(3, m.Request)
	b.runs(4, m.Pairs)
	b.pb().Varint(5, uint64(m.Term))
}

func (m *Stale) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Route = bellows.RouteVersion(f.UpTo(math.MaxUint32))
		case 2<<3 | sized:
			f.Fail(flushOf(f.Data, &m.Flush))
		case 3<<3 | varint:
			m.Request = f.Num
		case 4<<3 | sized, 4<<3 | varint:
			m.Pairs = runsOf(&f, m.Pairs)
		case 5<<3 | varint:
			m.Term = termOf(&f)
		}
	}
	return f.Err
}
