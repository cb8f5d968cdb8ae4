package wire

import (
	"bellows"
	"bellows/link/wire/internal/fields"
)

// Cut tells a lane of a cut of the tables: to be armed for one; or that one is over. The cut itself is a record (bellows.CutTables).
type Cut struct {
	Term    bellows.Term
	Attempt uint64               // of this controller, from 1; 0: all cuts are over
	Commit  bellows.CommitNumber // the cut that is over; 0: one is to come, for which the lane arms
	Whole   bool                 // the one that is over is safe
}

// Shard is what a lane says of a cut: that it is armed, that a partition of it is stored, or, with a reason, that it gives the cut up.
type Shard struct {
	Term      bellows.Term         // as in the Cut
	Attempt   uint64               // as in the Cut
	Commit    bellows.CommitNumber // the cut; 0: it is armed
	Ref       bellows.PartitionRef
	Name      string // under which it is stored
	Bytes     uint64
	Sum       uint64               // by the node that has stored it
	Unchanged bellows.CommitNumber // the whole cut with the same state of the partition, which is not stored again; 0: it is stored anew
	Reason    string
}

const kindCut uint8 = 100

func (*Cut) kind() uint8 { return kindCut }

func (m *Cut) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Attempt)
	fields.Num(c, 3, &m.Commit)
	c.Flag(4, &m.Whole)
	return nil
}

const kindShard uint8 = 101

func (*Shard) kind() uint8 { return kindShard }

func (m *Shard) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Term)
	fields.Num(c, 2, &m.Attempt)
	fields.Num(c, 3, &m.Commit)
	fields.Num(c, 4, &m.Ref.Table)
	fields.Num(c, 5, &m.Ref.Partition)
	c.Text(6, &m.Name)
	fields.Num(c, 7, &m.Bytes)
	fields.Num(c, 8, &m.Sum)
	fields.Num(c, 9, &m.Unchanged)
	c.Text(10, &m.Reason)
	return nil
}
