package gauge

import "time"

// lapsKept is the number of clocks with kept times.
const lapsKept = 256

// laps is the durations of the last clocks in the present shape that count.
type laps struct {
	at    [lapsKept]lap
	first int
	n     int
}

type lap struct {
	clock   int
	seconds float64
}

// add adds a clock.
func (l *laps) add(clock int, d time.Duration) {
	if l.n == lapsKept {
		l.first, l.n = (l.first+1)%lapsKept, l.n-1
	}
	l.at[(l.first+l.n)%lapsKept] = lap{clock, d.Seconds()}
	l.n++
}

// void removes clocks from a number on.
func (l *laps) void(clock int) (removed int) {
	for l.n > 0 && l.at[(l.first+l.n-1)%lapsKept].clock >= clock {
		l.n--
		removed++
	}
	return removed
}

// clear removes all.
func (l *laps) clear() { l.first, l.n = 0, 0 }

// median returns the median seconds of a clock, and the number of clocks.
func (l *laps) median() (Interval, int) {
	list := make([]sample, l.n)
	for i := range list {
		list[i] = sample{l.at[(l.first+i)%lapsKept].seconds, 1, 1}
	}
	v, _ := medianOf(only(list, steady(list)))
	return v, l.n
}
