package memory

import (
	"math"
	"sync/atomic"
)

// Spare is the memory that this process may still use, by Available, as last measured. One goroutine measures. It reads
// several files, collects no garbage, and should hold no lock.
type Spare struct {
	bytes atomic.Int64
	due   int64
}

// spareEvery is how many milliseconds a measurement holds.
const spareEvery = 5000

// Measure measures the memory if the last measurement is old. now is the time in milliseconds since any fixed moment.
func (s *Spare) Measure(now int64) {
	if now >= s.due {
		s.due = now + spareEvery
		s.bytes.Store(Available(readFile).spare())
	}
}

// Bytes returns the last measurement, from any goroutine; 0: unknown.
func (s *Spare) Bytes() int64 { return s.bytes.Load() }

// spare returns the limit as a number of bytes, 0 if it is unknown.
func (l Limit) spare() int64 {
	if l.Bytes >= math.MaxInt64 {
		return 0
	}
	return max(1, int64(l.Bytes)) // nothing is left, and that is known
}
