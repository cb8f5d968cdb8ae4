// Package random computes the random numbers of training: functions of the seed, their purpose, the split, the clock
// and the item.
//
// A number drawn for a split in a clock depends on (seed, split, clock, item) and on nothing else: not on the number of
// nodes, not on the order in which tasks ran, and not on how often one of them was repeated. So every node can draw the
// same number independently, a task that is repeated after a death repeats its draws, and a job has the same bits on
// one process and on forty (TestSameBitsForAnyNumberOfSlots of app/mlr holds that).
//
// The caller's duties: pass everything that identifies the purpose of a number to Of, in a fixed order; take Unit or a
// Stream if one number is not enough. A Stream is a value of its user; two goroutines do not share one.
//
// The package holds no state between draws of different purposes and takes no seed from a clock. Its numbers are for
// training and for tests; they are not cryptographically secure. They are part of the format of every model: a change
// here changes the bits of every result.
package random

// golden is 2^64 divided by the golden ratio, the step between the states of SplitMix64.
const golden = 0x9e3779b97f4a7c15

// Finish returns the finaliser of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
// generators", figure 16): a bijection in which every bit of x moves half of the bits. Zero stays zero.
func Finish(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Mix returns the number that SplitMix64 draws from state x: a bijection like Finish that also moves zero.
func Mix(x uint64) uint64 { return Finish(x + golden) }

// Derive returns the number of a seed for one purpose, such as (split, clock, item): each word is mixed with all before
// it, so that (1, 2) and (2, 1) have nothing in common.
func Derive(seed uint64, purpose ...uint64) uint64 {
	h := Mix(seed)
	for _, x := range purpose {
		h = Mix(h ^ x)
	}
	return h
}

// Uniform makes 64 random bits a number uniform on [0, 1).
func Uniform(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// Stream is SplitMix64 by its state: 2^64 numbers before it repeats, from any start.
type Stream uint64

// Start returns the stream of a seed that belongs to a row or a key.
func Start(seed, row uint64) Stream { return Stream((seed ^ (row+1)*golden) + golden) }

// Next returns the stream's next number.
func (s *Stream) Next() uint64 {
	x := Mix(uint64(*s))
	*s += golden
	return x
}

// Uniform returns the next number, uniform on [0, 1).
func (s *Stream) Uniform() float64 { return Uniform(s.Next()) }
