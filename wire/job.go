package wire

import (
	"math"

	"bellows"

	"google.golang.org/protobuf/encoding/protowire"
)

func (b *Batch) failed(m *Failed) {
	kind := m.Kind
	if m.Err != nil {
		kind = bellows.KindOf(m.Err)
	}
	b.unit(1, m.Unit)
	b.text(2, reason(m.Reason))
	b.varint(3, uint64(kind))
}

func (m *Failed) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		switch f.key {
		case 1<<3 | sized:
			f.fail(unitOf(f.data, &m.Unit))
		case 2<<3 | sized:
			m.Reason = f.text()
		case 3<<3 | varint:
			m.Kind = bellows.Bug // also for a kind that a later version may have
			if f.num <= uint64(bellows.Interrupted) {
				m.Kind = bellows.Kind(f.num)
			}
		}
	}
	f.fail(whole(&m.Unit))
	return f.err
}

func (m *Beat) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		continue
	}
	return f.err
}

func (b *Batch) keep(m *Keep) { b.varint(1, uint64(m.Commit)) }

func (m *Keep) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		if f.key == 1<<3|varint {
			m.Commit = bellows.CommitNumber(f.num)
		}
	}
	return f.err
}

func (b *Batch) staleness(m *Staleness) {
	b.varint(1, uint64(m.Table))
	b.zigzag(2, m.Clocks)
}

func (m *Staleness) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		switch f.key {
		case 1<<3 | varint:
			m.Table = bellows.TableID(f.upTo(math.MaxUint16))
		case 2<<3 | varint:
			m.Clocks = f.sint32()
		}
	}
	return f.err
}

func (b *Batch) finish(m *End) error {
	if len(m.Gone) > listMax {
		return tooMany(kindEnd)
	}
	b.varint(1, uint64(m.Commit))
	b.text(2, reason(m.Reason))
	if len(m.Gone) > 0 {
		at := b.open(3)
		for _, n := range m.Gone {
			b.scratch = protowire.AppendVarint(b.scratch, uint64(n))
		}
		b.shut(at)
	}
	return nil
}

func (m *End) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		switch f.key {
		case 1<<3 | varint:
			m.Commit = bellows.CommitNumber(f.num)
		case 2<<3 | sized:
			m.Reason = f.text()
		case 3<<3 | sized, 3<<3 | varint:
			f.varints(func(x uint64) {
				if x > math.MaxUint16 {
					f.fail(errNumber)
					return
				}
				m.Gone = append(m.Gone, bellows.NodeID(x))
			})
		}
	}
	return f.err
}

func (b *Batch) closed(m *Closed) {
	c := &m.Counts
	b.varint(1, uint64(c.Sent))
	b.varint(2, uint64(c.Applied))
	b.varint(3, uint64(c.Dropped))
	at := b.open(4)
	for _, n := range c.Staleness {
		b.scratch = protowire.AppendVarint(b.scratch, uint64(n))
	}
	b.shut(at)
}

func (m *Closed) decode(payload []byte) error {
	f := fields{b: payload}
	c := &m.Counts
	bins := 0
	for f.next() {
		switch f.key {
		case 1<<3 | varint:
			c.Sent = int64(f.num)
		case 2<<3 | varint:
			c.Applied = int64(f.num)
		case 3<<3 | varint:
			c.Dropped = int64(f.num)
		case 4<<3 | sized, 4<<3 | varint:
			f.varints(func(x uint64) {
				if bins == StalenessBins {
					f.fail(errNumber)
					return
				}
				c.Staleness[bins] = int64(x)
				bins++
			})
		}
	}
	return f.err
}
