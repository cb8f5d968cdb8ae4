// Package checksum makes checksums of columns from samples of them. Add what belongs together to one Sum, in a fixed order.
package checksum

import (
	"hash/fnv"
	"math"

	"bellows/random"
)

// Most is how many values of a column go into a sum.
const Most = 1 << 16

// Sum is a checksum that depends on the order of what is added; the zero value is that of nothing.
type Sum uint64

// Add mixes a number in.
func (s *Sum) Add(x uint64) { *s = Sum(random.Mix(uint64(*s) + x)) }

// Column adds the length of a column and at most Most values of it, spread evenly, the last among them.
func Column[T int32 | int64 | float32](s *Sum, column []T) {
	spread(s, len(column), func(i int) uint64 {
		if v, ok := any(column[i]).(float32); ok {
			return uint64(math.Float32bits(v))
		}
		return uint64(column[i])
	})
}

// Names is Column for text.
func Names(s *Sum, list []string) {
	spread(s, len(list), func(i int) uint64 {
		h := fnv.New64a()
		h.Write([]byte(list[i]))
		return h.Sum64()
	})
}

func spread(s *Sum, n int, at func(i int) uint64) {
	s.Add(uint64(n))
	k := min(n, Most)
	for i := range k {
		s.Add(at(int(int64(i+1)*int64(n)/int64(k)) - 1))
	}
}
