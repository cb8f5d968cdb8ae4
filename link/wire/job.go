package wire

import (
	"math"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

const kindFailed uint8 = 65

func (*Failed) kind() uint8 { return kindFailed }

func (m *Failed) encode(b *Batch) {
	kind := m.Kind
	if m.Err != nil {
		kind = bellows.KindOf(m.Err)
	}
	b.pb().Unit(1, m.Unit)
	b.pb().Text(2, reason(m.Reason))
	b.pb().Varint(3, uint64(kind))
}

func (m *Failed) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			f.Fail(fields.UnitOf(f.Data, &m.Unit))
		case 2<<3 | sized:
			m.Reason = f.Text()
		case 3<<3 | varint:
			m.Kind = kindOf(f.Num)
		}
	}
	f.Fail(fields.Whole(&m.Unit))
	return f.Err
}

// kindOf is a kind of error; a bug also for one that a later version may have.
func kindOf(x uint64) bellows.Kind {
	if x <= uint64(bellows.Interrupted) {
		return bellows.Kind(x)
	}
	return bellows.Bug
}

const kindComputing uint8 = 91

func (*Computing) kind() uint8 { return kindComputing }

func (m *Computing) encode(b *Batch) {
	b.pb().Unit(1, m.Unit)
	b.pb().Varint(2, uint64(m.Millis))
}

func (m *Computing) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | sized:
			f.Fail(fields.UnitOf(f.Data, &m.Unit))
		case 2<<3 | varint:
			m.Millis = int64(f.UpTo(math.MaxInt64))
		}
	}
	f.Fail(fields.Whole(&m.Unit))
	return f.Err
}

const kindBeat uint8 = 66

func (*Beat) kind() uint8   { return kindBeat }
func (*Beat) encode(*Batch) {}

func (m *Beat) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		continue
	}
	return f.Err
}

const kindStaleness uint8 = 69

func (*Staleness) kind() uint8 { return kindStaleness }

func (m *Staleness) encode(b *Batch) {
	b.pb().Varint(1, uint64(m.Table))
	b.pb().Zigzag(2, m.Clocks)
	b.pb().Varint(3, uint64(m.Term))
}

func (m *Staleness) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Table = bellows.TableID(f.UpTo(math.MaxUint16))
		case 2<<3 | varint:
			m.Clocks = f.Sint32()
		case 3<<3 | varint:
			m.Term = termOf(&f)
		}
	}
	return f.Err
}

const kindEnd uint8 = 71

func (*End) kind() uint8 { return kindEnd }

func (m *End) encode(b *Batch) {
	if len(m.Gone) > listMax {
		b.tooMany(m)
		return
	}
	b.pb().Varint(1, uint64(m.Commit))
	b.pb().Text(2, reason(m.Reason))
	if len(m.Gone) > 0 {
		at := b.pb().Open(3)
		for _, n := range m.Gone {
			b.scratch = protowire.AppendVarint(b.scratch, uint64(n))
		}
		b.pb().Shut(at)
	}
	b.pb().Varint(4, uint64(m.Term))
	b.pb().Varint(5, uint64(m.Kind))
}

func (m *End) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Commit = bellows.CommitNumber(f.Num)
		case 2<<3 | sized:
			m.Reason = f.Text()
		case 3<<3 | sized, 3<<3 | varint:
			f.Varints(func(x uint64) {
				if x > math.MaxUint16 {
					f.Fail(errNumber)
					return
				}
				m.Gone = append(m.Gone, bellows.NodeID(x))
			})
		case 4<<3 | varint:
			m.Term = termOf(&f)
		case 5<<3 | varint:
			m.Kind = kindOf(f.Num)
		}
	}
	return f.Err
}

const kindClosed uint8 = 72

func (*Closed) kind() uint8 { return kindClosed }

func (m *Closed) encode(b *Batch) {
	c := &m.Counts
	b.pb().Varint(1, uint64(c.Sent))
	b.pb().Varint(2, uint64(c.Applied))
	b.pb().Varint(3, uint64(c.Dropped))
	at := b.pb().Open(4)
	for _, n := range c.Staleness {
		b.scratch = protowire.AppendVarint(b.scratch, uint64(n))
	}
	b.pb().Shut(at)
	b.ledgers(5, c.Ledgers)
}

// ledgers adds the sums of one table after the other.
func (b *Batch) ledgers(number protowire.Number, list []audit.Ledger) {
	if len(list) == 0 {
		return
	}
	at := b.pb().Open(number)
	for i := range list {
		for _, s := range sums(&list[i]) {
			b.scratch = protowire.AppendFixed64(b.scratch, uint64(*s))
		}
	}
	b.pb().Shut(at)
}

// sums are a ledger's, in the order in which they travel.
func sums(l *audit.Ledger) [5]*audit.Sum {
	return [...]*audit.Sum{&l.Sent, &l.Taken, &l.Dropped, &l.Yielded, &l.Written}
}

func (m *Closed) decode(payload []byte) error {
	f := fields.Of(payload)
	c := &m.Counts
	bins, some := 0, 0
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			c.Sent = int64(f.Num)
		case 2<<3 | varint:
			c.Applied = int64(f.Num)
		case 3<<3 | varint:
			c.Dropped = int64(f.Num)
		case 4<<3 | sized, 4<<3 | varint:
			f.Varints(func(x uint64) {
				if bins == len(c.Staleness) {
					f.Fail(errNumber)
					return
				}
				c.Staleness[bins] = int64(x)
				bins++
			})
		case 5<<3 | sized, 5<<3 | fixed64:
			f.Fixed64s(func(x uint64) {
				if some == 0 {
					c.Ledgers = append(c.Ledgers, audit.Ledger{})
				}
				to := sums(&c.Ledgers[len(c.Ledgers)-1])
				*to[some] = audit.Sum(x)
				some = (some + 1) % len(to)
			})
		}
	}
	if some != 0 {
		f.Fail(errNumber)
	}
	return f.Err
}
