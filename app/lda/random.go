package lda

import "math/bits"

// stream is random numbers for one document in one clock: wyrand (Wang Yi 2019), a multiplication a number.
type stream uint64

// newStream is a function of the seed and what the numbers are for.
func newStream(seed uint64, split, clock, doc int) stream {
	return stream(mix(mix(mix(mix(seed)^uint64(split))^uint64(clock)) ^ uint64(doc)))
}

// mix is the finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *stream) next() uint64 {
	*s += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(uint64(*s), uint64(*s)^0xe7037ed1a0b428db)
	return hi ^ lo
}

// unit is uniform on [0, 1).
func (s *stream) unit() float64 { return float64(s.next()>>11) * (1.0 / (1 << 53)) }

// below is uniform on 0 to n-1, but for a bias of n in 2^32.
func (s *stream) below(n int) int { return int((s.next() >> 32) * uint64(n) >> 32) }
