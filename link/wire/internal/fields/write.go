package fields

import "google.golang.org/protobuf/encoding/protowire"

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
	case x < 1<<14 && number < 16: // most others
		*w = append(*w, byte(number)<<3, byte(x)|0x80, byte(x>>7))
	default:
		w.tag(number, protowire.VarintType)
		*w = protowire.AppendVarint(*w, x)
	}
}

// Open begins a sized field and returns where its content does; Shut ends it, and moves what is in it
// when its length takes more than one byte.
func (w *Writer) Open(number protowire.Number) (at int) {
	w.tag(number, protowire.BytesType)
	*w = append(*w, 0)
	return len(*w)
}

// Shut ends what Open began.
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
