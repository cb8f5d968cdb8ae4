package frames

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"bellows/data/internal/lines"
)

// decimal returns a number of big-endian two's complement, divided by 10^scale, as exactly as a float allows.
func decimal(raw []byte, scale int) float64 {
	x := 0.0
	if len(raw) > 0 && raw[0] >= 0x80 {
		x = -1
	}
	for _, b := range raw {
		x = x*256 + float64(b)
	}
	return x / math.Pow10(scale)
}

// A float holds every whole number up to these.
const (
	wholeMost32 = 1 << 24
	wholeMost64 = 1 << 53
)

// appendFloat appends a float in the fewest digits that identify it. Whole numbers have no exponent, like those of
// columns of whole numbers, unless the float may stand for several.
func appendFloat(to []byte, x float64, bitSize int) []byte {
	most := float64(wholeMost64)
	if bitSize == 32 {
		most = wholeMost32
	}
	if x == math.Trunc(x) && math.Abs(x) <= most {
		return strconv.AppendInt(to, int64(x), 10)
	}
	return strconv.AppendFloat(to, x, 'g', -1, bitSize)
}

// appendDecimal appends a whole number of big-endian two's complement, divided by 10^scale, with all of its digits.
func appendDecimal(to, raw []byte, scale int) []byte {
	for len(raw) > 8 && (raw[0] == 0 && raw[1] < 0x80 || raw[0] == 0xff && raw[1] >= 0x80) { // it repeats the sign
		raw = raw[1:]
	}
	if len(raw) <= 8 {
		x := int64(0)
		if len(raw) > 0 && raw[0] >= 0x80 {
			x = -1
		}
		for _, b := range raw {
			x = x<<8 | int64(b)
		}
		return appendScaled(to, x, scale)
	}
	if len(raw) > 16 {
		return appendBig(to, raw, scale)
	}
	var buf [16]byte
	if raw[0] >= 0x80 {
		for i := range buf[:16-len(raw)] {
			buf[i] = 0xff
		}
	}
	copy(buf[16-len(raw):], raw)
	high, low := binary.BigEndian.Uint64(buf[:8]), binary.BigEndian.Uint64(buf[8:])
	if raw[0] >= 0x80 {
		to = append(to, '-')
		carry := uint64(0)
		low, carry = bits.Add64(^low, 1, 0)
		high = ^high + carry
	}
	const ten19 = 1e19
	from := len(to)
	above, below := bits.Div64(high, low, ten19) // high is at most 2^63, which is less
	if above > 0 {
		to = strconv.AppendUint(to, above, 10)
		digits := len(to)
		to = strconv.AppendUint(to, below, 10)
		for len(to) < digits+19 {
			to = slices.Insert(to, digits, '0')
		}
	} else {
		to = strconv.AppendUint(to, below, 10)
	}
	return insertPoint(to, from, scale)
}

// appendBig works like appendDecimal for numbers of any width.
func appendBig(to, raw []byte, scale int) []byte {
	x := new(big.Int).SetBytes(raw)
	if raw[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
		to = append(to, '-')
		x.Neg(x)
	}
	return insertPoint(x.Append(to, 10), len(to), scale)
}

// appendScaled appends x / 10^scale with all of its digits.
func appendScaled(to []byte, x int64, scale int) []byte {
	magnitude := uint64(x)
	if x < 0 {
		to, magnitude = append(to, '-'), -magnitude
	}
	return insertPoint(strconv.AppendUint(to, magnitude, 10), len(to), scale)
}

// insertPoint divides the digits in to from position from by 10^scale.
func insertPoint(to []byte, from, scale int) []byte {
	for ; scale < 0; scale++ {
		if len(to) > from+1 || to[from] != '0' {
			to = append(to, '0')
		}
	}
	if scale == 0 {
		return to
	}
	for len(to)-from <= scale {
		to = slices.Insert(to, from, '0')
	}
	return slices.Insert(to, len(to)-scale, '.')
}

// Below these bounds, whole numbers and quarters are plain numerals (lines.Numerals).
const (
	wholeBelow   = 1_000_000
	quarterBelow = 10_000
)

// numeralKey returns what identifies the value of a row, and whether a 32-bit float does. It does not apply to text and
// wide numbers.
func (v *Vector) numeralKey(row int) (key lines.NumeralKey, plain bool) {
	switch {
	case v.F32 != nil:
		return lines.NumeralKey{Of: 's', Bits: uint64(math.Float32bits(v.F32[row]))}, true
	case v.F64 != nil:
		x := v.F64[row]
		return lines.NumeralKey{Of: 'f', Bits: math.Float64bits(x)}, x == math.Trunc(x) && math.Abs(x) < wholeBelow ||
			4*x == math.Trunc(4*x) && math.Abs(x) < quarterBelow
	case v.U64 != nil:
		return lines.NumeralKey{Of: 'u', Bits: v.U64[row]}, v.U64[row] < wholeBelow
	}
	x := v.I64[row]
	return lines.NumeralKey{Of: 'i', Scale: v.Scale, Bits: uint64(x)}, v.Scale == 0 && x > -wholeBelow && x < wholeBelow
}

// note records how labels are written. None may be missing.
func (c *Cells) note(v *Vector, rows int, p *lines.Piece) {
	for i := range rows {
		if v.Text != nil || v.Wide != nil {
			c.text = v.Append(c.text[:0], i)
			c.Numerals.NoteRow(i, c.text, p)
			continue
		}
		if key, plain := v.numeralKey(i); (c.Numerals.All || !plain) && !c.Numerals.NoteKey(i, key, p) {
			c.text = v.Append(c.text[:0], i)
			c.Numerals.NoteNew(i, key, c.text, p)
		}
	}
}
