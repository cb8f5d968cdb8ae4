package gauge

// lapsKept is the number of laps with kept times.
const lapsKept = 256

// laps is the durations of the last clocks in the present shape that count.
type laps struct {
	at    [lapsKept]lap
	first int
	n     int
}

// lap is clocks that were completed together: one, or several under bounded staleness.
type lap struct {
	clock   int // the last one
	clocks  int
	seconds float64
}

// together is the share of the last clock's time within which the next ones count as completed together with it.
const together = 0.05

// add adds clocks up to a number.
func (l *laps) add(clock, clocks int, seconds float64) {
	if l.n > 0 {
		last := l.get(l.n - 1)
		if last.clock == clock-clocks && seconds*float64(last.clocks) < together*last.seconds*float64(clocks) {
			*last = lap{clock, last.clocks + clocks, last.seconds + seconds}
			return
		}
	}
	if l.n == lapsKept {
		l.first, l.n = (l.first+1)%lapsKept, l.n-1
	}
	l.n++
	*l.get(l.n - 1) = lap{clock, clocks, seconds}
}

// get returns a lap by its age, the oldest first.
func (l *laps) get(i int) *lap { return &l.at[(l.first+i)%lapsKept] }

// void removes clocks from a number on, and returns how many.
func (l *laps) void(clock int) (removed int) {
	for l.n > 0 && l.get(l.n-1).clock >= clock {
		removed += l.get(l.n - 1).clocks
		l.n--
	}
	return removed
}

// clear removes all.
func (l *laps) clear() { l.first, l.n = 0, 0 }

// median returns the median seconds of a clock in the mean over an epoch, and the number of clocks.
func (l *laps) median(epoch int) (Interval, int) {
	list, clocks := make([]sample, l.n), 0
	parts := l.parts(epoch)
	for i := range list {
		p := l.get(i)
		n := float64(p.clocks)
		if list[i] = (sample{p.seconds, n, n}); parts != nil {
			list[i].amount /= parts[p.clock%epoch]
		}
		clocks += p.clocks
	}
	v, enough := medianOf(only(list, steady(list)))
	if !enough {
		clocks = min(clocks, ClocksLeast-1)
	}
	return v, clocks
}

// unlike is how many times as long as others a clock of an epoch takes if they are not alike.
const unlike = 1.5

// parts returns how long each clock of an epoch takes, relative to the mean of the epoch around it: one of them may
// only compute scores. It returns nil if all take about as long, if too few epochs were measured, or if clocks are
// completed together.
func (l *laps) parts(epoch int) []float64 {
	if epoch < 2 || epoch > l.n/samplesLeast {
		return nil
	}
	sums := make([]float64, l.n+1)
	for i := range l.n {
		p := l.get(i)
		if p.clocks > 1 {
			return nil
		}
		sums[i+1] = sums[i] + p.seconds
	}
	of := make([][]float64, epoch)
	for i := range l.n {
		p, first := l.get(i), min(max(0, i-epoch/2), l.n-epoch)
		around := (sums[first+epoch] - sums[first]) / float64(epoch)
		of[p.clock%epoch] = append(of[p.clock%epoch], p.seconds/around)
	}
	parts, mean := make([]float64, epoch), 0.0
	for k, list := range of {
		if len(list) == 0 {
			return nil
		}
		parts[k] = median(list).Value
		mean += parts[k] / float64(epoch)
	}
	alike := true
	for k := range parts {
		if parts[k] /= mean; !(parts[k] > 0) {
			return nil
		}
		alike = alike && parts[k] > 1/unlike && parts[k] < unlike
	}
	if alike {
		return nil
	}
	return parts
}
