package vec

import "math"

// ToHalf sets dst[i] to src[i] in the 16-bit format of IEEE 754 (binary16: 1 bit
// of sign, 5 of exponent, 10 of fraction), rounded to nearest, ties to even.
// Magnitudes of 65,520 and above become infinite, below 2^-14 they are subnormal
// in steps of 2^-24, and at most 2^-25 they become 0 of their sign. NaN stays
// NaN, becomes quiet, and keeps its sign and what fits of its payload. All sets
// give the same bits. The lengths must be equal; the slices must not overlap.
func ToHalf(dst []uint16, src []float32) {
	same("ToHalf", len(dst), len(src))
	for len(src) > chunk {
		toHalf(dst[:chunk], src[:chunk])
		dst, src = dst[chunk:], src[chunk:]
	}
	toHalf(dst, src)
}

// FromHalf sets dst[i] to the value of src[i] in the format of [ToHalf]. It is
// exact; NaN becomes quiet. All sets give the same bits. The lengths must be
// equal; the slices must not overlap.
func FromHalf(dst []float32, src []uint16) {
	same("FromHalf", len(dst), len(src))
	for len(src) > chunk {
		fromHalf(dst[:chunk], src[:chunk])
		dst, src = dst[chunk:], src[chunk:]
	}
	fromHalf(dst, src)
}

// ToBrain sets dst[i] to src[i] in the format bfloat16, the upper half of a
// float32 (1 bit of sign, 8 of exponent, 7 of fraction), rounded to nearest,
// ties to even. What rounds above the largest finite value, about 3.39e38,
// becomes infinite; subnormal numbers are kept. NaN stays NaN, becomes quiet,
// and keeps its sign and what fits of its payload. All sets give the same bits.
// The lengths must be equal; the slices must not overlap.
func ToBrain(dst []uint16, src []float32) {
	same("ToBrain", len(dst), len(src))
	for len(src) > chunk {
		toBrain(dst[:chunk], src[:chunk])
		dst, src = dst[chunk:], src[chunk:]
	}
	toBrain(dst, src)
}

// FromBrain sets dst[i] to the value of src[i] in the format of [ToBrain]. It is
// exact; NaN becomes quiet. All sets give the same bits. The lengths must be
// equal; the slices must not overlap.
func FromBrain(dst []float32, src []uint16) {
	same("FromBrain", len(dst), len(src))
	for len(src) > chunk {
		fromBrain(dst[:chunk], src[:chunk])
		dst, src = dst[chunk:], src[chunk:]
	}
	fromBrain(dst, src)
}

// Parts of a float32.
const (
	signBit  = 0x80000000
	infinite = 0x7f800000 // bits of +Inf; above it, but for the sign, are NaN
	quietBit = 0x00400000
)

func goToHalf(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = halfOf(v)
	}
}

func halfOf(v float32) uint16 {
	const (
		normalMin = 113 << 23  // 2^-14
		overflow  = 0x477ff000 // 65,520, between the largest half and what would follow it
		bias      = 112 << 23  // between the exponents
		fraction  = 23 - 10    // bits that have no place
	)
	bits := math.Float32bits(v)
	sign := uint16(bits >> 16 & 0x8000)
	bits &^= signBit
	switch {
	case bits > infinite:
		return sign | 0x7e00 | uint16(bits>>fraction&0x3ff)
	case bits >= overflow:
		return sign | 0x7c00
	case bits >= normalMin:
		odd := bits >> fraction & 1
		return sign | uint16((bits-bias+1<<(fraction-1)-1+odd)>>fraction)
	}
	// The last place of 0.5 is 2^-24, the step of subnormal halves: the addition rounds.
	return sign | uint16(math.Float32bits(math.Float32frombits(bits)+0.5)-math.Float32bits(0.5))
}

func goFromHalf(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for i, h := range src {
		dst[i] = halfValue(h)
	}
}

func halfValue(h uint16) float32 {
	sign, bits := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case bits > 0x7c00:
		bits = infinite | quietBit | bits&0x3ff<<13
	case bits == 0x7c00:
		bits = infinite
	case bits >= 0x400:
		bits = bits<<13 + 112<<23
	default:
		bits = math.Float32bits(float32(bits) / (1 << 24))
	}
	return math.Float32frombits(sign | bits)
}

func goToBrain(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		bits := math.Float32bits(v)
		if bits&^signBit > infinite {
			bits |= quietBit
		} else {
			bits += 0x7fff + bits>>16&1
		}
		dst[i] = uint16(bits >> 16)
	}
}

func goFromBrain(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for i, b := range src {
		bits := uint32(b) << 16
		if bits&^signBit > infinite {
			bits |= quietBit
		}
		dst[i] = math.Float32frombits(bits)
	}
}
