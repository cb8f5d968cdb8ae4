package fields

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bellows/internal/require"
)

// some is a message of every kind of field.
type some struct {
	number  uint32
	signed  int32
	flag    bool
	text    string
	within  []inner
	numbers []uint64
	doubles []float64
	maybe   *inner

	memory []float64
}

type inner struct {
	a uint16
	b uint64
}

var errNoNumber = errors.New("it has no number")

func (m *some) describe(c *Codec) error {
	Num(c, 1, &m.number)
	Zigzag(c, 2, &m.signed)
	c.Flag(3, &m.flag)
	c.Text(4, &m.text)
	List(c, 5, &m.within, func(i *inner) error { return i.describe(c) })
	Numbers(c, 6, &m.numbers, 1<<40)
	c.Doubles(7, &m.doubles, &m.memory)
	Optional(c, 8, &m.maybe, func(i *inner) error { return i.describe(c) })
	if c.Reads() && !c.HasField(1) {
		return errNoNumber
	}
	return nil
}

func (i *inner) describe(c *Codec) error {
	Num(c, 1, &i.a)
	Num(c, 2, &i.b)
	return nil
}

// TestFieldsComeInAnyOrder writes a message, puts its fields in any order, with unknown ones between, and reads it
// again. Elements of a list keep their order.
func TestFieldsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m := some{number: 1 + rng.Uint32N(300), signed: rng.Int32() - 1<<30, flag: rng.IntN(2) == 0, text: "text"[:rng.IntN(5)]}
		for range rng.IntN(4) {
			m.within = append(m.within, inner{uint16(rng.Uint32()), rng.Uint64()})
			m.numbers = append(m.numbers, rng.Uint64N(1<<40))
			m.doubles = append(m.doubles, rng.Float64())
		}
		if rng.IntN(2) == 0 {
			m.maybe = &inner{b: rng.Uint64N(3)}
		}
		var c Codec
		var w Writer
		require.NoError(t, c.Write(&w, func() error { return m.describe(&c) }))
		var parts, elements [][]byte
		for rest := []byte(w); len(rest) > 0; {
			number, _, n := protowire.ConsumeField(rest)
			if number == 5 {
				elements = append(elements, rest[:n])
			}
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		parts = append(parts, protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 7),
			protowire.AppendFixed32(protowire.AppendTag(nil, 1, protowire.Fixed32Type), 7)) // a number, and not as what it is
		rng.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
		for i := range parts {
			if number, _, _ := protowire.ConsumeField(parts[i]); number == 5 {
				parts[i], elements = elements[0], elements[1:]
			}
		}
		var got some
		require.NoError(t, c.Read(slices.Concat(parts...), func() error { return got.describe(&c) }))
		if got.memory = nil; !reflect.DeepEqual(m, got) {
			t.Fatalf("%+v became %+v", m, got)
		}
	}
}

// TestTheLastVerdictCounts reads what is wrong only as long as not all has come, and what is wrong to the end.
func TestTheLastVerdictCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payload []byte
		want    error
	}{
		{[]byte{3 << 3, 1, 1 << 3, 5}, nil},
		{[]byte{3 << 3, 1}, errNoNumber},
		{nil, errNoNumber},
		{[]byte{1 << 3, 0x80, 0x80, 0x80, 0x80, 0x10}, ErrNumber},
		{[]byte{1<<3 | 5, 1, 2, 3, 4}, errNoNumber}, // of another wire type it has not come
		{[]byte{1 << 3, 5, 4<<3 | 2, 1, 0xff}, ErrText},
		{[]byte{1 << 3, 5, 5<<3 | 2, 4, 1 << 3, 0x80, 0x80, 4}, ErrNumber}, // within
		{[]byte{1 << 3, 5, 5<<3 | 2, 9}, ErrProto},
	} {
		var codec Codec
		var got some
		if err := codec.Read(c.payload, func() error { return got.describe(&codec) }); !errors.Is(err, c.want) {
			t.Errorf("%x: %v, not %v", c.payload, err, c.want)
		}
	}
}
