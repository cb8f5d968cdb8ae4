package wire

import (
	"errors"

	"bellows"
	"bellows/link/padding"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

// Lengths in bytes of what raw payloads are made of.
const (
	flushSize = 16
	needSize  = 16
	refSize   = 8
	pairSize  = 12
)

// reader reads a raw payload, identities included.
type reader struct{ raw.Reader }

func readerOf(payload []byte) reader { return reader{raw.NewReader(payload)} }

// Errors in the identifiers of a raw payload.
var (
	errMode    = errors.New("it names no lease mode")
	errWait    = errors.New("it names no kind of wait")
	errSubtree = errors.New("it names a subtree beyond the last split")
	errKind    = errors.New("it names no kind of error")
	errFormat  = errors.New("its values are in a format that is not known")
	errColumns = errors.New("its rows have no such padding")
	errDone    = errors.New("it is not done, and has results")
)

func (b *Batch) flush(f bellows.FlushID) {
	b.u64(f.Seq)
	b.u16(uint16(f.Client))
	b.zeros(2)
	b.u32(f.Incarnation)
}

func (r *reader) flush() (f bellows.FlushID) {
	f.Seq, f.Client = r.U64(), bellows.NodeID(r.U16())
	r.Reserved(2)
	f.Incarnation = r.U32()
	return f
}

// need encodes the state that a request must see, and the route by which it is sent.
func (b *Batch) need(n Need, v bellows.RouteVersion) {
	b.u64(uint64(n.Commit))
	b.u32(uint32(n.Clock))
	b.u32(uint32(v))
}

func (r *reader) need() (n Need, v bellows.RouteVersion) {
	n.Commit, n.Clock = bellows.CommitNumber(r.U64()), bellows.Clock(r.U32())
	return n, bellows.RouteVersion(r.U32())
}

func (b *Batch) ref(p bellows.PartitionRef) {
	b.u16(uint16(p.Table))
	b.zeros(2)
	b.u32(uint32(p.Partition))
}

func (r *reader) ref() (p bellows.PartitionRef) {
	p.Table = bellows.TableID(r.U16())
	r.Reserved(2)
	p.Partition = bellows.PartitionID(r.U32())
	return p
}

// part encodes a partition with the format of the values that follow for it.
func (b *Batch) part(p bellows.PartitionRef) {
	b.u16(uint16(p.Table))
	b.u8(uint8(b.format(p.Table)))
	b.zeros(1)
	b.u32(uint32(p.Partition))
}

func (r *reader) part() (p bellows.PartitionRef, f vec.Format) {
	p.Table = bellows.TableID(r.U16())
	if f = vec.Format(r.U8()); f >= vec.Formats {
		r.Fail(errFormat)
		f = vec.Float32
	}
	r.Reserved(1)
	p.Partition = bellows.PartitionID(r.U32())
	return p, f
}

func (b *Batch) pair(p Pair) {
	b.ref(p.Ref)
	b.u32(uint32(p.Generation))
}

func (r *reader) pair() Pair { return Pair{r.ref(), bellows.Generation(r.U32())} }

// leased encodes a leased partition with the columns of its values.
func (b *Batch) leased(p Pair, c padding.Columns) {
	b.u16(uint16(p.Ref.Table))
	b.u16(c.Code())
	b.u32(uint32(p.Ref.Partition))
	b.u32(uint32(p.Generation))
}

func (r *reader) leased() (p Pair, c padding.Columns) {
	p.Ref.Table = bellows.TableID(r.U16())
	c, ok := padding.Decode(r.U16())
	if !ok {
		r.Fail(errColumns)
	}
	p.Ref.Partition, p.Generation = bellows.PartitionID(r.U32()), bellows.Generation(r.U32())
	return p, c
}

func (b *Batch) mode(m Mode) {
	b.u8(uint8(m))
	b.zeros(3)
}

func (r *reader) mode() Mode {
	m := Mode(r.U8())
	if m > Exclusive {
		r.Fail(errMode)
	}
	r.Reserved(3)
	return m
}

// subtree encodes a subtree in the fixed part of a payload. If it is a part of a clock, its items precede the lists
// (Batch.items).
func (b *Batch) subtree(t Subtree) {
	b.u32(t.Index)
	b.u8(t.Level)
	b.flag(t.Items != bellows.Range{})
	b.zeros(2)
}

// items encodes the items of a subtree that is a part of a clock; nothing for another.
func (b *Batch) items(t Subtree) {
	if t.Items != (bellows.Range{}) {
		b.span(t.Items)
	}
}

func (b *Batch) span(r bellows.Range) {
	b.u64(uint64(r.Begin))
	b.u64(uint64(r.End))
}

// subtree refuses what reaches beyond the last split that has a number. It reports whether the items follow.
func (r *reader) subtree() (t Subtree, part bool) {
	t = Subtree{Index: r.U32(), Level: r.U8()}
	part = r.Flag()
	r.Reserved(2)
	if t.Level > 32 || uint64(t.Index)>>(32-t.Level) != 0 {
		r.Fail(errSubtree)
	}
	return t, part
}

// items decodes the items of a part of a clock, which has some, of one split.
func (r *reader) items(t Subtree, part bool) Subtree {
	if part {
		if t.Items = r.Span(); t.Items.Len() == 0 || t.Level > 0 {
			r.Fail(errNumber)
		}
	}
	return t
}
