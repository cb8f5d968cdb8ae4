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

func (m *Failed) fields(c *fields.Codec) error {
	kind := m.Kind
	if m.Err != nil {
		kind = bellows.KindOf(m.Err)
	}
	unit(c, 1, &m.Unit)
	c.Text(2, &m.Reason)
	if errorKind(c, 3, &kind); c.Reads() {
		m.Kind = kind
	}
	return wholeUnit(&m.Unit)
}

const kindComputing uint8 = 91

func (*Computing) kind() uint8 { return kindComputing }

func (m *Computing) fields(c *fields.Codec) error {
	unit(c, 1, &m.Unit)
	if fields.Num(c, 2, &m.Millis); m.Millis < 0 {
		return errNumber
	}
	return wholeUnit(&m.Unit)
}

const kindBeat uint8 = 66

func (*Beat) kind() uint8                { return kindBeat }
func (*Beat) fields(*fields.Codec) error { return nil }

const kindStaleness uint8 = 69

func (*Staleness) kind() uint8 { return kindStaleness }

func (m *Staleness) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Table)
	fields.Zigzag(c, 2, &m.Clocks)
	fields.Num(c, 3, &m.Term)
	return nil
}

const kindEnd uint8 = 71

func (*End) kind() uint8 { return kindEnd }

func (m *End) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Commit)
	c.Text(2, &m.Reason)
	fields.Numbers(c, 3, &m.Gone, math.MaxUint16)
	fields.Num(c, 4, &m.Term)
	errorKind(c, 5, &m.Kind)
	c.Flag(6, &m.Parts)
	fields.List(c, 7, &m.Lanes, func(a *LaneName) error {
		fields.Num(c, 1, &a.Node)
		fields.Num(c, 2, &a.Index)
		return nil
	})
	return nil
}

const kindClosed uint8 = 72

func (*Closed) kind() uint8 { return kindClosed }

func (m *Closed) fields(c *fields.Codec) error {
	n := &m.Counts
	fields.Num(c, 1, &n.Sent)
	fields.Num(c, 2, &n.Applied)
	fields.Num(c, 3, &n.Dropped)
	c.Array(4, len(n.Staleness), func(i int) *int64 { return &n.Staleness[i] })
	ledgers(c, 5, &n.Ledgers)
	fields.Num(c, 6, &m.Route)
	removals(c, 7, &m.Adopted)
	fields.List(c, 8, &m.Missed, func(o *Missed) error {
		flushID(c, 1, &o.Flush)
		fields.Num(c, 2, &o.Ref.Table)
		fields.Num(c, 3, &o.Ref.Partition)
		fields.Num(c, 4, &o.Rows)
		fields.Num(c, 5, &o.Bits)
		if o.Flush.Seq == 0 || o.Flush.Incarnation == 0 || o.Rows < 0 {
			return errNumber
		}
		return nil
	})
	return nil
}

// removals encodes or decodes the changes that removed a member or declared it lost.
func removals(c *fields.Codec, number protowire.Number, list *[]bellows.Control) {
	fields.List(c, number, list, func(x *bellows.Control) error {
		if err := controlFields(c, x); x.Kind >= bellows.RemoveLane && x.Kind <= bellows.LoseClient {
			return err
		}
		return errNumber
	})
}

const kindAdopted uint8 = 94

func (*Adopted) kind() uint8 { return kindAdopted }

func (m *Adopted) fields(c *fields.Codec) error {
	removals(c, 1, &m.List)
	return nil
}

// ledgers encodes or decodes the sums of each table, in order.
func ledgers(c *fields.Codec, number protowire.Number, list *[]audit.Ledger) {
	const each = 5
	next := 0
	c.Fixed64s(number, each*len(*list), func(i int) uint64 { return uint64(*sums(&(*list)[i/each])[i%each]) }, func(x uint64) {
		if next%each == 0 {
			*list = append(*list, audit.Ledger{})
		}
		*sums(&(*list)[len(*list)-1])[next%each] = audit.Sum(x)
		next++
	})
	if next%each != 0 {
		c.Fail(errNumber)
	}
}

// sums returns a ledger's, in the order in which they travel.
func sums(l *audit.Ledger) [5]*audit.Sum {
	return [...]*audit.Sum{&l.Sent, &l.Taken, &l.Dropped, &l.Yielded, &l.Written}
}
