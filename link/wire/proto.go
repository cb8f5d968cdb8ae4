package wire

import (
	"errors"
	"math"

	"bellows"
	"bellows/link/wire/internal/fields"

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

// pb writes protobuf behind what the batch has.
func (b *Batch) pb() *fields.Writer { return (*fields.Writer)(&b.scratch) }

// protoFlush leaves out a flush that is none, as protobuf leaves out a message that is not set.
func (b *Batch) protoFlush(number protowire.Number, f bellows.FlushID) {
	if f == (bellows.FlushID{}) {
		return
	}
	at := b.pb().Open(number)
	b.pb().Varint(1, uint64(f.Client))
	b.pb().Varint(2, f.Seq)
	b.pb().Varint(3, uint64(f.Incarnation))
	b.pb().Shut(at)
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
	at := b.pb().Open(number)
	b.pb().Varint(1, uint64(p.Ref.Table))
	b.pb().Varint(2, uint64(p.Ref.Partition))
	b.pb().Varint(3, uint64(p.Generation))
	b.pb().Shut(at)
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

// runs adds pairs as a packed list of four numbers for each run of partitions of one table and generation: the table, the first
// of them, the generation, and how many there are. A flush of a dense table names all of its partitions, in few bytes.
func (b *Batch) runs(number protowire.Number, pairs []Pair) {
	if len(pairs) == 0 {
		return
	}
	at := b.pb().Open(number)
	for i := 0; i < len(pairs); {
		p, n := pairs[i], 1
		for i+n < len(pairs) && pairs[i+n] == p.after(n) {
			n++
		}
		for _, x := range [...]uint64{uint64(p.Ref.Table), uint64(p.Ref.Partition), uint64(p.Generation), uint64(n)} {
			b.scratch = protowire.AppendVarint(b.scratch, x)
		}
		i += n
	}
	b.pb().Shut(at)
}

// after is the pair n partitions further.
func (p Pair) after(n int) Pair {
	p.Ref.Partition += bellows.PartitionID(n)
	return p
}

// runsOf appends the pairs of runs, of which a list has no more than others have elements.
func runsOf(f *fields.Fields, to []Pair) []Pair {
	var run [4]uint64
	limits := [...]uint64{math.MaxUint16, math.MaxUint32, math.MaxUint32, listMax}
	at := 0
	f.Varints(func(x uint64) {
		if x > limits[at] {
			f.Fail(errNumber)
		}
		run[at] = x
		if at = (at + 1) % len(run); at > 0 || f.Err != nil {
			return
		}
		if run[3] == 0 || run[1]+run[3]-1 > math.MaxUint32 {
			f.Fail(errNumber)
			return
		}
		if uint64(len(to))+run[3] > listMax {
			f.Fail(errMany)
			return
		}
		p := Pair{bellows.PartitionRef{Table: bellows.TableID(run[0]), Partition: bellows.PartitionID(run[1])}, bellows.Generation(run[2])}
		for n := range int(run[3]) {
			to = append(to, p.after(n))
		}
	})
	if at != 0 {
		f.Fail(errNumber)
	}
	return to
}
