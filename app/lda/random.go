package lda

import (
	"math/bits"

	"bellows/random"
)

// stream is random numbers for one document in one clock: wyrand (Wang Yi 2019), a multiplication a number.
type stream uint64

// newStream returns a function of the seed and what the numbers are for.
func newStream(seed uint64, split, clock, doc int) stream {
	return stream(random.Derive(seed, uint64(split), uint64(clock), uint64(doc)))
}

func (s *stream) next() uint64 {
	*s += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(uint64(*s), uint64(*s)^0xe7037ed1a0b428db)
	return hi ^ lo
}

// uniform returns uniform on [0, 1).
func (s *stream) uniform() float64 { return random.Uniform(s.next()) }

// below returns uniform on 0 to n-1, but for a bias of n in 2^32.
func (s *stream) below(n int) int { return int((s.next() >> 32) * uint64(n) >> 32) }
