package fields

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"
	"unsafe"

	"bellows"

	"google.golang.org/protobuf/encoding/protowire"
)

// Codec encodes a message into a payload, or decodes it. The zero Codec is ready for either.
//
// A description is a function that names the message's fields in the order of their numbers, and returns an error if
// the message as it stands is invalid. When encoding, each name adds a field. When decoding, each name takes the fields
// of its number that come next: payloads have them in that order, so that one pass takes all. If a writer uses another
// order, or unknown fields, there is another pass, and the result of the last one counts. Rejected: a switch over
// numbers for each message next to its encoder, which said everything twice.
type Codec struct {
	out *Writer // nil: the message is read
	in  Fields  // the next field that is not taken yet; Key 0: none
	any bool    // one was taken in this pass
	saw uint64  // numbers of those that were taken of the message that is read, as bits
}

// Write adds the fields that the description names to a payload.
func (c *Codec) Write(to *Writer, describe func() error) error {
	c.out, c.in.Err = to, nil
	_ = describe() // what is wrong with a message is for its reader to say
	c.out = nil
	return c.in.Err
}

// Read takes the fields that the description names from a payload. The first thing that is wrong ends it.
func (c *Codec) Read(payload []byte, describe func() error) error {
	c.in.Err = nil
	c.read(payload, describe)
	return c.in.Err
}

func (c *Codec) read(payload []byte, describe func() error) {
	c.in.b, c.in.at, c.saw = payload, 0, 0
	c.in.Next()
	for {
		c.any = false
		verdict := describe()
		if c.in.Key == 0 {
			c.Fail(verdict)
			return
		}
		if !c.any {
			c.in.Next() // unknown, or of another wire type
		}
	}
}

// Fail ends the way, if nothing has failed before; nil changes nothing.
func (c *Codec) Fail(err error) { c.in.Fail(err) }

// Reads reports whether the message is read.
func (c *Codec) Reads() bool { return c.out == nil }

// Has reports whether a field of the message has come, one below 64.
func (c *Codec) HasField(number protowire.Number) bool { return c.saw&(1<<number) != 0 }

// next reports whether a field has come of that number and wire type.
func (c *Codec) next(number protowire.Number, kind uint64) bool {
	return c.in.Key == uint64(number)<<3|kind
}

// take advances to the next field.
func (c *Codec) take() {
	c.saw |= 1 << (c.in.Key >> 3 & 63)
	c.any = true
	c.in.Next()
}

// Num is a number that is not negative, or of 64 bits.
func Num[T ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int64 | ~int](c *Codec, number protowire.Number, x *T) {
	if c.out != nil {
		c.out.Varint(number, uint64(*x))
		return
	}
	for c.next(number, Varint) {
		if *x = T(c.in.Num); uint64(*x) != c.in.Num {
			c.Fail(ErrNumber)
		}
		c.take()
	}
}

// Zigzag is a number that may be negative.
func Zigzag[T ~int32](c *Codec, number protowire.Number, x *T) {
	n := uint32(protowire.EncodeZigZag(int64(*x)))
	if Num(c, number, &n); c.out == nil {
		*x = T(protowire.DecodeZigZag(uint64(n)))
	}
}

// Flag encodes or decodes a bool.
func (c *Codec) Flag(number protowire.Number, x *bool) {
	n := uint64(0)
	if *x {
		n = 1
	}
	if Num(c, number, &n); c.out == nil {
		*x = n != 0
	}
}

// Text encodes or decodes a string: printable and no longer than TextMax, both when sent and when received.
func (c *Codec) Text(number protowire.Number, s *string) {
	if c.out != nil {
		if text := bellows.Printable(*s, TextMax); text != "" {
			c.out.tag(number, protowire.BytesType)
			*c.out = protowire.AppendString(*c.out, text)
		}
		return
	}
	for c.next(number, Sized) {
		if !utf8.Valid(c.in.Data) {
			c.Fail(ErrText)
		}
		*s = bellows.Printable(string(c.in.Data), TextMax)
		c.take()
	}
}

// Message encodes or decodes a nested message; if it comes in pieces they are merged. It is written only if present.
func (c *Codec) Message(number protowire.Number, there bool, describe func() error) {
	if c.out != nil {
		if there {
			at := c.out.Open(number)
			_ = describe()
			c.out.Shut(at)
		}
		return
	}
	for c.next(number, Sized) {
		c.within(describe)
	}
}

// within reads the message that is the field's content.
func (c *Codec) within(describe func() error) {
	b, at, key, saw := c.in.b, c.in.at, c.in.Key, c.saw
	c.read(c.in.Data, describe)
	c.in.b, c.in.at, c.in.Key, c.saw = b, at, key, saw
	c.take()
}

// Optional is Message where a pointer says whether it is there.
func Optional[T any](c *Codec, number protowire.Number, to **T, describe func(*T) error) {
	if *to == nil && c.next(number, Sized) {
		*to = new(T)
	}
	if one := *to; one != nil {
		c.Message(number, true, func() error { return describe(one) })
	}
}

// List is messages within the message.
func List[T any](c *Codec, number protowire.Number, list *[]T, describe func(*T) error) {
	listIn(c, number, list, list, ListMax, describe)
}

// ShortList encodes or decodes a List with so many elements at most.
func ShortList[T any](c *Codec, number protowire.Number, list *[]T, most int, describe func(*T) error) {
	listIn(c, number, list, list, most, describe)
}

// ListIn is List for a list that lies in the memory of several, which together have no more elements than one may.
func ListIn[T any](c *Codec, number protowire.Number, list, memory *[]T, describe func(*T) error) {
	listIn(c, number, list, memory, ListMax, describe)
}

func listIn[T any](c *Codec, number protowire.Number, list, memory *[]T, most int, describe func(*T) error) {
	if c.out != nil {
		c.fits(len(*list), most)
		for i := range *list {
			at := c.out.Open(number)
			_ = describe(&(*list)[i])
			c.out.Shut(at)
		}
		return
	}
	if !c.next(number, Sized) {
		return
	}
	at := len(*memory)
	if len(*list) == 0 { // once: a writer that changes between two lists must not have the rest counted again and again
		grow(c, memory, most)
	}
	last := func() error { return describe(&(*memory)[len(*memory)-1]) }
	for c.next(number, Sized) {
		c.fits(len(*memory)+1, most)
		var none T
		*memory = append(*memory, none)
		c.within(last)
	}
	Piece(list, memory, at)
}

// fits refuses a list that is longer than it may be.
func (c *Codec) fits(n, most int) {
	switch {
	case n <= most:
	case most == ListMax:
		c.Fail(ErrMany)
	default:
		c.Fail(ErrShort)
	}
}

// grow makes room for the remaining elements of a list, the first of which has come: once, and for at most so many
// times the bytes that they have.
func grow[T any](c *Codec, memory *[]T, most int) {
	const times = 17
	n, rest := 1, c.in
	for key := rest.Key; rest.Next(); {
		if rest.Key == key {
			n++
		}
	}
	var none T
	bytes := 2 + len(c.in.Data) + len(c.in.b) - c.in.at
	*memory = slices.Grow(*memory, min(n, most, times*bytes/int(unsafe.Sizeof(none))))
}

// Piece makes what memory has from a place on the list, or the end of it. Of a list that is its own memory it already is.
func Piece[T any](list, memory *[]T, at int) {
	switch {
	case list == memory:
	case *list == nil:
		*list = (*memory)[at:len(*memory):len(*memory)]
	default: // from another writer, which has cut the list
		*list = append(*list, (*memory)[at:]...)
	}
}

// Varints encodes or decodes a packed list of n numbers, which is present if it has some.
func (c *Codec) Varints(number protowire.Number, n int, at func(i int) uint64, take func(x uint64)) {
	if c.out == nil {
		for c.next(number, Sized) || c.next(number, Varint) {
			c.in.Varints(take)
			c.take()
		}
		return
	}
	if n > 0 {
		list := c.out.Open(number)
		for i := range n {
			*c.out = protowire.AppendVarint(*c.out, at(i))
		}
		c.out.Shut(list)
	}
}

// Fixed64s works like Varints, for numbers of eight bytes each.
func (c *Codec) Fixed64s(number protowire.Number, n int, at func(i int) uint64, take func(x uint64)) {
	if c.out == nil {
		for c.next(number, Sized) || c.next(number, Fixed64) {
			c.in.Fixed64s(take)
			c.take()
		}
		return
	}
	if n > 0 {
		c.out.tag(number, protowire.BytesType)
		*c.out = protowire.AppendVarint(*c.out, uint64(8*n))
		for i := range n {
			*c.out = binary.LittleEndian.AppendUint64(*c.out, at(i))
		}
	}
}

// Array encodes or decodes a packed list of exactly n numbers, of which a reader sets the first that come.
func (c *Codec) Array(number protowire.Number, n int, at func(i int) *int64) {
	next := 0
	c.Varints(number, n, func(i int) uint64 { return uint64(*at(i)) }, func(x uint64) {
		if next == n {
			c.Fail(ErrNumber)
			return
		}
		*at(next) = int64(x)
		next++
	})
}

// Numbers encodes or decodes a packed list of numbers, each of which has an upper limit.
func Numbers[T ~uint16 | ~uint64 | ~int32](c *Codec, number protowire.Number, list *[]T, limit uint64) {
	c.fits(len(*list), ListMax)
	c.Varints(number, len(*list), func(i int) uint64 { return uint64((*list)[i]) }, func(x uint64) {
		if c.fits(len(*list)+1, ListMax); x > limit {
			c.Fail(ErrNumber)
		}
		if c.in.Err == nil {
			*list = append(*list, T(x))
		}
	})
}

// Doubles encodes or decodes a packed list of numbers, in the memory of several.
func (c *Codec) Doubles(number protowire.Number, list, memory *[]float64) {
	at := len(*memory)
	c.Fixed64s(number, len(*list), func(i int) uint64 { return math.Float64bits((*list)[i]) }, func(x uint64) { *memory = append(*memory, math.Float64frombits(x)) })
	if len(*memory) > at {
		Piece(list, memory, at)
	}
}
