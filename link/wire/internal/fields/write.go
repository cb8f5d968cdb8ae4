package fields

import (
	"encoding/binary"
	"math"

	"bellows"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer is a protobuf message that grows. Fields are added as generated code adds them: in the order of their numbers,
// zeros left out.
type Writer []byte

func (w *Writer) tag(number protowire.Number, kind protowire.Type) {
	if number < 16 {
		*w = append(*w, byte(number)<<3|byte(kind))
		return
	}
	*w = protowire.AppendTag(*w, number, kind)
}

// Varint adds a number.
func (w *Writer) Varint(number protowire.Number, x uint64) {
	switch {
	case x == 0:
	case x < 0x80 && number < 16: // nearly all
		*w = append(*w, byte(number)<<3, byte(x))
	default:
		w.tag(number, protowire.VarintType)
		*w = protowire.AppendVarint(*w, x)
	}
}

// Flag adds a bool.
func (w *Writer) Flag(number protowire.Number, set bool) {
	if set {
		w.Varint(number, 1)
	}
}

// Zigzag adds a number that may be negative.
func (w *Writer) Zigzag(number protowire.Number, x int32) {
	w.Varint(number, protowire.EncodeZigZag(int64(x)))
}

// Text adds a string.
func (w *Writer) Text(number protowire.Number, s string) {
	if s != "" {
		w.tag(number, protowire.BytesType)
		*w = protowire.AppendString(*w, s)
	}
}

// Doubles adds a packed list.
func (w *Writer) Doubles(number protowire.Number, v []float64) {
	if len(v) == 0 {
		return
	}
	w.tag(number, protowire.BytesType)
	*w = protowire.AppendVarint(*w, uint64(8*len(v)))
	for _, x := range v {
		*w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(x))
	}
}

// Numbers adds a packed list of n numbers.
func (w *Writer) Numbers(number protowire.Number, n int, at func(i int) int64) {
	list := w.Open(number)
	for i := range n {
		*w = protowire.AppendVarint(*w, uint64(at(i)))
	}
	w.Shut(list)
}

// Open begins a sized field and returns where its content does; Shut ends it, and moves what is in it
// when its length takes more than one byte.
func (w *Writer) Open(number protowire.Number) (at int) {
	w.tag(number, protowire.BytesType)
	*w = append(*w, 0)
	return len(*w)
}

// Shut is the end of Open.
func (w *Writer) Shut(at int) {
	b := *w
	n := len(b) - at
	if n < 0x80 {
		b[at-1] = byte(n)
		return
	}
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[at+more:], b[at:at+n])
	}
	protowire.AppendVarint(b[:at-1], uint64(n))
	*w = b
}

// Unit adds a unit of work.
func (w *Writer) Unit(number protowire.Number, u bellows.Unit) {
	at := w.Open(number)
	w.Varint(1, uint64(u.Split))
	w.Zigzag(2, int32(u.Clock))
	w.Varint(3, uint64(u.Items.Begin))
	w.Varint(4, uint64(u.Items.End))
	w.Shut(at)
}

// UnitOf merges what b says into a unit. Its items are checked when no more can come: by Whole.
func UnitOf(b []byte, u *bellows.Unit) error {
	f := Of(b)
	for f.Next() {
		switch f.Key {
		case 1<<3 | Varint:
			u.Split = bellows.SplitID(f.UpTo(math.MaxUint32))
		case 2<<3 | Varint:
			u.Clock = bellows.Clock(f.Sint32())
		case 3<<3 | Varint:
			u.Items.Begin = int(f.UpTo(math.MaxInt))
		case 4<<3 | Varint:
			u.Items.End = int(f.UpTo(math.MaxInt))
		}
	}
	return f.Err
}

// Whole refuses a unit whose items end before they begin.
func Whole(u *bellows.Unit) error {
	if u.Items.End < u.Items.Begin {
		return ErrNumber
	}
	return nil
}
