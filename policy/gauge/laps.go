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

// median returns the median seconds of a clock, and the number of clocks. The clocks of an epoch take unlike times: one
// of them may only compute scores. So the median is that of whole epochs, unless there are too few.
func (l *laps) median(epoch int) (Interval, int) {
	each := 1
	if epoch <= l.n/samplesLeast {
		each = max(1, epoch)
	}
	var list []sample
	sum := 0.0
	for i := range l.n {
		sum += l.get(i).seconds
		if i >= each {
			sum -= l.get(i - each).seconds
		}
		if i+1 >= each && l.get(i).clock-l.get(i+1-each).clock == each-1 {
			list = append(list, sample{sum, float64(each), 1})
		}
	}
	v, enough := medianOf(only(list, steady(list)))
	if !enough && each > 1 { // the clocks that count are not in a row
		return l.median(1)
	}
	return v, l.n
}

// get returns a clock by its age, the oldest first.
func (l *laps) get(i int) *lap { return &l.at[(l.first+i)%lapsKept] }
