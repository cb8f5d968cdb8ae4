package vec

import "math"

// Checksum returns the sum, modulo 2^64, of the 32-bit patterns of x, each with its bits partly turned over and multiplied by
// a factor of its place, which is at plus its index: low32((at+i) * odd). The whole is the sum of its pieces, in any order, as
// long as each is told its place. No two factors below 2^32 places are equal, so two different values that change places change
// the sum, and so does one that changes or is lost, but for one pattern in 2^32; a zero is no exception. It tells of
// mistakes and not of malice. All sets give the same bits.
func Checksum(at uint32, x []float32) uint64 {
	var sum uint64
	for len(x) > chunk {
		sum += checksum(at, x[:chunk])
		at, x = at+chunk, x[chunk:]
	}
	return sum + checksum(at, x)
}

// What Checksum multiplies with and turns over; the generator has them, too. The flip is a value that nobody counts.
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
