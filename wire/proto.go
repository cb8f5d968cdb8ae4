package wire

import (
	"errors"
	"math"

	"bellows"
	"bellows/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// What is said of protobuf payloads below, in the words of package fields.
const (
	varint  = fields.Varint
	fixed64 = fields.Fixed64
	sized   = fields.Sized
	listMax = fields.ListMax
)

var (
	errProto  = fields.ErrProto
	errNumber = fields.ErrNumber
	errMany   = fields.ErrMany
	errText   = fields.ErrText
	errNoUnit = errors.New("an element names no unit")
)

// Fields are added as generated code adds them: in the order of their numbers, zeros left out.

func (b *Batch) tag(number protowire.Number, kind protowire.Type) {
	b.scratch = protowire.AppendTag(b.scratch, number, kind)
}

func (b *Batch) varint(number protowire.Number, x uint64) {
	if x != 0 {
		b.tag(number, protowire.VarintType)
		b.scratch = protowire.AppendVarint(b.scratch, x)
	}
}

func (b *Batch) zigzag(number protowire.Number, x int32) {
	b.varint(number, protowire.EncodeZigZag(int64(x)))
}

func (b *Batch) text(number protowire.Number, s string) {
	if s != "" {
		b.tag(number, protowire.BytesType)
		b.scratch = protowire.AppendString(b.scratch, s)
	}
}

func (b *Batch) doubles(number protowire.Number, v []float64) {
	if len(v) == 0 {
		return
	}
	b.tag(number, protowire.BytesType)
	b.scratch = protowire.AppendVarint(b.scratch, uint64(8*len(v)))
	for _, x := range v {
		b.u64(math.Float64bits(x))
	}
}

// open begins a sized field and returns where its content does; shut ends it, and moves what is in it
// when its length takes more than one byte.
func (b *Batch) open(number protowire.Number) (at int) {
	b.tag(number, protowire.BytesType)
	b.u8(0)
	return len(b.scratch)
}

func (b *Batch) shut(at int) {
	n := len(b.scratch) - at
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		b.zeros(more)
		copy(b.scratch[at+more:], b.scratch[at:at+n])
	}
	protowire.AppendVarint(b.scratch[:at-1], uint64(n))
}

// protoFlush leaves out a flush that is none, as protobuf leaves out a message that is not set.
func (b *Batch) protoFlush(number protowire.Number, f bellows.FlushID) {
	if f == (bellows.FlushID{}) {
		return
	}
	at := b.open(number)
	b.varint(1, uint64(f.Client))
	b.varint(2, f.Seq)
	b.varint(3, uint64(f.Incarnation))
	b.shut(at)
}

func flushOf(b []byte, id *bellows.FlushID) error {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			id.Client = bellows.NodeID(f.UpTo(math.MaxUint16))
		case 2<<3 | varint:
			id.Seq = f.Num
		case 3<<3 | varint:
			id.Incarnation = uint32(f.UpTo(math.MaxUint32))
		}
	}
	return f.Err
}

func (b *Batch) protoPair(number protowire.Number, p Pair) {
	at := b.open(number)
	b.varint(1, uint64(p.Ref.Table))
	b.varint(2, uint64(p.Ref.Partition))
	b.varint(3, uint64(p.Generation))
	b.shut(at)
}

func pairOf(b []byte) (p Pair, err error) {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			p.Ref.Table = bellows.TableID(f.UpTo(math.MaxUint16))
		case 2<<3 | varint:
			p.Ref.Partition = bellows.PartitionID(f.UpTo(math.MaxUint32))
		case 3<<3 | varint:
			p.Generation = bellows.Generation(f.UpTo(math.MaxUint32))
		}
	}
	return p, f.Err
}

func (b *Batch) unit(number protowire.Number, u bellows.Unit) {
	at := b.open(number)
	b.varint(1, uint64(u.Split))
	b.zigzag(2, int32(u.Clock))
	b.varint(3, uint64(u.Items.Begin))
	b.varint(4, uint64(u.Items.End))
	b.shut(at)
}

// unitOf merges what b says into a unit. Its items are checked when no more can come: by whole.
func unitOf(b []byte, u *bellows.Unit) error {
	f := fields.Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			u.Split = bellows.SplitID(f.UpTo(math.MaxUint32))
		case 2<<3 | varint:
			u.Clock = bellows.Clock(f.Sint32())
		case 3<<3 | varint:
			u.Items.Begin = int(f.UpTo(math.MaxInt))
		case 4<<3 | varint:
			u.Items.End = int(f.UpTo(math.MaxInt))
		}
	}
	return f.Err
}

// whole refuses a unit whose items end before they begin.
func whole(u *bellows.Unit) error {
	if u.Items.End < u.Items.Begin {
		return errNumber
	}
	return nil
}
