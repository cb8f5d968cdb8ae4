package session

import "bellows/core/liveness"

// Redial decides when a broken connection is tried again and when it is given up: when the lease of the other node has
// passed, or sooner when its machine refuses connections, which means that its process is dead. Times are milliseconds
// of any clock that only moves forward.
type Redial struct {
	patience    int64 // of the whole, in milliseconds
	broken      int64 // of a machine that refuses connections
	beganMillis int64
	lastMillis  int64 // of the last question
	tries       int
	refused     bool // refused since
	sinceMillis int64
}

// firstMillis and mostMillis are how long is waited between two tries: twice as long each time.
const (
	firstMillis = 10
	mostMillis  = 250
)

// NewRedial begins with a connection that has just broken. One to node 0 is tried for as long as that may be silent,
// and where another process may come in
// its place for as long as that may take.
func NewRedial(times liveness.Times, leader bool, nowMillis int64) Redial {
	times = times.Or()
	r := Redial{patience: times.Lease, broken: times.Broken, beganMillis: nowMillis, lastMillis: nowMillis}
	if leader {
		r.patience, r.broken = max(times.Leader, times.Successor), max(times.Broken, times.Successor)
	}
	return r
}

// Failed records a failed try. refused: the other node's machine answered that no process listens there.
func (r *Redial) Failed(nowMillis int64, refused bool) {
	if refused && !r.refused {
		r.sinceMillis = nowMillis
	}
	r.refused = refused
	r.tries++
}

// sleepMillis is the time between two calls that means that the caller slept: that time does not count as silence.
const sleepMillis = 4 * mostMillis

// Next returns how long to wait before the next try; not ok: give up.
func (r *Redial) Next(nowMillis int64) (waitMillis int64, ok bool) {
	if gap := nowMillis - r.lastMillis; gap > sleepMillis {
		r.beganMillis, r.sinceMillis = r.beganMillis+gap, r.sinceMillis+gap
	}
	r.lastMillis = nowMillis
	if nowMillis-r.beganMillis >= r.patience || r.refused && nowMillis-r.sinceMillis >= r.broken {
		return 0, false
	}
	return min(int64(firstMillis)<<min(r.tries, 10), mostMillis), true
}
