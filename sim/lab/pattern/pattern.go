// Package pattern has patterns of slow nodes and of other work, for the laboratory. Each is a pure function of a seed, a
// node or a machine, and a time. The package does not know what is slowed.
package pattern

import (
	"math"
	"slices"
	"time"

	"bellows"
	"bellows/random"
)

// Slow returns by how much a node is slower than usual at a time, 1 being as usual, and until when that holds. Its
// tasks and its messages are slowed alike. It is a pure function of its arguments.
type Slow func(seed uint64, n bellows.NodeID, now time.Duration) (slower float64, until time.Duration)

// Load returns the share of a machine, by its index, that other work takes at a time, from 0 to 1, and until when that holds. It is
// a pure function of its arguments.
type Load func(seed uint64, machine int, now time.Duration) (share float64, until time.Duration)

// Bursts returns a load of other work that takes a share of the named machines, or of all if none is named, for a part
// (0 to 1) of each period.
func Bursts(share float64, period time.Duration, part float64, machines ...int) Load {
	return func(_ uint64, machine int, now time.Duration) (float64, time.Duration) {
		if len(machines) > 0 && !slices.Contains(machines, machine) {
			return 0, Always
		}
		begin := now / period * period
		if end := begin + time.Duration(part*float64(period)); now < end {
			return share, end
		}
		return 0, begin + period
	}
}

// Always is the end of what never ends.
const Always = time.Duration(math.MaxInt64)

// Constant makes the named nodes slower at all times.
func Constant(slower float64, nodes ...bellows.NodeID) Slow {
	return func(_ uint64, n bellows.NodeID, _ time.Duration) (float64, time.Duration) {
		for _, slow := range nodes {
			if n == slow {
				return slower, Always
			}
		}
		return 1, Always
	}
}

// Rotating makes one of nodes 1 to count slower at a time, each for one period.
func Rotating(slower float64, period time.Duration, count int) Slow {
	return func(_ uint64, n bellows.NodeID, now time.Duration) (float64, time.Duration) {
		window := int64(now / period)
		until := time.Duration(window+1) * period
		if int64(n) == 1+window%int64(count) {
			return slower, until
		}
		return 1, until
	}
}

// SlowWorker returns FlexRR's Slow Worker pattern: at each of ten points of an iteration, every node is slowed with a
// chance of 1 %, for a period of up to twice the iteration, to 1+delay times its time (Harlap 2018, §3.4.1).
func SlowWorker(iteration time.Duration, delay float64) Slow {
	const (
		points = 10
		chance = 0.01
		most   = 2 * points // of a slow period, in points
	)
	step := max(1, iteration/points)
	return func(seed uint64, n bellows.NodeID, now time.Duration) (float64, time.Duration) {
		at := int64(now / step)
		until := time.Duration(at+1) * step
		slower := 1.0
		for point := max(0, at-most); point <= at; point++ {
			if uniform(seed, n, point, 0) >= chance {
				continue
			}
			end := time.Duration(point)*step + time.Duration(uniform(seed, n, point, 1)*most*float64(step))
			if end > now {
				slower, until = 1+delay, min(until, end)
			}
		}
		return slower, until
	}
}

// Disrupted returns FlexRR's Disrupted Machine pattern: every 20 seconds, each machine is disturbed with a chance of 20
// % for the next 20 seconds, to 1+delay times its time (Harlap 2018, §3.4.1). every is the 20 seconds.
func Disrupted(every time.Duration, delay float64) Slow {
	const chance = 0.2
	return func(seed uint64, n bellows.NodeID, now time.Duration) (float64, time.Duration) {
		window := int64(now / every)
		until := time.Duration(window+1) * every
		if uniform(seed, n, window, 2) < chance {
			return 1 + delay, until
		}
		return 1, until
	}
}

// PowerLaw returns FlexRR's Power-Law pattern: the time that a node needs for an iteration, in multiples of the usual,
// has a density in proportion to t to the power of -alpha, from 1 on, drawn again for every iteration (Harlap 2018,
// §3.4.1, with alpha 4, 7 and 11). alpha is above 1.
func PowerLaw(iteration time.Duration, alpha float64) Slow {
	return func(seed uint64, n bellows.NodeID, now time.Duration) (float64, time.Duration) {
		window := int64(now / iteration)
		u := 1 - uniform(seed, n, window, 3) // above 0
		return math.Pow(u, -1/(alpha-1)), time.Duration(window+1) * iteration
	}
}

// Persistent returns FlexRR's persistent pattern: every other node has three times the work of the rest, 75 % of all
// (Harlap 2018, §3.4.1).
func Persistent() Slow {
	return func(_ uint64, n bellows.NodeID, _ time.Duration) (float64, time.Duration) {
		if n%2 == 1 {
			return 1.5, Always
		}
		return 0.5, Always
	}
}

// uniform returns a number in [0, 1) by chance: a function of its arguments.
func uniform(seed uint64, n bellows.NodeID, window int64, use uint64) float64 {
	return random.Uniform(random.Derive(seed^use<<56^uint64(n)<<40, uint64(window)))
}
