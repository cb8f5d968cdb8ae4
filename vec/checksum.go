package vec

import "math"

// Checksum returns the sum, modulo 2^64, of the 32-bit patterns of x, each with some bits flipped and multiplied by a
// factor of its place, which is at plus its index: low32((at+i) * odd). The sum of pieces, in any order, equals the sum
// of the whole if each piece gets its place. No two factors below 2^32 places are equal. So the sum changes if two
// different values change places, and if a value changes or is lost, except for one pattern in 2^32; zeros are no
// exception. It detects mistakes, not malice. All kernel sets give the same bits.
func Checksum(at uint32, x []float32) uint64 {
	var sum uint64
	for len(x) > chunk {
		sum += checksum(at, x[:chunk])
		at, x = at+chunk, x[chunk:]
	}
	return sum + checksum(at, x)
}

// The multiplier and the flipped bits of Checksum, which the generator also has. The flip is a value that nothing
// counts.
const (
	checksumOdd  = 0x9e3779b1
	checksumFlip = 0xb5297a4d
)

func goChecksum(at uint32, x []float32) (sum uint64) {
	factor := at * checksumOdd
	for _, v := range x {
		sum += uint64(math.Float32bits(v)^checksumFlip) * uint64(factor)
		factor += checksumOdd
	}
	return sum
}
