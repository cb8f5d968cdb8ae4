package lab

import (
	"math"

	"bellows"
)

// machine is a computer in virtual time: jobs that share its cores, and its link.
type machine struct {
	Machine
	w     *world
	jobs  []*job // those that want a core, in the order in which they came
	since int64  // when each job's rest was what it says
	stamp uint32 // of the tick that is not out of date
}

// job is work for one core.
type job struct {
	node      *node
	coroutine *taskCoroutine // whose task it is; nil: the node handles messages
	rest      float64        // nanoseconds of a core of speed 1
	rate      float64        // how many of them pass in a nanosecond
}

// begin gives a job a share of the cores.
func (m *machine) begin(j *job) {
	m.advance()
	m.jobs = append(m.jobs, j)
	m.w.work += j.rest
	m.plan()
}

// full reports whether every core has work.
func (m *machine) full() bool { return len(m.jobs) >= m.Cores }

// advance brings what is left of every job up to now.
func (m *machine) advance() {
	now := m.w.agenda.Now()
	if passed := float64(now - m.since); passed > 0 {
		for _, j := range m.jobs {
			j.rest -= passed * j.rate
		}
	}
	m.since = now
}

// plan settles how fast each job goes from now on, and looks at the machine again when the first of them is done or
// the speed of one changes.
func (m *machine) plan() {
	m.stamp++
	if len(m.jobs) == 0 {
		return
	}
	share := min(1, float64(m.Cores)/float64(len(m.jobs))) * m.Speed
	next := int64(math.MaxInt64)
	for _, j := range m.jobs {
		j.rate = share
		if j.coroutine != nil {
			slower, left := m.w.slowness(j.node.id)
			j.rate /= slower
			next = min(next, left)
		}
		next = min(next, int64(math.Ceil(max(0, j.rest)/j.rate)))
	}
	m.w.agenda.After(next, event{what: machineTick, machine: m, stamp: m.stamp})
}

// done is a job that has so little left, in nanoseconds.
const done = 0.5

// tick ends the jobs that are done. A tick from before the last plan means nothing.
func (m *machine) tick(stamp uint32) {
	if stamp != m.stamp {
		return
	}
	m.advance()
	over := m.w.over[:0]
	rest := m.jobs[:0]
	for _, j := range m.jobs {
		if j.rest < done {
			over = append(over, j)
		} else {
			rest = append(rest, j)
		}
	}
	clear(m.jobs[len(rest):])
	m.jobs = rest
	m.plan()
	for _, j := range over {
		if j.coroutine != nil {
			j.node.computed(j.coroutine)
		} else {
			j.node.served()
		}
	}
	m.w.over = over[:0]
}

// slowness is by how much a node is slower than usual, and for how many nanoseconds from now.
func (w *world) slowness(n bellows.NodeID) (slower float64, left int64) {
	if w.cfg.Slow == nil {
		return 1, math.MaxInt64
	}
	slower, until := w.cfg.Slow(w.cfg.Seed, n, w.now())
	return max(slower, slowerLeast), max(1, int64(until-w.now()))
}

// slowerLeast bounds how fast a pattern can make a node.
const slowerLeast = 1e-3
